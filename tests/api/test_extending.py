"""The field's older way to declare rules: tables that set slots of the primitive."""

import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.core import Primitive, ShapedArray
from jxkernel.errors import UndefinedRuleError
from jxkernel.interpreters import ad, batching, mlir, xla


@pytest.fixture
def multiply_add():
    """Define ``x * y + z`` as a tutorial does."""
    p = Primitive("test_multiply_add")
    p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    p.def_abstract_eval(lambda x, y, z: ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(
        p,
        lambda context, x, y, z: [stablehlo.AddOp(stablehlo.MulOp(x, y), z).result],
        platform="cpu",
    )

    def jvp(primals, tangents):
        x, y, z = primals
        xt, yt, zt = [ad.instantiate_zeros(t) for t in tangents]
        zero = jnp.zeros_like(x)
        return p.bind(x, y, z), p.bind(xt, y, p.bind(x, yt, p.bind(jnp.ones_like(zt), zt, zero)))

    def transpose(ct, x, y, z):
        if not ad.is_undefined_primal(x):
            return None, p.bind(x, ct, jnp.zeros_like(ct)), ct
        return p.bind(ct, y, jnp.zeros_like(ct)), None, ct

    def batch(args, dims):
        sizes = {np.shape(x)[d] for x, d in zip(args, dims, strict=True) if d is not None}
        (size,) = sizes
        full = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return p.bind(*full), 0

    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = batch
    yield p
    del Primitive.registry["test_multiply_add"]


def test_rules_of_tables_work_under_every_transform(multiply_add):
    def f(x):
        return multiply_add.bind(x, x, x)

    x = jnp.array([1.0, 2.0])
    np.testing.assert_array_equal(f(x), [2, 6])
    np.testing.assert_array_equal(jx.jit(f)(x), [2, 6])
    np.testing.assert_array_equal(jx.vmap(f)(x), [2, 6])
    np.testing.assert_array_equal(jx.jit(jx.vmap(jx.grad(f)))(x), [3, 5])
    y, t = jx.jvp(f, (x,), (jnp.ones(2),))
    np.testing.assert_array_equal([y, t], [[2, 6], [3, 5]])


def test_a_missing_platform_is_named(multiply_add):
    with pytest.raises(UndefinedRuleError, match="there is one for cpu and none for tpu"):
        jx.jit(lambda x: multiply_add.bind(x, x, x)).trace(1.0).lower(lowering_platforms=("tpu",))


def test_tables_are_read_as_they_are_written(multiply_add):
    assert multiply_add in batching.primitive_batchers
    out, dim = batching.primitive_batchers[multiply_add]([np.ones(2)] * 3, [0] * 3)
    assert dim == 0
    np.testing.assert_array_equal(out, [2, 2])
    assert ad.primitive_jvps.get(Primitive("test_bare"), "none") == "none"
    del Primitive.registry["test_bare"]


def test_apply_primitive_compiles_whatever_the_impl_says(multiply_add):
    out = xla.apply_primitive(multiply_add, *[jnp.ones(2)] * 3)
    assert type(out) is type(jnp.ones(2))
    np.testing.assert_array_equal(out, [2, 2])


@pytest.fixture
def named():
    made = Primitive("test_named")
    made.def_abstract_eval(lambda *avals, **params: ShapedArray(avals[0].shape, avals[0].dtype))
    yield made
    del Primitive.registry["test_named"]


def test_defjvp_adds_up_the_arguments(named):
    mlir.register_lowering(named, mlir.lower_fun(lambda x, y: x * y * y, multiple_results=False))
    ad.defjvp(named, lambda t, x, y: t * y * y, lambda t, x, y: t * 2.0 * x * y)
    assert jx.grad(lambda x: named.bind(x, x))(2.0) == 12.0
    assert jx.grad(lambda x: named.bind(3.0, x))(2.0) == 12.0


def test_defjvp2_is_given_the_result(named):
    mlir.register_lowering(named, mlir.lower_fun(jnp.exp, multiple_results=False))
    ad.defjvp2(named, lambda t, y, x: t * y)
    assert jx.grad(lambda x: named.bind(x))(0.0) == 1.0


def test_deflinear_and_defvectorized(named):
    mlir.register_lowering(named, mlir.lower_fun(lambda x, by: by * x, multiple_results=False))
    ad.deflinear(named, lambda ct, by: [named.bind(ct, by=by)])
    batching.defvectorized(named)
    per_example = jx.vmap(jx.grad(lambda x: named.bind(x, by=3.0) ** 2))
    np.testing.assert_array_equal(per_example(jnp.arange(2.0)), [0, 18])


def test_lower_fun_is_a_rule_of_primitives_with_one_result(named):
    named.def_lower(mlir.lower_fun(lambda x: x + 1, multiple_results=False))
    assert jx.jit(lambda x: named.bind(x) * 2)(1.0) == named.bind(1.0) * 2 == 4.0


def test_defbilinear_and_defbroadcasting(named):
    mlir.register_lowering(named, mlir.lower_fun(lambda x, y: x * y, multiple_results=False))
    ad.defbilinear(named, lambda ct, x, y: named.bind(ct, y), lambda ct, x, y: named.bind(x, ct))
    batching.defbroadcasting(named)
    assert jx.grad(lambda x: named.bind(x, x))(3.0) == 6.0
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.arange(3.0)
    np.testing.assert_array_equal(jx.vmap(named.bind, (0, None))(x, y), x * y)


def test_lowering_rules_may_use_constants(named):
    def rule(context, x):
        assert mlir.aval_to_ir_type(context.avals_in[0]) == x.type
        return [stablehlo.AddOp(x, mlir.ir_constant(np.full(2, 5, np.float32))).result]

    mlir.register_lowering(named, rule)
    np.testing.assert_array_equal(named.bind(np.ones(2, np.float32)), [6, 6])


def test_the_tables_do_not_change_the_rules_of_the_package():
    with pytest.raises(ValueError, match="is this package's own"):
        ad.primitive_jvps[Primitive.registry["sin"]] = lambda primals, tangents: None


class Boxed:
    """Data that is no array, and can be read as one."""

    def __init__(self, data):
        self.data = np.asarray(data)

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)

    def __array__(self, dtype=None, copy=None):
        return self.data


@pytest.mark.parametrize(
    "table", [jx.core.pytype_aval_mappings, xla.canonicalize_dtype_handlers], ids=["types", "data"]
)
def test_kinds_that_a_table_knows_count_as_arrays(table):
    boxed = Boxed([1.0, 2.0])
    with pytest.raises(TypeError):
        jnp.sin(boxed)
    table[Boxed] = table[np.ndarray]
    try:
        for sine in (jnp.sin, jx.jit(jnp.sin), jx.vmap(jnp.sin), lambda x: jx.lax.sin(x)):
            np.testing.assert_allclose(sine(boxed), np.sin([1.0, 2.0]), rtol=1e-6)
        np.testing.assert_array_equal(jx.grad(lambda x: jnp.sum(x**2))(boxed), [2.0, 4.0])
    finally:
        del table[Boxed]


def test_tables_of_kinds_list_what_counts_as_an_array():
    table = xla.canonicalize_dtype_handlers
    assert {np.ndarray, int, float} <= set(table)
    assert len(table) == len(jx.core.pytype_aval_mappings)
    assert table[np.ndarray](np.zeros(2)).dtype == np.float32
    with pytest.raises(KeyError):
        table[Boxed]


@jx.tree_util.register_pytree_node_class
class Mixed:
    """A node of which only one child would be mapped."""

    def tree_flatten(self):
        return (1.0,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls()


def test_kinds_that_are_mapped_in_their_own_way_are_refused():
    batching.register_vmappable(Mixed, int, int, None, None, None)
    try:
        with pytest.raises(NotImplementedError, match=r"vmap maps all leaves .* Mixed was registe"):
            jx.vmap(lambda _: 1.0, in_axes=None, axis_size=2)(Mixed())
        assert jx.vmap(jnp.sin)(jnp.zeros(2)).tolist() == [0.0, 0.0]
    finally:
        batching.unregister_vmappable(Mixed)
    assert jx.vmap(lambda _: 1.0, in_axes=None, axis_size=2)(Mixed()).shape == (2,)


def test_primitives_stand_under_one_roof():
    primitives = jx.extend.core.primitives
    (eqn,) = jx.make_jaxpr(jx.jit(jnp.sin))(1.0).eqns
    assert eqn.primitive is primitives.jit_p
    assert primitives.sin_p is jx.lax.sin_p
    rules = {primitives.call_p: "call", primitives.closed_call_p: "closed", primitives.jit_p: "jit"}
    assert rules[eqn.primitive] == "jit"
    with pytest.raises(NotImplementedError, match="no program here has equations of 'call': calls"):
        primitives.call_p.bind(1)


def test_clients_are_known_by_their_platforms():
    backend = jx.extend.backend
    assert backend.backends()[backend.get_backend().platform] is backend.get_backend()
    assert backend.get_default_device() in jx.devices()


def test_options_for_modules_that_others_compile():
    options = jx.extend.backend.get_compile_options(1, 2, [[1, 0]], {"xla_flag": True})
    assert (options.num_replicas, options.num_partitions) == (1, 2)
    assert options.executable_build_options.use_spmd_partitioning
    assert options.env_option_overrides == [("xla_flag", True)]
    with pytest.raises(ValueError, match="has 3 devices for 1 copies of a program in 2 parts"):
        jx.extend.backend.get_compile_options(1, 2, [0, 1, 2])
    assert jx.extend.backend.backend_xla_version() is None


def test_functions_are_forgotten_with_what_was_compiled():
    traces = []
    f = jx.jit(lambda x: traces.append(1) or x + 1)
    f(1)
    jx.extend.backend.clear_in_memory_compilation_cache()
    assert (f(1), len(traces)) == (2, 2)


def test_shardings_are_read_and_written_as_bytes():
    from_bytes = jx.extend.sharding.get_hlo_sharding_from_serialized_proto
    mesh = jx.sharding.AbstractMesh((2,), ("x",))
    given = jx.sharding.NamedSharding(mesh, jx.sharding.PartitionSpec("x"))
    whole = jx.extend.sharding.get_serialized_proto_from_hlo_sharding(given._to_xla_hlo_sharding(1))
    assert from_bytes(whole) == given._to_xla_hlo_sharding(1)
    assert from_bytes(whole) != from_bytes(b"")
    read = jx.extend.sharding.get_op_sharding_from_serialized_proto(whole)
    assert list(read.tile_assignment_dimensions) == [2]


def test_modules_are_written_for_other_versions():
    module = jx.jit(jnp.sin).lower(jnp.ones(3)).compiler_ir()
    artifact = jx.extend.mlir.serialize_portable_artifact(str(module), "1.0.0")
    with module.context:
        assert "stablehlo.sine" in str(jx.extend.mlir.deserialize_portable_artifact(artifact))


def test_the_module_that_had_the_bindings_is_empty():
    assert [name for name in dir(jx.lib) if not name.startswith("_")] == []


def test_contexts_of_mlir_begin_without_dialects():
    lowering = jx.extend.lowering
    context = lowering.JaxIrContext()
    with pytest.raises(ValueError, match="not found"):
        context.get_dialect_descriptor("func")
    context.append_dialect_registry(lowering.upstream_dialects)
    assert context.get_dialect_descriptor("func").namespace == "func"
    assert lowering.LoweringRuleContext is mlir.LoweringRuleContext


def test_passes_see_what_is_compiled_while_they_are_there(tmp_path):
    passes, seen = jx.extend.xla, []
    f = jx.jit(lambda x: jnp.sin(x) * 7.0625)
    without, folder = float(f(1.0)), jx.config.jax_compilation_cache_dir
    jx.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        passes.register_hlo_module_transformation(seen.append, name="look", platforms=["cpu"] * 2)
        assert float(f(1.0)) == without
        assert [type(module) for module in seen] == [bytes]
        assert b"sine" in seen[0]
        assert list(tmp_path.iterdir()) == []
        f(1.0)
        assert len(seen) == 1
    finally:
        cleared = passes.clear_hlo_module_transformation("look")
        jx.config.update("jax_compilation_cache_dir", folder)
    assert cleared
    assert not passes.clear_hlo_module_transformation("look")
    assert float(f(1.0)) == without
    jx.jit(lambda x: jnp.cos(x) * 9.0625)(1.0)
    assert len(seen) == 1


def test_the_older_form_of_types_of_state_says_what_to_write():
    with pytest.raises(ValueError, match=r"write register_ffi_type\(name, \{'type_id'"):
        jx.ffi.register_ffi_type_id("state", None)


def test_interpreters_of_before_tell_calls_from_other_primitives():
    closed = jx.make_jaxpr(jx.jit(lambda x: x * CONSTANT))(1.0)
    assert not any(eqn.primitive.call_primitive for eqn in closed.eqns)
    assert not any(eqn.primitive.map_primitive for eqn in closed.eqns)
    # What an interpreter reads: the program and the values of its constants.
    assert jx.core.eval_jaxpr(closed.jaxpr, closed.literals, 2.0)[0].tolist() == [2.0, 4.0]


CONSTANT = np.array([1.0, 2.0], np.float32)

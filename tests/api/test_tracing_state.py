"""What packages that extend the system import: traces, types, programs, functions of leaves."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import api_util
from jxkernel.extend import core, linear_util, source_info_util
from jxkernel.interpreters import ad, batching, mlir, partial_eval


def test_traces_are_told_apart_by_their_state():
    outside = core.get_opaque_trace_state(convention="test")
    states = []

    @jx.jit
    def outer(x):
        states.append(core.get_opaque_trace_state())
        states.append(core.get_opaque_trace_state())
        jx.vmap(lambda y: states.append(core.get_opaque_trace_state()) or y)(x)
        return x

    outer(jnp.ones(3))
    assert states[0] == states[1]
    assert states[2] != states[0]
    assert outside == core.get_opaque_trace_state() != states[0]


def test_a_taken_trace_can_be_made_current_again():
    def f(x):
        with core.take_current_trace() as trace:
            constant = jnp.sin(1.0)
            assert not isinstance(constant, jx.core.Tracer)
            with core.set_current_trace(trace):
                assert core.find_top_trace([x]) is trace
                return x * constant

    np.testing.assert_allclose(jx.jit(f)(2.0), 2 * np.sin(1.0), rtol=1e-6)


def test_tracers_of_a_derivative_know_their_trace():
    def f(x):
        assert isinstance(x, ad.JVPTracer)
        assert x._trace.main is core.find_top_trace([x]).main
        return x

    jx.jvp(f, (1.0,), (1.0,))


def test_types_lose_and_gain_an_axis():
    aval = jx.typeof(jnp.ones((2, 3, 4), jnp.int8))
    assert core.mapped_aval(4, -1, aval).shape == (2, 3)
    assert core.unmapped_aval(5, 3, aval).shape == (2, 3, 4, 5)
    assert core.mapped_aval(4, None, aval) is core.unmapped_aval(4, None, aval) is aval
    assert aval.to_tangent_aval().dtype == core.primal_dtype_to_tangent_dtype(aval.dtype)


def test_functions_of_leaves_are_traced_and_pruned():
    captured = jnp.arange(3.0)
    leaves, structure = jx.tree.flatten((1.0, {"k": 2.0}))
    fun = linear_util.wrap_init(lambda x, d: {"a": x * captured, "b": d["k"] + 1.0})
    flat, out = api_util.flatten_fun_nokwargs(fun, structure)
    with pytest.raises(linear_util.StoreException):
        out()
    jaxpr, avals, consts = partial_eval.trace_to_jaxpr_dynamic(flat, [jx.typeof(1.0)] * 2)
    assert [aval.shape for aval in avals] == [(3,), ()]
    assert out() == jx.tree.structure({"a": 0, "b": 0})
    pruned, used = partial_eval.dce_jaxpr(jaxpr, [False, True])
    assert used == [False, True]
    assert jx.core.eval_jaxpr(pruned, consts, leaves[1]) == [3.0]


def test_rules_that_see_the_new_axis():
    seen = []
    p = core.Primitive("test_axis_of_batch")
    p.multiple_results = True
    p.def_impl(lambda x: [x])
    p.def_impl(lambda x: [x + 1])
    p.def_abstract_eval(lambda x: [x])
    mlir.register_lowering(p, mlir.lower_fun(lambda x: [x + 1], multiple_results=True))

    def rule(size, name, kind, args, dims):
        seen.append((size, name, dims))
        return p.bind(*args), dims

    batching.axis_primitive_batchers[p] = rule
    found = jx.vmap(lambda x: p.bind(x)[0], axis_name="i", in_axes=1)(jnp.ones((2, 3)))
    np.testing.assert_array_equal(found, np.full((3, 2), 2.0))
    assert seen == [(3, "i", (1,))]


def test_excluded_files_are_not_the_users():
    file = "/nowhere/library/layers.py"
    assert jx.source.is_user_file(file)
    source_info_util.register_exclusion("/nowhere/library")
    assert not jx.source.is_user_file(file)


def test_values_that_must_be_known_are_converted_or_refused():
    assert core.concrete_or_error(int, jnp.array(3)) == 3
    assert core.concrete_or_error(None, "text") == "text"
    with pytest.raises(jx.errors.ConcretizationTypeError, match="a value given here needs") as info:
        jx.jit(lambda x: core.concrete_or_error(int, x, "The axis must be known."))(2)
    assert info.value.__notes__ == ["The axis must be known."]


def test_arguments_are_fixed_and_axes_laid_over_structures():
    fun = linear_util.wrap_init(lambda x, y, z: (x, y, z))
    partly, given = api_util.argnums_partial(
        fun, (0, -1), (1, [2], 3), require_static_args_hashable=False
    )
    assert (given, partly.call_wrapped(10, 30)) == ((1, 3), (10, [2], 30))
    with pytest.raises(ValueError, match="argument 1 of <lambda> is fixed, so it must be hashable"):
        api_util.argnums_partial(fun, 0, (1, [2], 3))
    structure = jx.tree.structure(({"a": 1, "b": 2}, 3))
    assert api_util.flatten_axes("in_axes", structure, (0, None)) == [0, 0, None]
    with pytest.raises(ValueError, match="in_axes is no prefix of the structure"):
        api_util.flatten_axes("in_axes", structure, (0, None, 1))
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        api_util.safe_map(max, [1, 2], [3])


def test_donated_arguments_are_found_among_leaves():
    structure = jx.tree.structure((((1, 2), 3, 4), {"b": (5, 6), "a": 7}))
    found = api_util.donation_vector((0, 2), ("b",), structure)
    assert found == (True, True, False, True, False, True, True)
    alone = jx.tree.structure(((1, 2), 3))
    assert api_util.donation_vector((0,), (), alone, kws=False) == (True, True, False)
    assert api_util.rebase_donate_argnums((4, 3, 3), (0, 1)) == (1, 2)
    with pytest.raises(ValueError, match=r"arguments \[0\] are both donated and static"):
        api_util.rebase_donate_argnums((0,), (0, 1))


def test_types_are_told_of_values_and_types():
    assert api_util.shaped_abstractify(2) == jx.typeof(2)
    assert api_util.shaped_abstractify(jx.typeof(2)) == jx.typeof(2)
    assert api_util.shaped_abstractify(jx.ShapeDtypeStruct((2,), "float32")).shape == (2,)
    with pytest.raises(TypeError, match=r"'a' of type builtins\.str is not a valid array type"):
        api_util.shaped_abstractify("a")


def test_sizes_are_compared_also_as_symbols():
    size = jx.export.symbolic_shape("n")[0]
    assert (jx.core.max_dim(3, 4), jx.core.min_dim(3, 4)) == (4, 3)
    assert jx.core.max_dim(size, 1) == size
    assert str(jx.core.min_dim(size, 4)) == "min(n, 4)"


def test_effects_are_known_by_their_kinds():
    def effect(ordered):
        [found] = jx.make_jaxpr(lambda x: jx.debug.print("{}", x, ordered=ordered))(1).effects
        return found

    plain, ordered = effect(False), effect(True)
    assert isinstance(plain, jx.debug.DebugEffect)
    assert isinstance(ordered, jx.debug.OrderedDebugEffect)
    assert not isinstance(plain, jx.debug.OrderedDebugEffect)


def test_a_key_among_the_arguments_of_a_traced_function_is_its_key_data():
    def draw(key, x):
        return [jx.random.normal(key, (3,)) + x, jx.random.fold_in(key, 1)]

    key = jx.random.key(0)
    fun = jx.extend.linear_util.wrap_init(draw)
    avals = [jx.core.ShapedArray((), key.dtype), jx.typeof(1.0)]
    jaxpr, _, consts = jx.interpreters.partial_eval.trace_to_jaxpr_dynamic(fun, avals)
    found = jx.core.eval_jaxpr(jaxpr, consts, jx.random.key_data(key), 1.0)
    expected = draw(key, 1.0)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], jx.random.key_data(expected[1]))

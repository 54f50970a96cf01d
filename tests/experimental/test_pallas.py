"""Kernels with references: run by interpretation, under every transform, and refused clearly."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.errors import CheckError, KernelError, RefError
from jxkernel.experimental import pallas as pl
from jxkernel.experimental.pallas import tpu as pltpu
from tests.experimental.kernels import KERNELS as ROWS

TEN = np.arange(10, dtype=np.float32)


def close(found, expected, tolerance=2e-3):
    """Check that trees of arrays have the same numbers, NaN where the other has NaN."""
    found, expected = jx.tree.leaves(found), jx.tree.leaves(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def copy(x_ref, o_ref):
    """Copy."""
    o_ref[...] = x_ref[...]


def call(kernel, out=TEN, **how):
    """Return a kernel of arrays like ``TEN``."""
    return pl.pallas_call(kernel, out, **how)


# ---------------------------------------------------------------- values and transforms


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ROWS)
def test_kernels_give_what_numpy_does(name):
    function, args, expected = ROWS[name]
    found = function(*args)
    close(found, expected)
    for one, other in zip(jx.tree.leaves(found), jx.tree.leaves(expected), strict=True):
        assert one.shape == other.shape
    close(jx.jit(function)(*args), found, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if jx.tree.leaves(row[1])])
def test_vmap_of_a_kernel_is_the_kernel_for_each_example(name):
    function, args, _ = ROWS[name]
    both = jx.tree.map(lambda x: np.stack([x, x[::-1]], 1), args)
    each = [jx.tree.map(lambda x, at=at: x[:, at], both) for at in range(2)]
    mapped = jx.vmap(function, in_axes=1)(*both)
    for at in range(2):
        close(jx.tree.map(lambda y, at=at: y[at], mapped), function(*each[at]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [
        "vectors by blocks",
        "a product summed over an axis",
        "softmax of rows",
        "layer norm with two results",
        "a running sum that carries from block to block",
        "a ragged result",
        "windows that overlap, padded by (0, 0)",
        "a result that begins as an argument",
        "scratch memory by name",
        "a loop with a carry",
        "a branch",
        "grad in a kernel",
    ],
)
def test_derivatives_of_kernels_are_those_of_what_they_compute(name):
    function, args, _ = ROWS[name]

    def of_args(*given):
        outs = [y.ravel() for y in jx.tree.leaves(function(*given))]
        return sum(jnp.vdot(jnp.cos(jnp.arange(y.size)), y) for y in outs)

    numbers = tuple(range(len(args)))
    slopes = jx.grad(of_args, argnums=numbers)(*args)
    rng = np.random.default_rng(1)
    direction = tuple([rng.standard_normal(x.shape).astype(x.dtype) for x in args])
    _, forward = jx.jvp(of_args, args, direction)
    backward = sum(jnp.vdot(s, t) for s, t in zip(slopes, direction, strict=True))
    np.testing.assert_allclose(forward, backward, rtol=1e-3, atol=1e-3)
    if all(x.dtype == np.float32 for x in args):
        step = 1e-2
        ahead, behind = (
            of_args(*[x + sign * step * t for x, t in zip(args, direction, strict=True)])
            for sign in (1, -1)
        )
        np.testing.assert_allclose(forward, (ahead - behind) / (2 * step), rtol=0.05, atol=0.05)


def test_derivatives_by_what_is_undefined_are_zero():
    block = pl.BlockSpec((8,), lambda i: (i,))
    function = call(copy, np.zeros(16, np.float32), grid=2, in_specs=[block], out_specs=block)
    value, tangent = jx.jvp(function, (TEN,), (TEN,))
    assert np.isnan(value[10:]).all()
    np.testing.assert_array_equal(tangent, np.append(TEN, np.zeros(6)))


def test_batches_have_scratch_memory_of_their_own():
    function, (x,), expected = ROWS["scratch memory stays"]
    close(jx.vmap(function)(np.stack([x, x])), np.stack([expected, expected]))


def test_a_kernel_stands_in_programs_by_its_name_with_its_references():
    block = pl.BlockSpec((5,), lambda i: (i,))

    def shift(x_ref, o_ref):
        o_ref[...] = x_ref[...] + pl.program_id(0)

    text = str(jx.make_jaxpr(call(shift, grid=2, in_specs=[block], out_specs=block))(TEN))
    for part in (
        "pallas_call[",
        "name=shift",
        "grid=(2,)",
        "(5,) of f32[10] at { lambda ; a:i32[]. let  in (a,) }",
        "a:Ref{f32[5]} b:Ref{f32[5]}",
        "get a",
        "program_id[axis=0]",
        "set b",
    ):
        assert part in text
    [eqn] = jx.make_jaxpr(call(copy, name="other"))(TEN).jaxpr.eqns
    assert eqn.primitive is pl.pallas_call_p
    assert eqn.params["name"] == "other"


def test_a_kernel_is_traced_once_for_its_types():
    traced = []

    def counting(x_ref, o_ref):
        traced.append(x_ref.shape)
        o_ref[...] = x_ref[...]

    function = call(counting)
    function(TEN)
    function(TEN + 1)
    jx.jit(call(counting))(TEN)
    assert traced == [(10,)]
    call(counting, grid=2)(TEN)
    assert traced == [(10,), (10,)]


def test_kernels_are_exported_and_run_elsewhere():
    exported = jx.export.export(jx.jit(call(copy)))(TEN)
    loaded = jx.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(loaded.call(TEN), TEN)


def test_kernels_compute_in_64_bits():
    with jx.enable_x64(True):
        x = np.arange(4) / 3

        def triple(x_ref, o_ref):
            o_ref[pl.program_id(0)] = x_ref[pl.program_id(0)] * 3

        found = call(triple, jx.ShapeDtypeStruct((4,), np.float64), grid=4)(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.arange(4), rtol=1e-15)


# ---------------------------------------------------------------- where a kernel stands


def test_program_ids_reach_functions_inside():
    @jx.jit
    def place(y):
        return y * pl.num_programs(0) + pl.program_id(0)

    def kernel(x_ref, o_ref):
        o_ref[pl.program_id(0)] = place(x_ref[pl.program_id(0)])

    for steps in (2, 3):  # the jitted function is traced for each grid
        found = call(kernel, grid=steps)(TEN)[:steps]
        np.testing.assert_array_equal(found, TEN[:steps] * steps + np.arange(steps))


def test_program_ids_of_a_kernel_inside_a_kernel_are_its_own():
    def inner(x_ref, o_ref):
        o_ref[pl.program_id(0)] = x_ref[pl.program_id(0)] + 1

    def outer(x_ref, o_ref):
        made = pl.pallas_call(inner, jx.ShapeDtypeStruct((10,), np.float32), grid=10)(x_ref[...])
        o_ref[...] = made * pl.num_programs(0)

    np.testing.assert_array_equal(call(outer, grid=3)(TEN), (TEN + 1) * 3)


@pytest.mark.parametrize("ask", [pl.program_id, pl.num_programs])
def test_the_grid_is_asked_for_in_a_kernel(ask):
    with pytest.raises(KernelError, match=r"\(0\) was asked outside of a kernel"):
        ask(0)

    def kernel(x_ref, o_ref):
        o_ref[0] = ask(1)

    with pytest.raises(KernelError, match=r"\(1\) names no axis of the kernel's grid \(3,\)"):
        call(kernel, grid=3)(TEN)


# ---------------------------------------------------------------- looking


def test_debug_print_prints_for_each_step(capsys):
    def kernel(x_ref, o_ref):
        pl.debug_print("{} at {}", x_ref[pl.program_id(0)], pl.program_id(0))
        pl.debug_print("plain", x_ref[1])
        o_ref[...] = x_ref[...]

    call(kernel, grid=2)(TEN).block_until_ready()
    jx.effects_barrier()
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == ["0.0 at 0", "1.0 at 1", "plain 1.0", "plain 1.0"]
    with pytest.raises(TypeError, match="debug_print takes a format"):
        pl.debug_print(3)
    with pytest.raises(IndexError):
        call(lambda x_ref, o_ref: pl.debug_print("{} {}", x_ref[0]))(TEN)


def test_debug_check_checks_where_it_is_asked_to():
    def kernel(x_ref, o_ref):
        pl.debug_check(x_ref[0] > 1, "the first is small")
        o_ref[...] = x_ref[...]

    np.testing.assert_array_equal(call(kernel)(TEN), TEN)
    with pl.enable_debug_checks(True):
        np.testing.assert_array_equal(call(kernel)(TEN + 2), TEN + 2)
        with pytest.raises(jx.errors.JaxRuntimeError, match="the first is small") as raised:
            call(kernel)(TEN).block_until_ready()
    assert isinstance(raised.value.__cause__, CheckError)


def test_waiting_for_nobody_is_an_error_where_checks_are_made():
    def kernel(x_ref, o_ref, semaphores):
        pl.semaphore_wait(semaphores.at[1])
        o_ref[...] = x_ref[...]

    def elsewhere(x_ref, o_ref, semaphores):
        pl.semaphore_signal(semaphores.at[0], device_id=1)

    memory = [pltpu.SemaphoreType.REGULAR((2,))]
    with (
        pl.enable_debug_checks(True),
        pytest.raises(jx.errors.JaxRuntimeError, match="nobody signals"),
    ):
        call(kernel, scratch_shapes=memory)(TEN).block_until_ready()
    with pytest.raises(NotImplementedError, match="another device or core"):
        call(elsewhere, scratch_shapes=memory)(TEN)


def test_debug_prints_the_kernel(capsys):
    call(copy, debug=True)(TEN)
    assert "Ref{f32[10]}" in capsys.readouterr().out


# ---------------------------------------------------------------- memory and bodies


def test_run_state_gives_what_references_hold():
    def kernel(refs):
        refs["a"][...] = refs["a"][...] + refs["b"][0]

    found = pl.run_state(kernel)({"a": TEN, "b": np.ones(2, np.float32)})
    np.testing.assert_array_equal(found["a"], TEN + 1)


def test_with_scoped_gives_memory_after_the_arguments():
    @pl.with_scoped(pltpu.VMEM((3,), np.int32), other=pl.ANY((2,), np.float32))
    def body(start, ref, other):
        assert ref[...].tolist() == [np.iinfo(np.int32).min] * 3
        assert np.isnan(other[...]).all()
        ref[...] = start + jnp.arange(3)
        return ref[...]

    assert body(2).tolist() == [2, 3, 4]
    with pytest.raises(NotImplementedError, match="use scratch_shapes, which stays"):
        pl.run_scoped(print, collective_axes="x")


def test_empty_references_have_the_types_they_are_asked_for():
    [ref] = pl.empty_ref_like([jx.ShapeDtypeStruct((2, 3), np.uint8)])
    assert (ref.shape, ref.dtype) == ((2, 3), np.uint8)
    with pytest.raises(KernelError, match="has no shape and no dtype"):
        pl.empty_ref_like("a")


def test_conditions_that_are_known_decide_at_once():
    seen = []
    pl.when(True)(lambda: seen.append(1))
    pl.when(np.bool_(False))(lambda: seen.append(2))
    assert seen == [1]


# ---------------------------------------------------------------- sizes, costs, names


def test_sizes():
    assert [pl.cdiv(10, 4), pl.align_to(10, 4), pl.align_to(8, 4)] == [3, 12, 8]
    assert list(map(pl.next_power_of_2, (0, 1, 2, 5, 8))) == [1, 1, 2, 8, 8]
    assert pl.strides_from_shape((2, 3, 4)) == (12, 4, 1)
    assert pl.multiple_of(8, 4) == 8
    assert pl.cdiv(jnp.arange(5), 2).tolist() == [0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="not negative, got -1"):
        pl.next_power_of_2(-1)


def test_costs_are_counted_from_types():
    a, b = jx.ShapeDtypeStruct((8, 4), np.float32), jx.ShapeDtypeStruct((4, 16), np.float32)
    counted = pl.estimate_cost(lambda a, b: jnp.sin(a @ b) + 1, a, b)
    assert counted == pl.CostEstimate(1152, 128, 896)
    assert counted.remote_bytes_transferred == 0


def test_lowered_functions_are_text():
    assert "stablehlo.while" in pl.lower_as_mlir(call(copy, grid=3), TEN)
    text = pl.lower_as_mlir(lambda x, n: x * n, TEN, n=2, static_argnames="n", platforms=("tpu",))
    assert "stablehlo.multiply" in text
    with pytest.raises(NotImplementedError, match="no dynamic_shapes"):
        pl.lower_as_mlir(jnp.sin, TEN, dynamic_shapes=True)


def test_specs_say_what_they_are():
    spec = pl.BlockSpec((8, None), pipeline_mode=pl.Buffered(2))
    assert spec.replace(block_shape=(4,)).block_shape == (4,)
    assert spec.replace(block_shape=(4,)).pipeline_mode == pl.Buffered(2)
    assert repr(pl.no_block_spec) == "NoBlockSpec"
    assert pl.squeezed == pl.Squeezed()
    memory = pltpu.VMEM((8, 128), jnp.bfloat16)
    assert (memory.shape, memory.dtype, memory.memory_space) == ((8, 128), jnp.bfloat16, pltpu.VMEM)
    assert pl.HOST is jx.memory.Space.Host
    parameters = pltpu.CompilerParams(dimension_semantics=("parallel",))
    assert repr(parameters) == "CompilerParams(dimension_semantics=('parallel',))"
    params = {"compiler_params": parameters, "interpret": pltpu.InterpretParams()}
    np.testing.assert_array_equal(call(copy, **params)(TEN), TEN)


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        (pltpu, "matmul_pop", "Works on the units of a TPU"),
        (pltpu, "matmul_push_rhs", "Works on the units of a TPU"),
    ],
)
def test_names_for_accelerators_are_refused_with_a_reason(module, name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(module, name)


# ---------------------------------------------------------------- what does not fit

CONSTANT = jnp.arange(10.0)
BLOCK = pl.BlockSpec((5,), lambda i: (i,))


def closing(x_ref, o_ref):
    """Use an array of outside."""
    o_ref[...] = x_ref[...] + CONSTANT


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: call(closing), KernelError, r"kernel closing closes over an array, f32\[10\]"),
        (lambda: call(lambda x, o: x[...]), KernelError, "writes its results and returns None"),
        (lambda: call(lambda x, o: x), KernelError, "of type Ref: it writes its results"),
        (lambda: call(copy, np.zeros(5, np.float32)), RefError, r"shape \(5,\) .* shape \(10,\)"),
        (lambda: call(copy, np.zeros(10, np.int32)), RefError, "convert it: value.astype"),
        (lambda: call(copy, in_specs=[]), KernelError, "in_specs of the kernel copy has 0 specs"),
        (lambda: call(copy, in_specs=BLOCK), KernelError, "has 1 specs, arranged as"),
        (lambda: call(copy, out_specs=[BLOCK] * 2), KernelError, "out_specs of the kernel copy"),
        (lambda: call(copy, in_specs=[3]), KernelError, r"the block of args\[0\] is 3 of type int"),
        (
            lambda: call(copy, in_specs=[pl.BlockSpec((2, 5))]),
            KernelError,
            r"block_shape \(2, 5\) of args\[0\] has rank 2, and the array, f32\[10\], has rank 1",
        ),
        (
            lambda: call(copy, in_specs=[pl.BlockSpec((0,))]),
            KernelError,
            r"block_shape of args\[0\] has the entry 0",
        ),
        (
            lambda: call(copy, grid=1, in_specs=[pl.BlockSpec((5,), lambda i: (0, 0))]),
            KernelError,
            r"indices that the index_map <lambda> of args\[0\] gives is 2, and the array's rank 1",
        ),
        (
            lambda: call(copy, grid=1, in_specs=[pl.BlockSpec((5,), lambda i: (i / 2,))]),
            KernelError,
            "gave f32.*an index is an integer of rank 0",
        ),
        (
            lambda: call(
                copy, grid=1, in_specs=[pl.BlockSpec((5,), lambda i: (CONSTANT.astype(int)[i],))]
            ),
            KernelError,
            "prefetch the array: pltpu.PrefetchScalarGridSpec",
        ),
        (lambda: call(copy, grid=(2.5,)), KernelError, "the grid has the size 2.5"),
        (
            lambda: call(copy, grid=1, grid_spec=pl.GridSpec(1)),
            KernelError,
            "put them into the grid_spec",
        ),
        (lambda: call(copy, grid_spec=3), KernelError, "got the grid_spec 3 of type int"),
        (lambda: call(copy, 3), KernelError, "got the out_shape 3 of type int"),
        (lambda: call(copy, scratch_shapes=[3]), KernelError, "3 of type int is no type of memory"),
        (
            lambda: call(copy, np.zeros(5, np.float32), input_output_aliases={0: 0}),
            KernelError,
            r"args\[0\] is f32\[10\] where the result is f32\[5\]",
        ),
        (
            lambda: call(copy, input_output_aliases={0: 1}),
            KernelError,
            "takes arrays numbered below 1, and gives some below 1",
        ),
        (
            lambda: call(
                copy,
                grid=2,
                in_specs=[pl.BlockSpec((4,))],
                out_specs=pl.BlockSpec((8,)),
                input_output_aliases={0: 0},
            ),
            KernelError,
            r"reach beyond the array by different lengths: \[\(0, 2\)\] and \[\(0, 6\)\]",
        ),
        (
            lambda: call(
                copy,
                grid_spec=pltpu.PrefetchScalarGridSpec(1, grid=2),
                input_output_aliases={0: 0},
            ),
            KernelError,
            r"0: 0, and args\[0\] is prefetched",
        ),
        (lambda: call(3), TypeError, "pallas_call needs a callable as kernel, got 3"),
        (lambda: call(lambda x: None), TypeError, "takes 1 positional argument but 2 were given"),
    ],
)
def test_kernels_that_do_not_fit_are_refused(make, error, said):
    with pytest.raises(error, match=f"(?s){said}"):
        make()(TEN)


def test_errors_name_the_line_of_the_user():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[:3]

    with pytest.raises(RefError) as raised:
        call(kernel)(TEN)
    assert raised.value.code.strip() == "o_ref[...] = x_ref[:3]"
    with pytest.raises(KernelError) as raised:
        call(copy, in_specs=[pl.BlockSpec((2, 5))])(TEN)
    assert "test_pallas.py" in raised.value.where


def test_reverse_mode_goes_through_grids_and_not_through_loops_of_unknown_length():
    def kernel(x_ref, o_ref):
        o_ref[0] = lax.while_loop(lambda y: y < 50, lambda y: y * 2, x_ref[3])

    function = call(kernel, np.zeros(1, np.float32))
    assert jx.jvp(function, (TEN,), (np.ones_like(TEN),))[1].tolist() == [32.0]
    with pytest.raises(jx.errors.ReverseModeError):
        jx.grad(lambda x: function(x)[0])(TEN)

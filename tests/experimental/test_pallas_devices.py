"""What kernels for accelerators are written with: semaphores, cores, gathered blocks, memory."""

import time

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.errors import KernelError, RefError, ReverseModeError
from jxkernel.experimental import pallas as pl
from jxkernel.experimental.pallas import tpu as pltpu

TEN = np.arange(10, dtype=np.float32)
TWELVE = np.arange(12, dtype=np.float32)
WHOLE = pl.BlockSpec(memory_space=pl.ANY)


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


# ---------------------------------------------------------------- references


def test_a_reference_is_selected_when_the_kernel_runs():
    def kernel(which_ref, x_ref, y_ref, o_ref, semaphore):
        source = pl.select_ref(which_ref[0], x_ref.at[2:6], y_ref.at[0:4])
        pltpu.async_copy(source, o_ref.at[0:4], semaphore).wait()
        pl.select_ref(which_ref[0], o_ref.at[4], o_ref.at[5])[...] = source.at[1][...]

    function = pl.pallas_call(
        kernel, jnp.zeros(6), in_specs=[WHOLE] * 3, scratch_shapes=[pltpu.SemaphoreType.DMA]
    )
    nan = np.nan
    for which, expected in ((0, [2, 3, 4, 5, 3, nan]), (1, [5, 6, 7, 8, nan, 6])):
        found = function(np.array([which]), TEN, TEN + 5)
        np.testing.assert_array_equal(found, expected)
    far = function(np.array([7]), TEN, TEN + 5)  # the nearest in range
    np.testing.assert_array_equal(far, found)
    slope = jx.grad(lambda x: function(np.array([0]), x, TEN)[:4].sum())(TEN)
    np.testing.assert_array_equal(slope, (TEN >= 2) & (TEN < 6))
    with pytest.raises(KernelError, match="all of one type"):
        pl.select_ref(0, jx.new_ref(TEN), jx.new_ref(1.0))


TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)

REARRANGED = {
    "reshape": (lambda ref: ref.reshape(4, 3), TABLE.reshape(4, 3)),
    "reshape of the rest": (lambda ref: ref.reshape((2, -1)), TABLE.reshape(2, 6)),
    "reshape of a part": (lambda ref: ref.at[1:].reshape(8), TABLE[1:].reshape(8)),
    "part of a reshape": (lambda ref: ref.reshape(12).at[pl.ds(3, 4)], TABLE.ravel()[3:7]),
    "transpose": (lambda ref: ref.reshape(3, 2, 2).transpose(2, 0, 1), None),
    "T": (lambda ref: ref.T, TABLE.T),
    "bitcast": (lambda ref: ref.bitcast(jnp.int32), TABLE.view(np.int32)),
    "bitcast to narrower": (lambda ref: ref.bitcast(jnp.uint16), None),
    "bitcast to wider": (lambda ref: ref.bitcast(jnp.uint16).bitcast(jnp.float32), TABLE),
}


@pytest.mark.parametrize("name", REARRANGED)
def test_references_are_rearranged(name):
    how, expected = REARRANGED[name]
    if name == "transpose":
        expected = TABLE.reshape(3, 2, 2).transpose(2, 0, 1)
    if expected is None:  # the low halves of a row, then the high ones
        halves = TABLE.view(np.uint16).reshape(3, 4, 2)
        expected = halves.swapaxes(1, 2).reshape(6, 4)

    def kernel(x_ref, o_ref, kept_ref):
        seen = how(x_ref)
        o_ref[...] = seen[...]
        assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
        kept_ref[...] = jnp.zeros_like(kept_ref)
        how(kept_ref)[...] = seen[...]

    outs = (jx.ShapeDtypeStruct(expected.shape, expected.dtype), TABLE)
    found, kept = pl.pallas_call(kernel, outs)(TABLE)
    np.testing.assert_array_equal(found, expected)
    part = "part" in name
    np.testing.assert_array_equal(
        kept if not part else how(jx.new_ref(kept))[...], TABLE if not part else expected
    )


def test_rearranged_references_write_through_and_differentiate():
    ref = jx.new_ref(jnp.asarray(TABLE))
    ref.reshape(12)[pl.ds(2, 3)] = -jnp.ones(3)
    ref.T[0] += 10
    expected = TABLE.copy()
    expected.ravel()[2:5] = -1
    expected[:, 0] += 10
    np.testing.assert_array_equal(ref[...], expected)

    def kernel(x_ref, o_ref):
        o_ref.T[...] = x_ref.reshape(4, 3)[...] ** 2

    slope = jx.grad(lambda x: pl.pallas_call(kernel, TABLE)(x).sum())(TABLE)
    np.testing.assert_array_equal(slope, 2 * TABLE)
    for refused in (lambda: ref.reshape(5), lambda: ref.at[0].bitcast(jnp.int8)):
        with pytest.raises(RefError):
            refused()
    with pytest.raises(RefError, match="cannot be frozen"):
        jx.freeze(ref.reshape(12))


def test_kernels_see_what_a_semaphore_is():
    seen = []

    def kernel(x_ref, o_ref, regular, copies):
        seen.extend([regular.dtype, copies.at[0].dtype, x_ref.dtype])
        pl.semaphore_signal(regular.at[1], 2)
        o_ref[...] = x_ref[...] + pl.semaphore_read(regular.at[1])
        pl.run_scoped(lambda more: seen.append(more.dtype), pltpu.SemaphoreType.REGULAR)

    memory = [pltpu.SemaphoreType.REGULAR((2,)), pltpu.SemaphoreType.DMA((1,))]
    found = pl.pallas_call(kernel, TEN, scratch_shapes=memory)(TEN)
    np.testing.assert_array_equal(found, TEN + 2)
    assert [jnp.issubdtype(dtype, pl.semaphore) for dtype in seen] == [True, False, False, True]
    assert jnp.issubdtype(seen[1], jx.dtypes.extended)
    assert (seen[0].name, seen[1].name, seen[0].itemsize) == ("semaphore", "dma_sem", 4)


# ---------------------------------------------------------------- memory and time


def test_global_memory_stays_from_step_to_step():
    def kernel(x_ref, o_ref):
        total, turns = pl.get_global(pltpu.VMEM((), jnp.float32)), None

        @pl.when(pl.program_id(0) == 0)
        def _():
            total[...] = jnp.float32(0)

        turns = pl.get_global(pltpu.SemaphoreType.REGULAR)
        total[...] += x_ref[0]
        pl.semaphore_signal(turns)
        o_ref[0] = total[...] * 100 + pl.semaphore_read(turns)

    one = pl.BlockSpec((1,), lambda i: (i,))
    function = pl.pallas_call(kernel, TEN, grid=10, in_specs=[one], out_specs=one)
    expected = np.cumsum(TEN) * 100 + np.arange(1, 11)
    for _ in range(2):  # each call has memory of its own
        np.testing.assert_array_equal(function(TEN), expected)
    with pytest.raises(KernelError, match="get_global was asked outside of a kernel"):
        pl.get_global(pltpu.VMEM((1,), jnp.float32))


def test_scratch_memory_begins_as_zeros_where_that_is_asked_for():
    def kernel(o_ref, kept):
        pl.run_scoped(
            lambda passing: o_ref.__setitem__(..., kept[...] + passing[...]),
            pltpu.VMEM((2,), jnp.float32),
        )

    def found():
        return pl.pallas_call(kernel, jnp.ones(2), scratch_shapes=[pltpu.VMEM((2,), float)])()

    assert np.isnan(found()).all()
    with pl.enable_poison_buffers(False):
        assert found().tolist() == [0, 0]
        with pl.enable_poison_buffers(True):
            assert np.isnan(found()).all()


def test_time_passes_at_each_step(monkeypatch):
    passed = []
    monkeypatch.setattr(time, "sleep", passed.append)

    def kernel(x_ref, o_ref):
        pl.delay(pl.program_id(0) * 1000 - 1000)
        o_ref[...] = x_ref[...]

    np.testing.assert_array_equal(pl.pallas_call(kernel, TEN, grid=3)(TEN), TEN)
    jx.effects_barrier()
    assert sorted(passed) == [0, 0, 1e-6]


# ---------------------------------------------------------------- blocks


def test_slices_bound_what_a_block_reads_and_writes():
    def kernel(starts_ref, sizes_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + 100

    def part(i, starts_ref, sizes_ref):
        return (pl.ds(starts_ref[i], sizes_ref[i]),)

    block = pl.BlockSpec((pl.BoundedSlice(4),), part)
    grid = pltpu.PrefetchScalarGridSpec(2, grid=3, in_specs=[block], out_specs=block)
    function = pl.pallas_call(kernel, TEN, grid_spec=grid)
    starts, sizes = np.array([0, 3, 8]), np.array([2, 4, 2])
    expected = np.array([100, 101, np.nan, 103, 104, 105, 106, np.nan, 108, 109])
    np.testing.assert_array_equal(function(starts, sizes, TEN), expected)
    slope = jx.grad(lambda x: jnp.nansum(function(starts, sizes, x)))(TEN)
    np.testing.assert_array_equal(slope, ~np.isnan(expected))

    def seen(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    read = pl.pallas_call(
        seen, np.zeros(4, np.float32), in_specs=[pl.BlockSpec((pl.BoundedSlice(4),))]
    )
    np.testing.assert_array_equal(read(TEN), TEN[:4])
    bad = pl.BlockSpec((pl.BoundedSlice(4),), lambda i: (i,))
    with pytest.raises(KernelError, match=r"takes pl\.ds\(start, size\)"):
        pl.pallas_call(copy, TEN, grid=1, in_specs=[bad])(TEN)


def test_indirect_blocks_are_gathered_and_scattered():
    def kernel(rows_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * 10

    def rows_of(i, j, rows_ref):
        return rows_ref[pl.ds(i * 2, 2)], j

    table = np.arange(20, dtype=np.float32).reshape(5, 4)
    gathered = pl.BlockSpec((pl.Indirect(2), 2), rows_of)
    plain = pl.BlockSpec((2, 2), lambda i, j, rows_ref: (i, j))
    rows = np.array([4, 0, 3, 9])

    def call(in_spec, out_spec, out):
        grid = pltpu.PrefetchScalarGridSpec(1, grid=(2, 2), in_specs=[in_spec], out_specs=out_spec)
        return pl.pallas_call(kernel, jx.ShapeDtypeStruct(out, np.float32), grid_spec=grid)

    found = call(gathered, plain, (4, 4))(rows, table)
    np.testing.assert_array_equal(found[:3], table[rows[:3]] * 10)
    assert np.isnan(found[3]).all()  # there is no row 9
    found = call(plain, gathered, (5, 4))(rows, table[:4])
    expected = np.full((5, 4), np.nan)
    expected[[4, 0, 3]] = table[:3] * 10
    np.testing.assert_array_equal(found, expected)
    slope = jx.grad(lambda x: call(gathered, plain, (4, 4))(rows, x)[:3, 1].sum())(table)
    np.testing.assert_array_equal(np.nonzero(np.asarray(slope)), [[0, 3, 4], [1, 1, 1]])
    twice = pl.BlockSpec((pl.Indirect(2), pl.Indirect(2)))
    for spec, said in (
        (twice, "at most"),
        (pl.BlockSpec((pl.Indirect(2), 4), lambda i: (i, 0)), "shape"),
    ):
        with pytest.raises(KernelError, match=said):
            pl.pallas_call(copy, TEN, grid=1, in_specs=[spec])(table)


# ---------------------------------------------------------------- grids of data


def test_the_size_of_a_grid_may_be_data():
    block = pl.BlockSpec((2,), lambda i, j: (i * pl.num_programs(1) + j,))

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * pl.num_programs(0)

    def steps(n, x):
        return pl.pallas_call(kernel, TEN, grid=(n, 2), in_specs=[block], out_specs=block)(x)

    nan = [np.nan] * 2
    for n in (-1, 0, 1, 2):
        rest = nan * (5 - 2 * max(n, 0))
        np.testing.assert_array_equal(jx.jit(steps)(n, TEN), [*(TEN * n)[: 4 * max(n, 0)], *rest])
    np.testing.assert_array_equal(jx.jit(steps)(2, TEN), steps(2, TEN))
    both = jx.vmap(steps, in_axes=(0, None))(np.array([1, 2]), TEN)
    np.testing.assert_array_equal(both[0], steps(1, TEN))
    np.testing.assert_array_equal(both[1], steps(2, TEN))
    _, tangent = jx.jvp(lambda x: jx.jit(steps)(2, x)[:8], (TEN,), (TEN,))
    np.testing.assert_array_equal(tangent, 2 * TEN[:8])
    with pytest.raises(ReverseModeError):
        jx.grad(lambda x: jx.jit(steps)(2, x)[0])(TEN)
    with pytest.raises(KernelError, match="the grid has the size"):
        jx.jit(steps)(2.0, TEN)


def test_kernels_are_exported_with_symbolic_sizes():
    block = pl.BlockSpec((4,), lambda i: (i,))

    def f(x):
        grid = pl.cdiv(x.shape[0], 4)
        return pl.pallas_call(double, x, grid=grid, in_specs=[block], out_specs=block)(x)

    (size,) = jx.export.symbolic_shape("4*n")
    struct = jx.ShapeDtypeStruct((size,), np.float32)
    with pl.pallas_export_experimental(True):
        exported = jx.export.export(jx.jit(f))(struct)
    np.testing.assert_array_equal(exported.call(TWELVE), TWELVE * 2)
    with pytest.raises(KernelError, match=r"with pl\.pallas_export_experimental"):
        jx.export.export(jx.jit(f))(struct)


# ---------------------------------------------------------------- keys


def test_random_keys_are_arguments_of_kernels():
    def kernel(keys_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + jx.random.uniform(keys_ref[0], (5,))

    keys = jx.random.split(jx.random.key(3), 2)
    specs = [pl.BlockSpec((1,), lambda i: (i,)), pl.BlockSpec((5,), lambda i: (i,))]
    function = pl.pallas_call(kernel, TEN, grid=2, in_specs=specs, out_specs=specs[1])
    drawn = jnp.concatenate([jx.random.uniform(key, (5,)) for key in keys])
    np.testing.assert_array_equal(function(keys, TEN), TEN + drawn)
    np.testing.assert_array_equal(jx.jit(function)(keys, TEN), TEN + drawn)
    many = jx.vmap(function, in_axes=(0, None))(jnp.stack([keys, keys[::-1]]), TEN)
    np.testing.assert_array_equal(many[1], function(keys[::-1], TEN))

    def whole(keys_ref, o_ref):
        o_ref[...] = jx.random.normal(keys_ref[...])

    out = jx.ShapeDtypeStruct((), np.float32)
    np.testing.assert_array_equal(pl.pallas_call(whole, out)(keys[1]), jx.random.normal(keys[1]))
    with pytest.raises(KernelError, match="a kernel writes numbers"):
        pl.pallas_call(copy, keys)(keys)


# ---------------------------------------------------------------- cores

CORES = pltpu.TensorCoreMesh(axis_name="core", num_cores=2)


def halves(x_ref, o_ref, half):
    mine = pl.ds(lax.axis_index("core") * 5, 5)
    pltpu.sync_copy(x_ref.at[mine], half)
    half[...] *= jx.jit(lambda: lax.axis_size("core") + lax.axis_index("core"))()
    pltpu.sync_copy(half, o_ref.at[mine])


@pytest.mark.parametrize("scratch", [pltpu.VMEM((5,), float), {"half": pltpu.VMEM((5,), float)}])
def test_a_kernel_runs_on_each_core_of_a_mesh(scratch):
    function = pl.kernel(halves, TEN, mesh=CORES, scratch_types=scratch)
    expected = TEN * np.repeat([2, 3], 5)
    np.testing.assert_array_equal(function(TEN), expected)
    np.testing.assert_array_equal(jx.jit(function)(TEN), expected)
    np.testing.assert_array_equal(jx.vmap(function)(np.stack([TEN, TEN + 1]))[0], expected)
    slope = jx.grad(lambda x: function(x).sum())(TEN)
    np.testing.assert_array_equal(slope, np.repeat([2, 3], 5))


def test_a_kernel_on_cores_takes_trees_and_references():
    @pl.kernel(out_type={"y": TEN}, mesh=CORES)
    def both(given, kept, out):
        pltpu.sync_copy(given["x"], out["y"])
        kept[lax.axis_index("core")] = given["x"][9] + lax.axis_index("core")

    kept = jx.new_ref(TEN)
    np.testing.assert_array_equal(both({"x": TEN}, kept)["y"], TEN)
    np.testing.assert_array_equal(kept[...], [9, 10, *TEN[2:]])
    assert pl.kernel(lambda x_ref: None, mesh=CORES)(TEN) == ()

    def second(x_ref, o_ref):
        o_ref[5:] = x_ref[5:]

    def first(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    several = pl.kernel([first, second], TEN, mesh=[CORES, CORES])
    np.testing.assert_array_equal(several(TEN), [*(TEN * 2)[:5], *TEN[5:]])
    with pytest.raises(KernelError, match="2 bodies and 1 meshes"):
        pl.kernel([first, second], TEN, mesh=CORES)
    with pytest.raises(KernelError, match="returned 3"):
        pl.kernel(lambda x_ref, o_ref: 3, TEN, mesh=CORES)(TEN)


def test_a_kernel_on_cores_is_traced_once():
    traced = []

    def counting(x_ref, o_ref):
        traced.append(1)
        o_ref[...] = x_ref[...]

    function = pl.kernel(counting, TEN, mesh=CORES)
    function(TEN)
    function(TEN + 1)
    assert traced == [1]

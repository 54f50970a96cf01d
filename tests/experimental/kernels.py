"""Kernels with references, their arguments, and what NumPy makes of these: ``KERNELS``."""

from typing import Any

import numpy as np

import jxkernel as jax
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.experimental import pallas as pl
from jxkernel.experimental.pallas import tpu as pltpu

RNG = np.random.default_rng(0)


def f32(*shape: int) -> Any:
    """Return numbers of a shape."""
    return RNG.standard_normal(shape).astype(np.float32)


of, block = jax.ShapeDtypeStruct, pl.BlockSpec
KERNELS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {}
"""A function of arrays, its arguments, and what it is to give, by what it is about."""


def add(name: str, kernel: Any, out: Any, args: tuple[Any, ...], expected: Any, **how: Any):
    KERNELS[name] = (pl.pallas_call(kernel, out, interpret=True, **how), args, expected)


# ------------------------------------------------------------ elementwise


def add_vectors(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


x, y = f32(64), f32(64)
add("whole arrays", add_vectors, of((64,), np.float32), (x, y), x + y)
rows = block((16,), lambda i: (i,))
add(
    "vectors by blocks",
    add_vectors,
    of((64,), np.float32),
    (x, y),
    x + y,
    grid=(4,),
    in_specs=[rows, rows],
    out_specs=rows,
)
add(
    "a grid that is an int",
    add_vectors,
    of((64,), np.float32),
    (x, y),
    x + y,
    grid=4,
    in_specs=[rows, rows],
    out_specs=rows,
)
m = f32(8, 12)


def gelu(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x**3)))


add(
    "an activation on a grid of two axes",
    gelu,
    of((8, 12), np.float32),
    (m,),
    0.5 * m * (1 + np.tanh(0.7978845608 * (m + 0.044715 * m**3))),
    grid=(2, 3),
    in_specs=[block((4, 4), lambda i, j: (i, j))],
    out_specs=block((4, 4), lambda i, j: (i, j)),
)


def program_ids(o_ref):
    o_ref[0, 0] = pl.program_id(0) * 10 + pl.program_id(1) + pl.num_programs(1)


add(
    "program ids",
    program_ids,
    of((3, 4), np.int32),
    (),
    (np.arange(3)[:, None] * 10 + np.arange(4) + 4).astype(np.int32),
    grid=(3, 4),
    out_specs=block((1, 1), lambda i, j: (i, j)),
)


def iota_kernel(o_ref):
    i = pl.program_id(axis=0)
    o_ref[i] = i


add(
    "indices written one by one",
    iota_kernel,
    of((8,), np.int32),
    (),
    np.arange(8, dtype=np.int32),
    grid=(8,),
)

# ------------------------------------------------------------ products


def matmul(x_ref, y_ref, o_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...] @ y_ref[...]


a, b = f32(16, 32), f32(32, 24)
tiles = {
    "grid": (2, 3, 4),
    "in_specs": [
        block((8, 8), lambda i, j, k: (i, k)),
        block((8, 8), lambda i, j, k: (k, j)),
    ],
    "out_specs": block((8, 8), lambda i, j, k: (i, j)),
}
add("a product summed over an axis", matmul, of((16, 24), np.float32), (a, b), a @ b, **tiles)


def matmul_scratch(x_ref, y_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


half = (a.astype(np.float16), b.astype(np.float16))
add(
    "a product of halves in scratch memory",
    matmul_scratch,
    of((16, 24), np.float16),
    half,
    (half[0].astype(np.float32) @ half[1].astype(np.float32)).astype(np.float16),
    scratch_shapes=[pltpu.VMEM((8, 8), np.float32)],
    **tiles,
)


def matvec(x_ref, v_ref, o_ref):
    o_ref[...] = x_ref[...] @ v_ref[...]


v = f32(32)
add(
    "a product with a vector",
    matvec,
    of((16,), np.float32),
    (a, v),
    a @ v,
    grid=(4,),
    in_specs=[block((4, 32), lambda i: (i, 0)), block((32,), lambda i: (0,))],
    out_specs=block((4,), lambda i: (i,)),
)


def batched(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] @ y_ref[...]


p, q = f32(3, 8, 4), f32(3, 4, 6)


def by_batch(i):
    return i, 0, 0


add(
    "a batched product with squeezed axes",
    batched,
    of((3, 8, 6), np.float32),
    (p, q),
    p @ q,
    grid=(3,),
    in_specs=[block((None, 8, 4), by_batch), block((pl.Squeezed(), 4, 6), by_batch)],
    out_specs=block((None, 8, 6), by_batch),
)

# ------------------------------------------------------------ reductions


def softmax(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - x.max(axis=-1, keepdims=True))
    o_ref[...] = e / e.sum(axis=-1, keepdims=True)


e = np.exp(m - m.max(-1, keepdims=True))
row = block((1, 12), lambda i: (i, 0))
add(
    "softmax of rows",
    softmax,
    of((8, 12), np.float32),
    (m,),
    e / e.sum(-1, keepdims=True),
    grid=(8,),
    in_specs=[row],
    out_specs=row,
)


def layer_norm(x_ref, g_ref, b_ref, o_ref, mean_ref):
    x = x_ref[...]
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    o_ref[...] = (x - mean) * lax.rsqrt(var + 1e-5) * g_ref[...] + b_ref[...]
    mean_ref[...] = mean[:, 0]


g, c = f32(12), f32(12)
normal = (m - m.mean(-1, keepdims=True)) / np.sqrt(m.var(-1, keepdims=True) + 1e-5)
whole = block((12,), lambda i: (0,))
add(
    "layer norm with two results",
    layer_norm,
    (of((8, 12), np.float32), of((8,), np.float32)),
    (m, g, c),
    (normal * g + c, m.mean(-1)),
    grid=(4,),
    in_specs=[block((2, 12), lambda i: (i, 0)), whole, whole],
    out_specs=(block((2, 12), lambda i: (i, 0)), block((2,), lambda i: (i,))),
)


def column_sums(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...].sum(axis=0)


add(
    "column sums",
    column_sums,
    of((12,), np.float32),
    (m,),
    m.sum(0),
    grid=(4,),
    in_specs=[block((2, 12), lambda i: (i, 0))],
    out_specs=whole,
)


def total(x_ref, o_ref):
    o_ref[()] = jnp.sum(x_ref[...])


add("a result of rank 0", total, of((), np.float32), (x,), x.sum())


def running(x_ref, o_ref, carry_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        carry_ref[0] = 0.0

    sums = jnp.cumsum(x_ref[...]) + carry_ref[0]
    o_ref[...] = sums
    carry_ref[0] = sums[-1]


add(
    "a running sum that carries from block to block",
    running,
    of((64,), np.float32),
    (x,),
    np.cumsum(x),
    grid=(4,),
    in_specs=[rows],
    out_specs=rows,
    scratch_shapes=[pltpu.SMEM((1,), np.float32)],
)


def histogram(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    @pl.loop(0, x_ref.shape[0])
    def _(i):
        o_ref[x_ref[i]] += 1


counts = RNG.integers(0, 5, 32).astype(np.int32)
add(
    "a histogram by scattered writes",
    histogram,
    of((5,), np.int32),
    (counts,),
    np.bincount(counts, minlength=5).astype(np.int32),
    grid=(4,),
    in_specs=[block((8,), lambda i: (i,))],
    out_specs=block((5,), lambda i: (0,)),
)

# ------------------------------------------------------------ where blocks lie


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def transpose(x_ref, o_ref):
    o_ref[...] = x_ref[...].T


add(
    "a transposition by tiles",
    transpose,
    of((12, 8), np.float32),
    (m,),
    m.T,
    grid=(2, 3),
    in_specs=[block((4, 4), lambda i, j: (i, j))],
    out_specs=block((4, 4), lambda i, j: (j, i)),
)
add(
    "blocks in reverse order",
    copy,
    of((64,), np.float32),
    (x,),
    x.reshape(4, 16)[::-1].ravel(),
    grid=(4,),
    in_specs=[rows],
    out_specs=block((16,), lambda i: (3 - i,)),
)
add(
    "an index map that divides",
    copy,
    of((64,), np.float32),
    (x,),
    np.repeat(x.reshape(4, 16)[:2], 2, axis=0).ravel(),
    grid=(4,),
    in_specs=[block((16,), lambda i: (i // 2,))],
    out_specs=rows,
)
add(
    "a program id in an index map",
    copy,
    of((64,), np.float32),
    (x,),
    x,
    grid=(4,),
    in_specs=[block((16,), lambda i: (pl.program_id(0),))],
    out_specs=rows,
)
ten = np.arange(10, dtype=np.float32)
eight = block((8,), lambda i: (i,))
how = {"grid": (2,), "in_specs": [eight], "out_specs": eight}


def padded(x: Any, fill: Any) -> Any:
    return np.concatenate([x, np.full(16 - len(x), fill, x.dtype)])


add("a ragged result", copy, of((10,), np.float32), (ten,), ten, **how)
for dtype, fill in {
    "float32": np.nan,
    "float16": np.nan,
    "int32": np.iinfo(np.int32).min,
    "int8": -128,
    "uint8": 0,
    "uint32": 0,
    "bool": False,
}.items():
    given = ten.astype(dtype)
    name = f"what is beyond a ragged array of {dtype}"
    add(name, copy, of((16,), dtype), (given,), padded(given, fill), **how)
add(
    "blocks beyond the array are the last one",
    copy,
    of((24,), np.float32),
    (ten,),
    np.concatenate([padded(ten, np.nan), padded(ten, np.nan)[8:]]),
    grid=(3,),
    in_specs=[eight],
    out_specs=eight,
)
add(
    "a block larger than the array",
    copy,
    of((16,), np.float32),
    (ten,),
    padded(ten, np.nan),
    grid=(1,),
    in_specs=[block((16,), lambda i: (i,))],
)
add(
    "no index map",
    copy,
    of((4,), np.float32),
    (ten,),
    ten[:4],
    grid=(2,),
    in_specs=[block((4,))],
)
windows = np.stack([ten[i : i + 4] for i in (0, 2, 4)])
out_row = block((None, 4), lambda i: (i, 0))
for padding, shifted in {
    (0, 0): windows,
    (1, 1): np.array([[np.nan, 0, 1, 2], [1, 2, 3, 4], [3, 4, 5, 6]], np.float32),
    (2, 3): np.array([[np.nan, np.nan, 0, 1], [0, 1, 2, 3], [2, 3, 4, 5]], np.float32),
}.items():
    add(
        f"windows that overlap, padded by {padding}",
        copy,
        of((3, 4), np.float32),
        (ten,),
        shifted,
        grid=(3,),
        in_specs=[block((pl.Element(4, padding),), lambda i: (i * 2,))],
        out_specs=out_row,
    )
wide = f32(6, 10)
add(
    "an axis by elements beside one by blocks",
    copy,
    of((2, 3, 4), np.float32),
    (wide,),
    np.stack([wide[:3, 2:6], wide[3:, 2:6]]),
    grid=(2,),
    in_specs=[block((pl.Blocked(3), pl.Element(4)), lambda i: (i, 2))],
    out_specs=block((None, 3, 4), lambda i: (i, 0, 0)),
)
add(
    "results written by elements",
    copy,
    of((10,), np.float32),
    (ten,),
    np.array([0, 1, 2, 4, 5, 6, 8, 9, np.nan, np.nan], np.float32),
    grid=(3,),
    in_specs=[block((4,), lambda i: (i,))],
    out_specs=block((pl.Element(4),), lambda i: (i * 3,)),
)

# ------------------------------------------------------------ memory


def first(x_ref, o_ref):
    o_ref[0] = x_ref[0] + 1


begun = ten[:4].copy()
begun[0] = 1
add(
    "a result that begins as an argument",
    first,
    of((4,), np.float32),
    (ten[:4],),
    begun,
    input_output_aliases={0: 0},
)
add(
    "an alias read again in the next step",
    lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] + 1),
    of((4,), np.float32),
    (ten[:4],),
    ten[:4] + 3,
    grid=(3,),
    input_output_aliases={0: 0},
)
add(
    "what nobody writes",
    first,
    of((4,), np.float32),
    (ten,),
    np.array([1, np.nan, np.nan, np.nan], np.float32),
)


def through_scratch(x_ref, o_ref, s_ref):
    o_ref[...] = s_ref[...]
    s_ref[...] = x_ref[...]


r = np.arange(12, dtype=np.float32).reshape(3, 4)
add(
    "scratch memory stays",
    through_scratch,
    of((3, 4), np.float32),
    (r,),
    np.concatenate([np.full((1, 4), np.nan, np.float32), r[:2]]),
    grid=(3,),
    in_specs=[out_row],
    out_specs=out_row,
    scratch_shapes=[pl.ANY((4,), np.float32)],
)


def named_scratch(x_ref, o_ref, kept):
    kept[...] = x_ref[...] * 2
    o_ref[...] = kept[...]


add(
    "scratch memory by name",
    named_scratch,
    of((4,), np.float32),
    (ten[:4],),
    ten[:4] * 2,
    scratch_shapes={"kept": pltpu.VMEM((4,), np.float32)},
)


def writes_argument(x_ref, o_ref):
    x_ref[...] = x_ref[...] + 1
    o_ref[...] = x_ref[...]


add(
    "an argument that is written",
    writes_argument,
    of((10,), np.float32),
    (ten,),
    ten + 2,
    grid=(2,),
)


def scoped(x_ref, o_ref):
    def body(kept):
        kept[...] = x_ref[...] * 2
        return kept[...] + 1

    o_ref[...] = pl.run_scoped(body, pltpu.VMEM((10,), np.float32))


add("memory for a while", scoped, of((10,), np.float32), (ten,), ten * 2 + 1)


def copies(x_ref, o_ref, kept, semaphore):
    copying = pltpu.make_async_copy(x_ref.at[pl.ds(2, 4)], kept, semaphore)
    copying.start()
    copying.wait()
    o_ref[...] = kept[...]


add(
    "a copy that is waited for",
    copies,
    of((4,), np.float32),
    (ten,),
    ten[2:6],
    scratch_shapes=[pltpu.VMEM((4,), np.float32), pltpu.SemaphoreType.DMA],
)
add(
    "a copy at once",
    pltpu.sync_copy,
    of((10,), np.float32),
    (ten,),
    ten,
    in_specs=[block(memory_space=pl.ANY)],
    out_specs=block(memory_space=pl.ANY),
)


def counted(x_ref, o_ref, semaphore):
    pl.semaphore_signal(semaphore, 3)
    pl.semaphore_wait(semaphore, 1)
    o_ref[...] = x_ref[...] + pl.semaphore_read(semaphore)


add(
    "a semaphore",
    counted,
    of((10,), np.float32),
    (ten,),
    ten + 2,
    scratch_shapes=[pltpu.SemaphoreType.REGULAR],
)

# ------------------------------------------------------------ prefetching


def plus_first(i_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] + i_ref[pl.program_id(0)]


order = np.array([2, 0, 1], np.int32)
add(
    "blocks chosen by an argument",
    plus_first,
    of((3, 4), np.float32),
    (order, r),
    r[order] + order[:, None],
    grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(3,),
        in_specs=[block((None, 4), lambda i, order: (order[i], 0))],
        out_specs=block((None, 4), lambda i, order: (i, 0)),
    ),
)
add(
    "a grid spec",
    add_vectors,
    of((64,), np.float32),
    (x, y),
    x + y,
    grid_spec=pl.GridSpec(grid=(4,), in_specs=[rows, rows], out_specs=rows),
)

# ------------------------------------------------------------ inside a kernel


def part(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[pl.ds(i * 2, 2)] = x_ref[pl.ds(i * 3, 2)]


add(
    "slices whose start is data",
    part,
    of((6,), np.float32),
    (ten,),
    np.array([0, 1, 3, 4, 6, 7], np.float32),
    grid=(3,),
)


def strided(x_ref, o_ref):
    o_ref[...] = x_ref[::2] + x_ref[1::2]


add("strided slices", strided, of((5,), np.float32), (ten,), ten[::2] + ten[1::2])


def power(x_ref, o_ref):
    o_ref[...] = lax.fori_loop(0, 3, lambda _, y: y * x_ref[...], jnp.ones_like(x_ref))


add("a loop with a carry", power, of((10,), np.float32), (ten,), ten**3)


def stepping(x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)

    @pl.loop(1, 10, step=3)
    def _(i):
        o_ref[i] = x_ref[i] * 2


stepped = np.zeros(10, np.float32)
stepped[1::3] = ten[1::3] * 2
add("a loop over references", stepping, of((10,), np.float32), (ten,), stepped)


def carrying(x_ref, o_ref):
    @pl.loop(0, 10, init_carry=jnp.float32(1))
    def last(i, carry):
        return carry + x_ref[i]

    o_ref[0] = last


add("a loop with init_carry", carrying, of((1,), np.float32), (ten,), np.array([46.0]))


def halving(x_ref, o_ref):
    o_ref[0] = lax.while_loop(lambda y: y > 1, lambda y: y / 2, x_ref[9])


add("a while loop", halving, of((1,), np.float32), (ten,), np.array([0.5625]))


def branching(x_ref, o_ref):
    odd = pl.program_id(0) % 2 == 1
    o_ref[...] = lax.cond(odd, lambda: -x_ref[...], lambda: x_ref[...])


signs = np.where(np.arange(64) // 16 % 2, -1, 1)
add(
    "a branch",
    branching,
    of((64,), np.float32),
    (x,),
    (x * signs).astype(np.float32),
    grid=(4,),
    in_specs=[rows],
    out_specs=rows,
)


def jitted(x_ref, o_ref):
    o_ref[...] = jax.jit(lambda y: jnp.sin(y) * 2)(x_ref[...])


add("a jitted function", jitted, of((10,), np.float32), (ten,), np.sin(ten) * 2)


def vmapped(x_ref, o_ref):
    o_ref[...] = jax.vmap(jnp.sum)(x_ref[...])


add("vmap in a kernel", vmapped, of((8,), np.float32), (m,), m.sum(1))


def slope(x_ref, o_ref):
    o_ref[...] = jax.grad(lambda y: jnp.sum(y**3))(x_ref[...])


add("grad in a kernel", slope, of((10,), np.float32), (ten,), 3 * ten**2)


def masked(x_ref, o_ref):
    at = pl.program_id(0) * 8 + jnp.arange(8)
    total = jnp.sum(jnp.where(at < 10, x_ref[...], 0))

    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[0] = total

    @pl.when(pl.program_id(0) > 0)
    def _():
        o_ref[0] += total


add(
    "a sum that masks what is beyond",
    masked,
    of((1,), np.float32),
    (ten,),
    np.array([45.0]),
    grid=(2,),
    in_specs=[eight],
    out_specs=block((1,), lambda i: (0,)),
)

# ------------------------------------------------------------ trees


def of_tree(x, o_ref):
    o_ref["sum"][...] = x["a"][...] + x["b"][1][...]
    o_ref["less"][...] = x["a"][...] - x["b"][0][...]


tree = {"a": ten, "b": (ten, ten)}
add(
    "trees",
    of_tree,
    {"sum": of((10,), np.float32), "less": of((10,), np.float32)},
    (tree,),
    {"sum": ten * 2, "less": ten * 0},
)
add("nothing to do", lambda: None, (), (), ())
add("a grid of no steps", copy, of((10,), np.float32), (ten,), np.full(10, np.nan), grid=(0,))

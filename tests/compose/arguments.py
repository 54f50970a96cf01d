"""Arguments of random programs: arrays of every dtype and layout, scalars, and numbers."""

from collections.abc import Mapping, Sequence
from math import prod
from random import Random

from tests.compose.writing import Shape, Value

SHAPES: tuple[Shape, ...] = ((), (3,), (2, 3), (3, 3), (1,), (0,), (2, 0), (1, 3), (2, 1, 3))
WEIGHTS = (4, 6, 5, 3, 2, 1, 1, 1, 1)
DTYPES = {
    "f": (*["float32"] * 9, *["float16", "bfloat16", "float64"] * 3, "float8_e4m3fn"),
    "i": (*["int32"] * 6, *["int8", "int16", "int64"] * 3, "int4"),
    "u": (*["uint8", "uint16", "uint32", "uint64"] * 3, "uint4"),
    "c": ("complex64", "complex64", "complex128"),
    "b": ("bool",),
}
UNKNOWN_TO_NUMPY = ("bfloat16", "float8_e4m3fn", "int4", "uint4")
KINDS = ("f", "f", "f", "f", "i", "i", "u", "c", "b")
FLOATS = (0.5, -1.25, 2.0, 0.75, -0.3, 1.5, 3.0, -2.0, 0.1)
EDGES = ("0.", "-0.", "jnp.nan", "jnp.inf", "-jnp.inf", "1e-40", "1e30", "65504.", "1.", "-1.")
INTEGERS = {"i": (1, 2, -3, 0, 5, -1, 7), "u": (1, 2, 3, 0, 5, 7)}
EXTREMES = {"int8": (-128, 127), "int16": (-(2**15),), "int32": (-(2**31), 2**31 - 1)}
LARGEST = {"uint8": (255,), "uint16": (2**16 - 1,), "uint32": (2**32 - 1,), "int64": (2**40,)}


def _element(random: Random, kind: str, dtype: str, edges: bool) -> str:
    edge = edges and random.randint(0, 3) == 0
    if kind == "b":
        return random.choice(("True", "False"))
    if kind in INTEGERS:
        extremes = (*EXTREMES.get(dtype, ()), *LARGEST.get(dtype, ()))
        return str(random.choice(extremes if edge and extremes else INTEGERS[kind]))
    real = random.choice(EDGES) if edge else str(random.choice(FLOATS))
    return f"complex({real}, {random.choice(FLOATS)})" if kind == "c" else real


def _nested(elements: list[str], shape: Shape) -> str:
    if not shape:
        return elements[0]
    step = prod(shape[1:])
    rows = [_nested(elements[n * step : (n + 1) * step], shape[1:]) for n in range(shape[0])]
    return f"[{', '.join(rows)}]"


PYTHON = {
    "f": ("2.5", "-0.75", "0.0", "1e30"),
    "i": ("3", "-2", "0", "7"),
    "u": ("2", "5", "0", "1"),
    "c": ("(1+2j)", "(-0.5+0.25j)", "0j"),
    "b": ("True", "False"),
}
"""Numbers of Python, by their kinds."""

LAYOUTS = (
    "{new}",
    "np.asfortranarray({new})",
    "np.repeat({new}, 2, axis=-1)[..., ::2]",
    "np.flip({new}).copy()[::-1]",
    "np.broadcast_to({new}, {shape})",
    "unaligned({new})",
    "np.array({new}.tolist(), {new}.dtype)[...].T.copy().T",
)
SCALARS = ("{new}", "{new}[()]")


def _array(random: Random, text: str, shape: Shape, dtype: str) -> str:
    """Return an array of this library, or one of NumPy's in some layout."""
    if dtype in UNKNOWN_TO_NUMPY or random.randint(0, 2):
        return f"jnp.array({text}, '{dtype}')"
    new = f"np.array({text}, '{dtype}')"
    return random.choice(LAYOUTS if shape else SCALARS).format(new=new, shape=shape)


def like(random: Random, value: Value, dtype: str, edges: bool) -> Value:
    """Return an argument of another's type, with other elements: ``dtype`` is empty for numbers."""
    if not dtype:
        return value.called(random.choice(PYTHON[value.kind]))
    shape = value.shape
    if 0 in shape:
        return value
    elements = [_element(random, value.kind, dtype, edges) for _ in range(prod(shape))]
    return value.called(_array(random, _nested(elements, shape), shape, dtype))


def arguments(
    random: Random,
    edges: bool,
    kinds: Sequence[str] = KINDS,
    dtypes: Mapping[str, Sequence[str]] = DTYPES,
    more: int = 0,
) -> list[Value]:
    """Return arguments of one type: expressions, with what they are like.

    Args:
      random: where draws come from.
      edges: whether zeros, infinities, NaN, denormals and extremes are among the elements of the
        first; they are among those of every second one after it.
      kinds: the kinds that their dtype may have.
      dtypes: the dtypes of each kind.
      more: how many there are beside the first.
    """
    kind = random.choice(kinds)
    number = random.randint(0, 11) == 0
    dtype = "" if number else random.choice(dtypes[kind])
    shape = () if number else random.choices(SHAPES, WEIGHTS)[0]
    text = f"jnp.zeros({shape}, '{dtype}')" if 0 in shape else PYTHON[kind][0]
    value = Value(text, shape, 1.0, kind)
    first = value if number else like(random, value, dtype, edges)
    return [first, *(like(random, value, dtype, n % 2 == 0) for n in range(more))]

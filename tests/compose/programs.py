"""Random small programs, smooth almost everywhere, whose values are of moderate size.

So finite differences can judge their derivatives, of any order.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from hypothesis import strategies as st

from tests.compose.nesting import ANY_ORDER
from tests.compose.writing import (
    LARGEST_BOUND,
    LARGEST_SIZE,
    Kind,
    Program,
    Shape,
    Value,
    Writer,
    moderate,
)

SHAPES: tuple[Shape, ...] = ((), (3,), (2, 3))


def _unary(template: str, result: float, limit: float = LARGEST_BOUND) -> Kind:
    """Return a kind for ``template`` with operand ``a``, bounded by ``result``."""

    def write(w: Writer) -> Value | None:
        a = w.pick(lambda value: value.bound <= limit)
        return a and Value(template.format(a=a.text), a.shape, result)

    return write


def _binary(template: str, bound: Callable[[float, float], float]) -> Kind:
    """Return a kind for operands ``a`` and ``b`` of one shape, or one of them a scalar."""

    def write(w: Writer) -> Value | None:
        a = w.pick()
        assert a is not None
        b = w.pick(lambda v: v.shape in (a.shape, ()) or a.shape == ())
        if b is None or w.coin():
            b = Value(w.random.choice(["0.5", "2.0"]), (), 2.0)
        limit = bound(a.bound, b.bound)
        if limit > LARGEST_BOUND:
            return None
        return Value(template.format(a=a.text, b=b.text), a.shape or b.shape, limit)

    return write


def _broadcast(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) < 3 and prod(v.shape) <= LARGEST_SIZE // 2)
    if a is None:
        return None
    place = w.random.randint(0, len(a.shape))
    shape = (*a.shape[:place], 2, *a.shape[place:])
    dims = tuple(axis for axis in range(len(shape)) if axis != place)
    return Value(f"lax.broadcast_in_dim({a.text}, {shape}, {dims})", shape, a.bound)


def _reduce(name: str) -> Kind:
    def write(w: Writer) -> Value | None:
        a = w.pick(lambda v: bool(v.shape) and 0 not in v.shape)
        if a is None:
            return None
        axis = w.random.randint(0, len(a.shape) - 1)
        bound = a.bound * a.shape[axis] if name == "reduce_sum" else a.bound
        shape = (*a.shape[:axis], *a.shape[axis + 1 :])
        return Value(f"lax.{name}({a.text}, ({axis},))", shape, bound)

    return write


def _transpose(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) > 1)
    if a is None:
        return None
    order = tuple(w.random.sample(range(len(a.shape)), len(a.shape)))
    shape = tuple(a.shape[axis] for axis in order)
    return Value(f"lax.transpose({a.text}, {order})", shape, a.bound)


def _reshape(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) > 1)
    shape = a and (prod(a.shape),)
    return a and Value(f"lax.reshape({a.text}, {shape})", shape, a.bound)


def _reverse(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    return a and Value(f"lax.rev({a.text}, (0,))", a.shape, a.bound)


def _slice(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and v.shape[0] > 1)
    if a is None:
        return None
    stride = w.random.randint(1, 2)
    start = w.random.randint(0, a.shape[0] - 1)
    shape = (len(range(start, a.shape[0], stride)), *a.shape[1:])
    text = f"lax.slice_in_dim({a.text}, {start}, {a.shape[0]}, {stride})"
    return Value(text, shape, a.bound)


def _pad(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 1)
    if a is None:
        return None
    low, high, interior = w.random.choice([(1, 0, 0), (0, 2, 1), (-1, 1, 0)])
    size = low + high + a.shape[0] + max(0, a.shape[0] - 1) * interior
    text = f"lax.pad({a.text}, 0.5, (({low}, {high}, {interior}),))"
    return Value(text, (size,), max(a.bound, 0.5))


def _concatenate(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    b = w.pick(lambda v: len(v.shape) == len(a.shape) and v.shape[1:] == a.shape[1:])
    assert b is not None
    shape = (a.shape[0] + b.shape[0], *a.shape[1:])
    if prod(shape) > LARGEST_SIZE:
        return None
    return Value(f"lax.concatenate(({a.text}, {b.text}), 0)", shape, max(a.bound, b.bound))


def _select(w: Writer) -> Value | None:
    a = w.pick()
    assert a is not None
    b = w.pick(lambda v: v.shape in (a.shape, ()))
    if b is None:
        return None
    choose = "lax.select" if a.shape == b.shape else "jnp.where"
    return Value(f"{choose}({a.text} < 0.1, {a.text}, {b.text})", a.shape, max(a.bound, b.bound))


def _product(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    b = a and w.pick(lambda v: bool(v.shape) and v.shape[0] == a.shape[-1])
    if a is None or b is None:
        return None
    bound = a.bound * b.bound * a.shape[-1]
    shape = (*a.shape[:-1], *b.shape[1:])
    if bound > LARGEST_BOUND or prod(shape) > LARGEST_SIZE:
        return None
    dims = f"((({len(a.shape) - 1},), (0,)), ((), ()))"
    return Value(f"lax.dot_general({a.text}, {b.text}, {dims})", shape, bound)


def _dynamic_slice(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 1 and v.shape[0] > 1)
    if a is None:
        return None
    start = w.random.randint(0, 2)
    return Value(f"lax.dynamic_slice({a.text}, ({start},), (2,))", (2,), a.bound)


def _cumulative_sum(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and v.bound * v.shape[0] <= LARGEST_BOUND)
    return a and Value(f"lax.cumsum({a.text}, 0)", a.shape, a.bound * a.shape[0])


# ---------------------------------------------------------------- indexing and contraction


def _indices(w: Writer, size: int) -> str:
    """Return a list of indices, repeated, negative and out of order ones among them."""
    count = w.random.randint(1, 3)
    chosen = [w.random.randint(-size, size - 1) for _ in range(count)]
    return f"jnp.array({chosen})"


def _index(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape and v.shape[0]))
    if a is None:
        return None
    size, rest = a.shape[0], a.shape[1:]
    place = w.random.randint(-size, size - 1)
    kind = w.random.randint(0, 4)
    if kind == 0:
        return Value(f"{a.text}[{place}]", rest, a.bound)
    if kind == 1:
        return Value(f"{a.text}[::-1, None]", (size, 1, *rest), a.bound)
    if kind == 2:
        indices = _indices(w, size)
        count = indices.count(",") + 1
        if count * prod(rest) > LARGEST_SIZE:
            return None
        return Value(f"{a.text}[{indices}]", (count, *rest), a.bound)
    if kind == 3:
        text = f"{a.text}[jnp.floor(total(jnp.sin({a.text})) * 2.0).astype('int32')]"
        return Value(text, rest, a.bound)
    return Value(f"{a.text}[..., :1]", (*a.shape[:-1], 1), a.bound)


def _update(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape and v.shape[0]) and moderate(v))
    if a is None:
        return None
    b = w.pick(lambda v: v.shape in (a.shape[1:], ()) and moderate(v))
    if b is None:
        return None
    where = _indices(w, a.shape[0])
    method = w.random.choice(["add", "set"])
    if method == "set":
        # Of several values for one place it is not said which stays.
        where = str(w.random.randint(-a.shape[0], a.shape[0] - 1))
    text = f"{a.text}.at[{where}].{method}({b.text})"
    limit = a.bound + 3 * b.bound
    return Value(text, a.shape, limit) if limit <= LARGEST_BOUND else None


def _dynamic_update(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 1 and v.shape[0] > 1)
    b = a and w.pick(lambda v: v.shape == () or (len(v.shape) == 1 and v.shape[0] <= a.shape[0]))
    if a is None or b is None:
        return None
    start = f"jnp.floor(total(jnp.sin({a.text})) * 2.0).astype('int32')"
    update = b.text if b.shape else f"lax.reshape({b.text}, (1,))"
    return Value(
        f"lax.dynamic_update_slice({a.text}, {update}, ({start},))", a.shape, max(a.bound, b.bound)
    )


def _sort(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    return a and Value(f"jnp.sort({a.text}, axis=0)", a.shape, a.bound)


def _einsum(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 2)
    if a is None:
        return None
    rows, columns = a.shape
    template, shape, terms = w.random.choice(
        [
            ("ij,kj->ik", (rows, rows), columns),
            ("ij,ij->i", (rows,), columns),
            ("ij,ij->ji", (columns, rows), 1),
            ("ij,ik->", (), rows * columns * columns),
        ]
    )
    limit = a.bound * a.bound * terms
    if limit > LARGEST_BOUND or prod(shape) > LARGEST_SIZE:
        return None
    return Value(f"jnp.einsum('{template}', {a.text}, {a.text})", shape, limit)


def _running(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and v.bound * v.shape[0] <= LARGEST_BOUND)
    if a is None:
        return None
    name, operation = w.random.choice(
        [("cumsum", None), ("cumlogsumexp", None), ("", "add"), ("", "max")]
    )
    reverse = w.coin()
    bound = a.bound * a.shape[0] + 1.5
    if operation:
        return Value(
            f"lax.associative_scan(lax.{operation}, {a.text}, reverse={reverse})", a.shape, bound
        )
    return Value(f"lax.{name}({a.text}, 0, reverse={reverse})", a.shape, bound)


PLAIN: tuple[Kind, ...] = (
    _index,
    _update,
    _dynamic_update,
    _sort,
    _einsum,
    _running,
    _unary("jnp.where({a} > 0.2, lax.sqrt(jnp.where({a} > 0.2, {a}, 1.0)), {a})", LARGEST_BOUND),
    _unary("own_transpose({a})", LARGEST_BOUND, LARGEST_BOUND / 3),
    _unary("solved({a}, lax.sin({a}))", 1.0),
    _unary("root(lax.sin({a}))", 1.5),
    _unary("lax.sin({a})", 1.0),
    _unary("lax.mul({a}, lax.cos({a}))", LARGEST_BOUND / 2, LARGEST_BOUND / 2),
    _unary("lax.neg(lax.sin({a}))", 1.0),
    _unary("lax.tanh({a})", 1.0),
    _unary("lax.exp(lax.sin({a}))", 2.8),
    _unary("lax.log(lax.add(lax.square({a}), 1.5))", 6.0),
    _unary("lax.integer_pow({a}, 3)", LARGEST_BOUND, 2.7),
    _unary("lax.sqrt(lax.add(lax.mul({a}, {a}), 1.0))", LARGEST_BOUND + 1),
    _unary("lax.abs({a})", LARGEST_BOUND),
    _binary("{a} + {b}", lambda a, b: a + b),
    _binary("{a} - {b}", lambda a, b: a + b),
    _binary("{a} * {b}", lambda a, b: a * b),
    _binary("{a} / ({b} * {b} + 1.5)", lambda a, b: a),
    _binary("jnp.maximum({a}, {b})", max),
    _binary("jnp.minimum({a}, {b})", max),
    _broadcast,
    _reduce("reduce_sum"),
    _reduce("reduce_max"),
    _transpose,
    _reshape,
    _reverse,
    _slice,
    _pad,
    _concatenate,
    _select,
    _product,
    _dynamic_slice,
    _cumulative_sum,
)


@st.composite
def programs(
    draw: Callable[[Any], Any], most: int = 4, nested: tuple[Kind, ...] = ANY_ORDER
) -> Program:
    """Draw a program of at most ``most`` statements at its top level."""
    random = draw(st.randoms(use_true_random=False))
    shapes = tuple(random.choice(SHAPES) for _ in range(random.randint(1, 2)))
    names = ["x", "y"][: len(shapes)]
    scope = [Value(n, s, 1.0) for n, s in zip(names, shapes, strict=True)]
    writer = Writer(random, PLAIN, nested, scope)
    for _ in range(random.randint(min(2, most), most)):
        writer.statement()
    return Program(f"def f({', '.join(names)}):\n{writer.finish()}", shapes)

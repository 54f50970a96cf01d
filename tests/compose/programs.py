"""Random small programs, written as Python source.

A program is the text of a function of float arrays, so a failing case is read, run and shrunk as
the ten lines it is.  Operations are taken from ``jxkernel.ops`` by name: a template whose
operations do not exist yet is left out.  Every value is smooth almost everywhere and of moderate
size, so that finite differences can judge derivatives; ``bound`` is a bound on its magnitude.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from hypothesis import strategies as st

from tests.compose.vocabulary import NAMES

Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

SHAPES: tuple[Shape, ...] = ((), (3,), (2, 3))
LARGEST_BOUND = 20.0
LARGEST_SIZE = 24
DEEPEST = 3


@dataclass(frozen=True)
class Value:
    """A variable or expression of a program: its text, shape and magnitude."""

    text: str
    shape: Shape
    bound: float


@dataclass(frozen=True)
class Program:
    """A function ``f`` of float arrays as source text."""

    source: str
    shapes: tuple[Shape, ...]

    def __repr__(self) -> str:
        return f"\n# arguments of shape {', '.join(map(str, self.shapes))}\n{self.source}\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print as the program where hypothesis shows a failing case."""
        printer.text(repr(self))

    def function(self) -> Callable[..., Any]:
        """Return the function that the text defines."""
        scope = dict(NAMES)
        exec(compile(self.source, "<program>", "exec"), scope)
        return scope["f"]


@dataclass
class Writer:
    """The function being written: its lines and the variables that may be used."""

    draw: Draw
    nested: tuple["Kind", ...]
    lines: list[str] = field(default_factory=list)
    scope: list[Value] = field(default_factory=list)
    depth: int = 0
    names: list[int] = field(default_factory=lambda: [0])

    def fresh(self, prefix: str) -> str:
        self.names[0] += 1
        return f"{prefix}{self.names[0]}"

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """Choose a variable that fits, most often the newest: little is computed in vain."""
        values = [value for value in reversed(self.scope) if fits(value)]
        if not values or self.draw(st.integers(0, 3)):
            return values[0] if values else None
        return self.draw(st.sampled_from(values))

    def assign(self, value: Value) -> None:
        """Write a line that names an expression."""
        name = self.fresh("v")
        self.lines.append(f"{'    ' * (self.depth + 1)}{name} = {value.text}")
        self.scope.append(Value(name, value.shape, value.bound))

    def function(
        self,
        params: Sequence[tuple[Shape, float]],
        *,
        scalar: bool = False,
        closed: bool = False,
    ) -> Value:
        """Write a nested function; return its name with the shape and bound of its result.

        It may use the variables around it, unless it is to be ``closed``.
        """
        name = self.fresh("g")
        names = [self.fresh("u") for _ in params]
        scope = [] if closed else list(self.scope)
        inner = Writer(self.draw, self.nested, [], scope, self.depth + 1, self.names)
        inner.scope += [Value(n, s, b) for n, (s, b) in zip(names, params, strict=True)]
        for _ in range(self.draw(st.integers(1, 2))):
            inner.statement()
        result = inner.scope[-1]
        if scalar:
            result = Value(f"total({result.text})", (), result.bound * max(1, prod(result.shape)))
        indent = "    " * (self.depth + 1)
        self.lines.append(f"{indent}def {name}({', '.join(names)}):")
        self.lines += [*inner.lines, f"{indent}    return {result.text}"]
        return Value(name, result.shape, result.bound)

    def statement(self) -> None:
        """Write one statement of a kind that fits what there is."""
        nested = self.depth < DEEPEST and self.draw(st.booleans())
        kinds = [kind for kind in (self.nested if nested else PLAIN) if kind.available()]
        value = self.draw(st.sampled_from(kinds)).write(self)
        if value is None:
            value = Value(f"sin({self.scope[-1].text})", self.scope[-1].shape, 1.0)
        self.assign(value)


@dataclass(frozen=True)
class Kind:
    """A kind of statement: what it calls and how it is written (None where nothing fits)."""

    needs: tuple[str, ...]
    write: Callable[[Writer], Value | None]

    def available(self) -> bool:
        return all(name in NAMES for name in self.needs)


def _moderate(value: Value) -> bool:
    return value.bound <= LARGEST_BOUND / 2


# ---------------------------------------------------------------- plain statements


def _unary(template: str, result: float, limit: float = LARGEST_BOUND) -> Kind:
    """Return a kind for ``template`` with operand ``a``, bounded by ``result``."""

    def write(w: Writer) -> Value | None:
        a = w.pick(lambda value: value.bound <= limit)
        return a and Value(template.format(a=a.text), a.shape, result)

    return Kind(_called(template), write)


def _called(template: str) -> tuple[str, ...]:
    words = "".join(c if c.isalnum() or c == "_" else " " if c != "(" else "( " for c in template)
    return tuple(word[:-1] for word in words.split() if word.endswith("("))


def _binary(template: str, bound: Callable[[float, float], float]) -> Kind:
    """Return a kind for operands ``a`` and ``b`` of one shape, or one of them a scalar."""

    def write(w: Writer) -> Value | None:
        a = w.pick()
        assert a is not None
        b = w.pick(lambda v: v.shape in (a.shape, ()) or a.shape == ())
        if b is None or w.draw(st.booleans()):
            b = Value(w.draw(st.sampled_from(["0.5", "2.0"])), (), 2.0)
        limit = bound(a.bound, b.bound)
        if limit > LARGEST_BOUND:
            return None
        return Value(template.format(a=a.text, b=b.text), a.shape or b.shape, limit)

    return Kind(_called(template), write)


def _broadcast(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) < 3 and prod(v.shape) <= LARGEST_SIZE // 2)
    if a is None:
        return None
    place = w.draw(st.integers(0, len(a.shape)))
    shape = (*a.shape[:place], 2, *a.shape[place:])
    dims = tuple(axis for axis in range(len(shape)) if axis != place)
    return Value(f"broadcast_in_dim({a.text}, {shape}, {dims})", shape, a.bound)


def _reduce(name: str) -> Kind:
    def write(w: Writer) -> Value | None:
        a = w.pick(lambda v: bool(v.shape) and 0 not in v.shape)
        if a is None:
            return None
        axis = w.draw(st.integers(0, len(a.shape) - 1))
        bound = a.bound * a.shape[axis] if name == "reduce_sum" else a.bound
        shape = (*a.shape[:axis], *a.shape[axis + 1 :])
        return Value(f"{name}({a.text}, ({axis},))", shape, bound)

    return Kind((name,), write)


def _transpose(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) > 1)
    if a is None:
        return None
    order = tuple(w.draw(st.permutations(range(len(a.shape)))))
    shape = tuple(a.shape[axis] for axis in order)
    return Value(f"transpose({a.text}, {order})", shape, a.bound)


def _reshape(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) > 1)
    shape = a and (prod(a.shape),)
    return a and Value(f"reshape({a.text}, {shape})", shape, a.bound)


def _reverse(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    return a and Value(f"rev({a.text}, (0,))", a.shape, a.bound)


def _slice(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and v.shape[0] > 1)
    if a is None:
        return None
    stride = w.draw(st.integers(1, 2))
    start = w.draw(st.integers(0, a.shape[0] - 1))
    shape = (len(range(start, a.shape[0], stride)), *a.shape[1:])
    text = f"slice_in_dim({a.text}, {start}, {a.shape[0]}, {stride})"
    return Value(text, shape, a.bound)


def _pad(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 1)
    if a is None:
        return None
    low, high, interior = w.draw(st.sampled_from([(1, 0, 0), (0, 2, 1), (-1, 1, 0)]))
    size = low + high + a.shape[0] + max(0, a.shape[0] - 1) * interior
    text = f"pad({a.text}, 0.5, (({low}, {high}, {interior}),))"
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
    return Value(f"concatenate(({a.text}, {b.text}), 0)", shape, max(a.bound, b.bound))


def _select(w: Writer) -> Value | None:
    a = w.pick()
    assert a is not None
    b = w.pick(lambda v: v.shape in (a.shape, ()))
    if b is None:
        return None
    return Value(f"select(lt({a.text}, 0.1), {a.text}, {b.text})", a.shape, max(a.bound, b.bound))


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
    return Value(f"dot_general({a.text}, {b.text}, {dims})", shape, bound)


def _dynamic_slice(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 1 and v.shape[0] > 1)
    if a is None:
        return None
    start = w.draw(st.integers(0, 2))
    return Value(f"dynamic_slice({a.text}, ({start},), (2,))", (2,), a.bound)


def _cumulative_sum(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and v.bound * v.shape[0] <= LARGEST_BOUND)
    return a and Value(f"cumsum({a.text}, 0)", a.shape, a.bound * a.shape[0])


# ---------------------------------------------------------------- indexing and contraction


def _indices(w: Writer, size: int) -> str:
    """Return a list of indices, repeated, negative and out of order ones among them."""
    count = w.draw(st.integers(1, 3))
    chosen = [w.draw(st.integers(-size, size - 1)) for _ in range(count)]
    return f"jnp.array({chosen})"


def _index(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    size, rest = a.shape[0], a.shape[1:]
    place = w.draw(st.integers(-size, size - 1))
    kind = w.draw(st.integers(0, 4))
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
        text = f"{a.text}[convert_element_type(floor(mul(total(sin({a.text})), 2.0)), 'int32')]"
        return Value(text, rest, a.bound)
    return Value(f"{a.text}[..., :1]", (*a.shape[:-1], 1), a.bound)


def _update(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and _moderate(v))
    if a is None:
        return None
    b = w.pick(lambda v: v.shape in (a.shape[1:], ()) and _moderate(v))
    if b is None:
        return None
    where = _indices(w, a.shape[0])
    method = w.draw(st.sampled_from(["add", "set"]))
    if method == "set":
        # Of several values for one place it is not said which stays.
        where = str(w.draw(st.integers(-a.shape[0], a.shape[0] - 1)))
    text = f"{a.text}.at[{where}].{method}({b.text})"
    limit = a.bound + 3 * b.bound
    return Value(text, a.shape, limit) if limit <= LARGEST_BOUND else None


def _dynamic_update(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 1 and v.shape[0] > 1)
    b = a and w.pick(lambda v: v.shape == () or (len(v.shape) == 1 and v.shape[0] <= a.shape[0]))
    if a is None or b is None:
        return None
    start = f"convert_element_type(floor(mul(total(sin({a.text})), 2.0)), 'int32')"
    update = b.text if b.shape else f"reshape({b.text}, (1,))"
    return Value(
        f"dynamic_update_slice({a.text}, {update}, ({start},))", a.shape, max(a.bound, b.bound)
    )


def _sort(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    return a and Value(f"jnp.sort({a.text}, axis=0)", a.shape, a.bound)


def _einsum(w: Writer) -> Value | None:
    a = w.pick(lambda v: len(v.shape) == 2)
    if a is None:
        return None
    rows, columns = a.shape
    template, shape, terms = w.draw(
        st.sampled_from(
            [
                ("ij,kj->ik", (rows, rows), columns),
                ("ij,ij->i", (rows,), columns),
                ("ij,ij->ji", (columns, rows), 1),
                ("ij,ik->", (), rows * columns * columns),
            ]
        )
    )
    limit = a.bound * a.bound * terms
    if limit > LARGEST_BOUND or prod(shape) > LARGEST_SIZE:
        return None
    return Value(f"jnp.einsum('{template}', {a.text}, {a.text})", shape, limit)


def _running(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and v.bound * v.shape[0] <= LARGEST_BOUND)
    if a is None:
        return None
    name, operation = w.draw(
        st.sampled_from([("cumsum", None), ("cumlogsumexp", None), ("", "add"), ("", "max")])
    )
    reverse = w.draw(st.booleans())
    bound = a.bound * a.shape[0] + 1.5
    if operation:
        return Value(f"associative_scan({operation}, {a.text}, reverse={reverse})", a.shape, bound)
    return Value(f"{name}({a.text}, 0, reverse={reverse})", a.shape, bound)


PLAIN: tuple[Kind, ...] = (
    Kind(("gather",), _index),
    Kind(("scatter",), _update),
    Kind(("dynamic_update_slice", "floor", "convert_element_type"), _dynamic_update),
    Kind(("sort",), _sort),
    Kind(("einsum",), _einsum),
    Kind(("associative_scan", "cumlogsumexp"), _running),
    _unary("where({a} > 0.2, sqrt(where({a} > 0.2, {a}, 1.0)), {a})", LARGEST_BOUND),
    _unary("own_transpose({a})", LARGEST_BOUND, LARGEST_BOUND / 3),
    _unary("solved({a}, sin({a}))", 1.0),
    _unary("root(sin({a}))", 1.5),
    _unary("sin({a})", 1.0),
    _unary("mul({a}, cos({a}))", LARGEST_BOUND / 2, LARGEST_BOUND / 2),
    _unary("neg(sin({a}))", 1.0),
    _unary("tanh({a})", 1.0),
    _unary("exp(sin({a}))", 2.8),
    _unary("log(add(square({a}), 1.5))", 6.0),
    _unary("integer_pow({a}, 3)", LARGEST_BOUND, 2.7),
    _unary("sqrt(add(mul({a}, {a}), 1.0))", LARGEST_BOUND + 1),
    _unary("abs({a})", LARGEST_BOUND),
    _binary("add({a}, {b})", lambda a, b: a + b),
    _binary("sub({a}, {b})", lambda a, b: a + b),
    _binary("mul({a}, {b})", lambda a, b: a * b),
    _binary("div({a}, add(mul({b}, {b}), 1.5))", lambda a, b: a),
    _binary("max({a}, {b})", max),
    _binary("min({a}, {b})", max),
    Kind(("broadcast_in_dim",), _broadcast),
    _reduce("reduce_sum"),
    _reduce("reduce_max"),
    Kind(("transpose",), _transpose),
    Kind(("reshape",), _reshape),
    Kind(("rev",), _reverse),
    Kind(("slice_in_dim",), _slice),
    Kind(("pad",), _pad),
    Kind(("concatenate",), _concatenate),
    Kind(("select", "lt"), _select),
    Kind(("dot_general",), _product),
    Kind(("dynamic_slice",), _dynamic_slice),
    Kind(("cumsum",), _cumulative_sum),
)

# ---------------------------------------------------------------- transforms inside programs


def _called_with(
    template: str, needs: str, *, derivative: bool = False, closed: bool = False
) -> Kind:
    """Return a kind that calls a nested function ``g`` on ``a``, under what ``template`` says."""

    def write(w: Writer) -> Value | None:
        a = w.pick(_moderate)
        if a is None:
            return None
        g = w.function([(a.shape, a.bound)], closed=closed)
        text = template.format(g=g.text, a=a.text)
        bound = LARGEST_BOUND / 4 if derivative else g.bound
        return Value(_tamed(text) if derivative else text, g.shape, bound)

    return Kind((needs,), write)


def _tamed(text: str) -> str:
    """Return an expression with the magnitude of derivatives brought back to a moderate size."""
    return f"sin({text})"


def _grad(w: Writer) -> Value | None:
    a = w.pick(_moderate)
    if a is None:
        return None
    g = w.function([(a.shape, a.bound)], scalar=True)
    return Value(_tamed(f"grad({g.text})({a.text})"), a.shape, 1.0)


def _vjp(w: Writer) -> Value | None:
    a = w.pick(_moderate)
    if a is None:
        return None
    g = w.function([(a.shape, a.bound)])
    text = f"vjp({g.text}, {a.text})[1](sin({g.text}({a.text})))[0]"
    return Value(_tamed(text), a.shape, 1.0)


def _vmap(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    axis = w.draw(st.integers(0, len(a.shape) - 1))
    g = w.function([((*a.shape[:axis], *a.shape[axis + 1 :]), a.bound)])
    place = w.draw(st.integers(0, len(g.shape)))
    shape = (*g.shape[:place], a.shape[axis], *g.shape[place:])
    text = f"vmap({g.text}, in_axes={axis}, out_axes={place})({a.text})"
    return Value(text, shape, g.bound)


def _vmap_of_two(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    b = w.pick()
    if a is None or b is None:
        return None
    g = w.function([(a.shape[1:], a.bound), (b.shape, b.bound)])
    text = f"vmap({g.text}, in_axes=(0, None))({a.text}, {b.text})"
    return Value(text, (a.shape[0], *g.shape), g.bound)


def _cond(w: Writer) -> Value | None:
    a = w.pick(_moderate)
    if a is None:
        return None
    g = w.function([(a.shape, a.bound)])
    condition = w.draw(st.sampled_from([f"lt(total({a.text}), 0.1)", "True"]))
    text = f"cond({condition}, {g.text}, lambda u: cos({g.text}(u)), {a.text})"
    return Value(text, g.shape, max(g.bound, 1.0))


def _switch(w: Writer) -> Value | None:
    a = w.pick(_moderate)
    if a is None:
        return None
    g = w.function([(a.shape, a.bound)])
    index = f"convert_element_type(floor(mul(total(sin({a.text})), 2.0)), 'int32')"
    branches = f"({g.text}, lambda u: sin({g.text}(u)), lambda u: neg({g.text}(u)))"
    return Value(f"switch({index}, {branches}, {a.text})", g.shape, max(g.bound, 1.0))


def _scan(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and _moderate(v))
    b = w.pick(_moderate)
    if a is None or b is None:
        return None
    g = w.function([(b.shape, max(b.bound, 1.0)), (a.shape[1:], a.bound)])
    options = w.draw(st.sampled_from(["", ", reverse=True", ", unroll=2", ", unroll=True"]))
    body = f"lambda c, e: (sin(add(c, total({g.text}(c, e)))), {g.text}(c, e))"
    text = f"scan({body}, {b.text}, {a.text}{options})"
    if w.draw(st.booleans()):
        return Value(f"{text}[0]", b.shape, 1.0)
    return Value(f"{text}[1]", (a.shape[0], *g.shape), g.bound)


def _map(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    g = w.function([(a.shape[1:], a.bound)])
    options = w.draw(st.sampled_from(["", ", batch_size=2"]))
    return Value(f"map({g.text}, {a.text}{options})", (a.shape[0], *g.shape), g.bound)


def _repeated(template: str, needs: str) -> Kind:
    """Return a kind for a loop of ``step`` on ``a``, whose shape it keeps."""

    def write(w: Writer) -> Value | None:
        a = w.pick(_moderate)
        if a is None:
            return None
        g = w.function([(a.shape, max(a.bound, 1.0))])
        step = f"sin(add({{c}}, total({g.text}({{c}}))))"
        return Value(template.format(a=a.text, step=step), a.shape, max(a.bound, 1.0))

    def fill(w: Writer) -> Value | None:
        value = write(w)
        return value and Value(value.text.replace("{c}", "c"), value.shape, value.bound)

    return Kind((needs,), fill)


FORWARD: tuple[Kind, ...] = (
    _called_with("jvp({g}, ({a},), (cos({a}),))[1]", "jvp", derivative=True),
    _called_with("jvp({g}, ({a},), (cos({a}),))[0]", "jvp"),
    _called_with("linearize({g}, {a})[1](cos({a}))", "linearize", derivative=True),
)
REVERSE: tuple[Kind, ...] = (Kind(("grad",), _grad), Kind(("vjp",), _vjp))
BOTH: tuple[Kind, ...] = (
    _called_with("jit({g})({a})", "jit"),
    Kind(("vmap",), _vmap),
    Kind(("vmap",), _vmap_of_two),
    _called_with("checkpoint({g})({a})", "checkpoint"),
    _called_with("own_jvp({g})({a})", "own_jvp", closed=True),
    _called_with("own_vmap({g})({a})", "own_vmap", closed=True),
    _called_with("checkpoint(jit({g}), prevent_cse=False)({a})", "checkpoint"),
    Kind(("map",), _map),
    Kind(("cond", "lt", "cos"), _cond),
    Kind(("switch", "floor", "convert_element_type"), _switch),
    Kind(("scan",), _scan),
    _repeated("fori_loop(0, 3, lambda i, c: {step}, {a})", "fori_loop"),
)
WHILE = _repeated(
    "while_loop(lambda n: lt(n[0], 2.0), lambda n: (add(n[0], 0.7), (lambda c: {step})(n[1])), "
    "(sin(total({a})), {a}))[1]",
    "while_loop",
)
OWN_VJP = _called_with("own_vjp({g})({a})", "own_vjp", closed=True)

ANY_ORDER = (*BOTH, *FORWARD, *REVERSE)
"""Kinds whose derivatives exist both ways, to any order."""
FORWARD_ONLY = (*BOTH, *FORWARD, WHILE)
REVERSE_ONLY = (*BOTH, *REVERSE, OWN_VJP)


@st.composite
def programs(draw: Draw, most: int = 4, nested: tuple[Kind, ...] = ANY_ORDER) -> Program:
    """Draw a program of at most ``most`` statements at its top level."""
    shapes = tuple(draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=2)))
    names = ["x", "y"][: len(shapes)]
    scope = [Value(n, s, 1.0) for n, s in zip(names, shapes, strict=True)]
    writer = Writer(draw, nested, scope=scope)
    for _ in range(draw(st.integers(min(2, most), most))):
        writer.statement()
    body = "\n".join([*writer.lines, f"    return {writer.scope[-1].text}"])
    return Program(f"def f({', '.join(names)}):\n{body}", shapes)

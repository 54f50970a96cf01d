"""Statements that hold functions: transforms, loops, branches and rules of a program's own.

They fit programs of every kind of value; what is differentiated is floating.
"""

from tests.compose.writing import Kind, Value, Writer, moderate


def _smooth(value: Value) -> bool:
    return value.kind == "f" and moderate(value)


def _called_with(template: str, *, derivative: bool = False, closed: bool = False) -> Kind:
    """Return a kind that calls a nested function ``g`` on ``a``, under what ``template`` says."""

    def write(w: Writer) -> Value | None:
        a = w.pick(_smooth if derivative else moderate)
        if a is None:
            return None
        g = w.function([a], closed=closed, smooth=derivative)
        text = template.format(g=g.text, a=a.text)
        return g.called(_tamed(text), bound=1.0) if derivative else g.called(text)

    return write


def _tamed(text: str) -> str:
    """Return an expression with the magnitude of derivatives brought back to a moderate size."""
    return f"jnp.sin({text})"


def _grad(w: Writer) -> Value | None:
    a = w.pick(_smooth)
    if a is None:
        return None
    g = w.function([a], scalar=True)
    return Value(_tamed(f"jax.grad({g.text})({a.text})"), a.shape, 1.0)


def _vjp(w: Writer) -> Value | None:
    a = w.pick(_smooth)
    if a is None:
        return None
    g = w.function([a], smooth=True)
    text = f"jax.vjp({g.text}, {a.text})[1](jnp.sin({g.text}({a.text})))[0]"
    return Value(_tamed(text), a.shape, 1.0)


def _vmap(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    axis = w.random.randint(0, len(a.shape) - 1)
    g = w.function([a.row(axis)])
    place = w.random.randint(0, len(g.shape))
    shape = (*g.shape[:place], a.shape[axis], *g.shape[place:])
    text = f"jax.vmap({g.text}, in_axes={axis}, out_axes={place})({a.text})"
    return g.called(text, shape=shape)


def _vmap_of_two(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    b = w.pick()
    if a is None or b is None:
        return None
    g = w.function([a.row(), b])
    text = f"jax.vmap({g.text}, in_axes=(0, None))({a.text}, {b.text})"
    return g.called(text, shape=(a.shape[0], *g.shape))


def _altered(g: Value) -> str:
    """Return a function of the result's type that gives other values."""
    sign = {"b": "~", "f": "0.5 * ", "c": "0.5 * "}.get(g.kind, "3 * ")
    return f"lambda u: {sign}{g.text}(u)"


def _cond(w: Writer) -> Value | None:
    a = w.pick(moderate)
    if a is None:
        return None
    g = w.function([a])
    condition = w.random.choice([f"jnp.real(total({a.text})) < 0.1", "True"])
    return g.called(f"lax.cond({condition}, {g.text}, {_altered(g)}, {a.text})")


def _switch(w: Writer) -> Value | None:
    a = w.pick(_smooth)
    if a is None:
        return None
    g = w.function([a])
    index = f"jnp.floor(total(jnp.sin({a.text})) * 2.0).astype('int32')"
    return g.called(f"lax.switch({index}, ({g.text}, {_altered(g)}, {g.text}), {a.text})")


def _scan(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape) and moderate(v))
    b = w.pick(moderate)
    if a is None or b is None:
        return None
    g = w.function([b.called("", bound=max(b.bound, 1.0)), a.row()])
    options = w.random.choice(["", ", reverse=True", ", unroll=2", ", unroll=True"])
    body = f"lambda c, e: (jnp.sin(c + total({g.text}(c, e))).astype(c.dtype), {g.text}(c, e))"
    text = f"lax.scan({body}, {b.text}, {a.text}{options})"
    if w.coin():
        return b.called(f"{text}[0]", bound=1.0)
    return g.called(f"{text}[1]", shape=(a.shape[0], *g.shape))


def _map(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    g = w.function([a.row()])
    options = w.random.choice(["", ", batch_size=2"])
    return g.called(f"lax.map({g.text}, {a.text}{options})", shape=(a.shape[0], *g.shape))


def _repeated(template: str) -> Kind:
    """Return a kind for a loop that starts at ``a`` and keeps its type; ``{step}`` is of ``c``."""

    def write(w: Writer) -> Value | None:
        a = w.pick(_smooth)
        if a is None:
            return None
        bound = max(a.bound, 1.0)
        g = w.function([a.called("", bound=bound)], smooth=True)
        step = f"jnp.sin(c + total({g.text}(c))).astype(c.dtype)"
        return a.called(template.format(a=a.text, step=step), bound=bound)

    return write


def _of_complex(template: str) -> Kind:
    """Return a kind that differentiates ``g`` by a complex value; its result is made complex."""

    def write(w: Writer) -> Value | None:
        a = w.pick(lambda v: v.kind == "c" and moderate(v))
        if a is None:
            return None
        g = w.function([a])
        whole = f"lambda u: {g.text}(u) * jnp.array(1 + 0.5j, {a.text}.dtype)"
        text = template.format(g=f"({whole})", total=f"lambda u: total(({whole})(u))", a=a.text)
        return a.called(_tamed(text), bound=1.0)

    return write


COMPLEX: tuple[Kind, ...] = (
    _of_complex("jax.grad({total}, holomorphic=True)({a})"),
    _of_complex("jax.vjp({g}, {a})[1]({g}({a}))[0]"),
    _of_complex("jax.jvp({total}, ({a},), (jnp.cos({a}),))[1] * {a}"),
)
"""Derivatives by complex numbers, holomorphic or not."""

FORWARD: tuple[Kind, ...] = (
    _called_with("jax.jvp({g}, ({a},), (jnp.cos({a}),))[1]", derivative=True),
    _called_with("jax.jvp({g}, ({a},), (jnp.cos({a}),))[0]"),
    _called_with("jax.linearize({g}, {a})[1](jnp.cos({a}))", derivative=True),
)
REVERSE: tuple[Kind, ...] = (_grad, _vjp)
BOTH: tuple[Kind, ...] = (
    _called_with("jax.jit({g})({a})"),
    _vmap,
    _vmap_of_two,
    _called_with("jax.checkpoint({g})({a})"),
    _called_with("own_jvp({g})({a})", closed=True),
    _called_with("own_vmap({g})({a})", closed=True),
    _called_with("jax.checkpoint(jax.jit({g}), prevent_cse=False)({a})"),
    _map,
    _cond,
    _switch,
    _scan,
    _repeated("lax.fori_loop(0, 3, lambda i, c: {step}, {a})"),
)
WHILE = _repeated(
    "lax.while_loop(lambda n: n[0] < 2.0, lambda n: (n[0] + 0.7, (lambda c: {step})(n[1])), "
    "(jnp.sin(total({a})), {a}))[1]"
)
BOXED = (
    *(
        _repeated(f"{name}(lambda c: {{step}}, {{a}})")
        for name in (
            "boxed",
            "boxed_in_a_loop",
            "boxed_in_a_scan",
            "boxed_in_a_call",
            "boxed_in_a_branch",
        )
    ),
    _repeated("boxed_in_parts(lambda c: {step}, jnp.atleast_1d({a})).reshape(jnp.shape({a}))"),
)
"""Steps by way of references."""
OWN_VJP = _called_with("own_vjp({g})({a})", closed=True)

ANY_ORDER = (*BOTH, *FORWARD, *REVERSE)
"""Kinds whose derivatives exist both ways, to any order."""
FORWARD_ONLY = (*BOTH, *FORWARD, WHILE)
REVERSE_ONLY = (*BOTH, *REVERSE, OWN_VJP)

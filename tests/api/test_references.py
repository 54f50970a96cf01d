"""References: written in place, and worth the same as the program without them."""

import copy
import re
import threading

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import RefError

X = np.float32([0.5, -1.0, 2.0])


def by_parts(x):
    """x² + x, with x₀ + 3 in front, by way of a reference."""
    ref = jx.new_ref(x)
    ref[...] = ref[...] * x
    ref.addupdate(x)
    ref[0] += 3.0
    return jx.freeze(ref)


def by_scan(x):
    ref = jx.new_ref(jnp.zeros(()))

    def turn(carry, element):
        ref[...] = ref[...] * 2.0 + element
        return carry + 1, ref[...]

    count, rows = lax.scan(turn, 0, x)
    return rows * count + ref[...]


def by_scan_purely(x):
    def turn(carry, element):
        total = carry[1] * 2.0 + element
        return (carry[0] + 1, total), total

    (count, total), rows = lax.scan(turn, (0, jnp.zeros(())), x)
    return rows * count + total


def by_range(x):
    ref = jx.new_ref(x)
    lax.fori_loop(0, 3, lambda i, val: (ref.__setitem__(i, ref[i] * ref[i - 1]), val)[1], 0)
    return ref[...]


def by_branches(x):
    ref = jx.new_ref(x)

    def double(factor):
        ref[1] = ref[1] * factor

    lax.cond(x[0] > 0, double, lambda factor: None, x[2])
    lax.switch(1, [lambda: None, lambda: ref.addupdate(2.0, 2), lambda: None])
    return ref[...]


def by_checkpoint(x):
    ref = jx.new_ref(x)

    @jx.checkpoint
    def inner(y, *, scale):
        ref[...] = jnp.sin(ref[...]) * y
        return scale * y

    return inner(x, scale=x[0]) + ref[...]


def by_nested_jits(x):
    ref = jx.new_ref(x)

    @jx.jit
    def outer(factor):
        @jx.jit
        def inner():
            ref[...] = ref[...] * factor

        inner()
        lax.fori_loop(0, 2, lambda i, _: ref.addupdate(factor, i), None)

    outer(x[2])
    return ref[...]


TWINS = {
    "parts": (by_parts, lambda x: (x * x + x).at[0].add(3.0)),
    "scan": (by_scan, by_scan_purely),
    "range": (
        by_range,
        lambda x: jnp.stack([x[0] * x[2], x[1] * x[0] * x[2], x[2] * x[1] * x[0] * x[2]]),
    ),
    "branches": (
        by_branches,
        lambda x: jnp.stack([x[0], jnp.where(x[0] > 0, x[1] * x[2], x[1]), x[2] + 2.0]),
    ),
    "checkpoint": (by_checkpoint, lambda x: x[0] * x + jnp.sin(x) * x),
    "nested jits": (by_nested_jits, lambda x: (x * x[2]).at[:2].add(x[2])),
}
TRANSFORMS = {
    "eagerly": lambda f: f(jnp.asarray(X)),
    "jit": lambda f: jx.jit(f)(X),
    "vmap": lambda f: jx.vmap(f)(jnp.stack([X, -X, 2 * X])),
    "jvp": lambda f: jx.jvp(f, (X,), (X[::-1].copy(),)),
    "jacrev": lambda f: jx.jacrev(f)(X),
    "jacfwd of jacrev": lambda f: jx.jacfwd(jx.jacrev(f))(X),
    "jit of grad of vmap": lambda f: jx.jit(jx.grad(lambda x: jx.vmap(f)(x).sum()))(
        jnp.stack([X, -X])
    ),
    "linearize": lambda f: jx.linearize(f, X)[1](X),
    "scan": lambda f: lax.scan(lambda c, x: (f(c), f(x)), X, jnp.stack([X, -X])),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(("function", "twin"), TWINS.values(), ids=TWINS)
def test_functions_that_write_are_worth_their_pure_twins(transform, function, twin):
    for found, expected in zip(
        jx.tree.leaves(transform(function)), jx.tree.leaves(transform(twin)), strict=True
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


INDICES = [..., (), 1, -1, slice(1, None), slice(None, None, 2), (None, ...), np.array([2, 0])]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_parts_are_those_of_arrays(index):
    ref, values = jx.new_ref(X), X.copy()
    np.testing.assert_array_equal(ref[index], values[index])
    ref[index] = jnp.asarray(values[index] * 3)
    values[index] = values[index] * 3
    ref[index] += jnp.ones(np.shape(values[index]))
    values[index] += 1
    np.testing.assert_array_equal(ref[...], values)


def test_the_functions_of_the_module_are_the_methods():
    ref = jx.ref.new_ref(jnp.zeros(3))
    jx.ref.set(ref, slice(0, 2), jnp.ones(2))
    assert jx.ref.swap(ref, 0, 5.0).item() == 1.0
    jx.ref.addupdate(ref, np.array([2, 2]), jnp.ones(2))
    assert jx.ref.get(ref).tolist() == [5.0, 1.0, 2.0]
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), np.float32, 1, 3, 3)
    assert repr(ref) == "Ref([5., 1., 2.], dtype=float32)"
    assert repr(ref.aval) == "Ref{f32[3]}"
    assert isinstance(ref, jx.Ref)
    assert [x.item() for x in ref] == [5.0, 1.0, 2.0]


def test_none_is_the_whole():
    ref = jx.new_ref(jnp.arange(3))
    assert ref[None].shape == jx.ref.get(ref, None).shape == (3,)
    ref[None] = jnp.zeros(3, int)
    jx.jit(lambda: jx.ref.addupdate(ref, None, jnp.ones(3, int)))()
    assert jx.ref.swap(ref, None, jnp.arange(3)).tolist() == [1, 1, 1]
    assert ref.at[None][...].tolist() == [0, 1, 2]


def test_what_a_reference_was_made_of_stays_as_it_is():
    ours, theirs = jnp.zeros(2), np.zeros(2, np.float32)
    for first in (ours, theirs):
        ref = jx.new_ref(first)
        ref[0] = 5.0
        assert first.tolist() == [0.0, 0.0]
    theirs[1] = 7.0
    assert ref[...].tolist() == [5.0, 0.0]


def test_a_jitted_function_writes_to_the_references_it_is_given():
    traces = []

    @jx.jit
    def step(state, x, *, scale):
        traces.append(x)
        state["w"][...] = state["w"][...] + x * scale
        return state["b"][0] * x

    for count in range(3):
        state = {"w": jx.new_ref(jnp.zeros(())), "b": jx.new_ref(jnp.full(2, count, float))}
        assert step(state, 2.0, scale=3.0).item() == 2.0 * count
        assert step(state, 1.0, scale=3.0).item() == count
        assert state["w"][...].item() == 9.0
        assert state["b"][...].tolist() == [count, count]
    assert len(traces) == 1


def test_a_jitted_function_reads_what_a_reference_of_outside_holds_now():
    factor, calls = jx.new_ref(2.0), jx.new_ref(0)

    @jx.jit
    def scaled(x):
        calls[...] += 1
        return x * factor[...]

    assert scaled(3.0).item() == 6.0
    factor[...] = 5.0
    assert scaled(3.0).item() == 15.0
    assert calls[...].item() == 2


def test_static_and_donated_arguments_go_beside_references():
    @jx.jit(static_argnums=1, donate_argnums=2)
    def add(ref, times, x):
        for _ in range(times):
            ref.addupdate(x)

    ref, x = jx.new_ref(jnp.zeros(2)), jnp.ones(2)
    add(ref, 3, x)
    assert ref[...].tolist() == [3.0, 3.0]
    assert x.is_deleted()


def test_vmap_maps_over_the_references_it_is_given():
    rows, shared = jx.new_ref(jnp.zeros((2, 3))), jx.new_ref(jnp.ones(3))

    def add(row, shared, x):
        row[...] += shared[...] * x
        return row[0]

    found = jx.vmap(add, in_axes=(0, None, 0))(rows, shared, jnp.array([1.0, 2.0]))
    assert found.tolist() == [1.0, 2.0]
    assert rows[...].tolist() == [[1.0] * 3, [2.0] * 3]
    assert shared[...].tolist() == [1.0] * 3
    columns = jx.new_ref(jnp.zeros((3, 2)))
    jx.jit(jx.vmap(add, in_axes=(1, None, 0)))(columns, shared, jnp.array([1.0, 2.0]))
    assert columns[...].tolist() == [[1.0, 2.0]] * 3


def test_the_condition_of_a_loop_reads():
    ref = jx.new_ref(1.0)

    def double(count):
        ref[...] *= 2.0
        return count + 1

    assert lax.while_loop(lambda _: ref[...] < 100.0, double, 0).item() == 7
    assert ref[...].item() == 128.0


def test_a_branch_takes_references_as_operands():
    ref = jx.new_ref(jnp.zeros(2))
    write = lambda ref, x: ref.addupdate(x, 0)  # noqa: E731
    for condition in (True, jnp.array(False)):
        lax.cond(condition, write, lambda ref, x: ref.addupdate(x, 1), ref, 3.0)
    assert ref[...].tolist() == [3.0, 3.0]


def test_another_thread_sees_what_was_written():
    ref = jx.new_ref(0.0)
    thread = threading.Thread(target=lambda: ref.set(4.0))
    thread.start()
    thread.join()
    assert jx.jit(lambda: ref[...] + 1)().item() == 5.0


def _accumulated():
    """A function whose cotangent is added to a reference that it gets, and its own reference."""

    @jx.custom_vjp
    def watched(name, ref, x):
        return x * 1.0

    def bwd(name, residuals, cotangent):
        assert name == "x"
        residuals["ref"][...] += cotangent
        return None, cotangent * residuals["one"]

    watched = jx.custom_vjp(watched.fun, nondiff_argnums=0)
    watched.defvjp(lambda name, ref, x: (x * 1.0, {"ref": ref, "one": jnp.ones_like(x)}), bwd)
    return watched, jx.new_ref(0.0)


@pytest.mark.parametrize(
    "derivative",
    [
        jx.grad,
        lambda f: jx.jit(jx.grad(f)),
        lambda f: lambda x: jx.vjp(f, x)[1](1.0)[0],
        lambda f: jx.grad(lambda x: f(x) + 0.0),
    ],
)
def test_a_way_back_adds_to_a_reference_that_the_function_got(derivative):
    watched, ref = _accumulated()
    f = derivative(lambda x: 3.0 * watched("x", ref, x))
    assert (f(2.0).item(), ref[...].item()) == (3.0, 3.0)
    assert (f(5.0).item(), ref[...].item()) == (3.0, 6.0)
    assert watched("x", ref, 2.0) == 2.0


def test_random_keys_are_held_too():
    ref = jx.new_ref(jx.random.key(0))

    @jx.jit
    def draw():
        ref[...], key = jx.random.split(ref[...])
        return jx.random.uniform(key)

    assert draw().item() != draw().item()


def _written_in_condition():
    ref = jx.new_ref(0.0)
    lax.while_loop(lambda i: (ref.set(1.0), i < 3)[1], lambda i: i + 1, 0)


def _frozen():
    ref = jx.new_ref(0.0)
    jx.freeze(ref)
    return ref


OUTSIDE = jx.new_ref(jnp.zeros(3))


WRONG = {
    "dtype": (lambda: OUTSIDE.set(jnp.zeros(3, int)), RefError, r"value of dtype int32(.|\n)*ast"),
    "shape": (lambda: OUTSIDE.set(1.0), RefError, r"part of shape \(3,\) .* of shape \(\)"),
    "bounds": (lambda: OUTSIDE[3], IndexError, "index 3 is out of bounds for an axis of size 3"),
    "twice": (
        lambda: jx.jit(lambda a, b: a[0] + b[0])(OUTSIDE, OUTSIDE),
        RefError,
        r"got one reference of type Ref\{f32\[3\]\} twice: as b and as a",
    ),
    "given and closed over": (
        lambda: jx.jit(lambda a: a[0] + OUTSIDE[0])(OUTSIDE),
        RefError,
        "twice: as a and as a variable that is closed over",
    ),
    "returned": (lambda: jx.jit(lambda a: a)(OUTSIDE), TypeError, "value of type Ref at result"),
    "carried": (
        lambda: lax.scan(lambda c, _: (c, None), OUTSIDE, None, length=2),
        TypeError,
        "scan was given Ref",
    ),
    "derivative": (
        lambda: jx.grad(lambda x: (OUTSIDE.set(x, 0), x)[1])(1.0),
        RefError,
        r"its derivative would be lost(.|\n)*stop_gradient",
    ),
    "derivative in jit": (
        lambda: jx.grad(lambda x: jx.jit(lambda y: (OUTSIDE.set(y, 0), y)[1])(x))(1.0),
        RefError,
        "its derivative would be lost",
    ),
    "batch": (
        lambda: jx.vmap(lambda x: OUTSIDE.set(x, 0))(jnp.zeros(2)),
        RefError,
        r"batch axis(.|\n)*in_axes",
    ),
    "batch of what is alike": (
        lambda: jx.vmap(lambda x: (OUTSIDE.addupdate(1.0, 0), x)[1])(jnp.zeros(2)),
        RefError,
        r"batch axis(.|\n)*in_axes",
    ),
    "condition": (_written_in_condition, RefError, "can only be read, in the condition"),
    "frozen": (lambda: _frozen()[...], RefError, "after it was frozen"),
    "frozen twice": (lambda: jx.freeze(_frozen()), RefError, "after it was frozen"),
    "operand": (lambda: jnp.sin(OUTSIDE), TypeError, "Ref"),
    "NumPy": (lambda: np.sin(OUTSIDE), TypeError, r"read its value with ref\[\.\.\.\]"),
    "of a reference": (lambda: jx.new_ref(OUTSIDE), TypeError, r"got a reference: give it ref"),
    "gradient by": (lambda: jx.grad(lambda r: r[0])(OUTSIDE), TypeError, "with_refs"),
}


@pytest.mark.parametrize(("call", "error", "words"), WRONG.values(), ids=WRONG)
def test_what_would_lose_something_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
    assert OUTSIDE[...].tolist() == [0.0, 0.0, 0.0]


def test_a_reference_is_known_by_identity():
    ref = jx.new_ref(0.0)
    assert ref in {ref}
    assert ref != jx.new_ref(0.0)
    assert jx.tree.leaves({"a": ref}) == [ref]
    assert copy.copy([ref]) == [ref]
    assert ref.aval == jx.new_ref(1.0).aval


def _adding_to(ref):
    """Return the identity, whose way back adds the cotangent to a reference."""

    @jx.custom_vjp
    def passed(x, ref):
        return x

    def back(ref, ct):
        ref[...] += ct
        return ct, None

    passed.defvjp(lambda x, ref: (x, ref), back)
    return lambda x: passed(x, ref)


def _looping(mark):
    def loss(x):
        return jnp.sum(lax.scan(lambda c, _: (jnp.sin(mark(c)), None), x, None, length=3)[0])

    return loss


def _choosing(mark):
    return lambda x: lax.cond(x[0] > 0, lambda x: jnp.sum(mark(x) ** 2), lambda x: jnp.sum(x), x)


def _recomputing(mark):
    return lambda x: jnp.sum(jx.checkpoint(lambda x: jnp.sin(mark(jnp.cos(x))))(x))


def _all_of_them(mark):
    def turn(carry, x):
        inner = jx.jit(jx.checkpoint(lambda c: jnp.sin(mark(c)) * x))
        return lax.cond(x > 0, inner, lambda c: c, carry), None

    return lambda x: jnp.sum(lax.scan(turn, x, jnp.float32([1.0, -1.0, 2.0]))[0])


@pytest.mark.parametrize("make", [_looping, _choosing, _recomputing, _all_of_them])
@pytest.mark.parametrize(
    "slope",
    [jx.grad, lambda f: jx.jit(jx.grad(f)), lambda f: jx.grad(jx.jit(f))],
    ids=["eagerly", "jit of grad", "grad of jit"],
)
def test_a_way_back_adds_to_a_reference_inside_of_programs(make, slope):
    ref = jx.new_ref(jnp.zeros(3))
    gradient = slope(make(_adding_to(ref)))
    # What passes through each mark, by the derivative of a shift that is added there.
    wanted = jx.grad(lambda shift: make(lambda x: x + shift)(X))(jnp.zeros(3))
    for turn in (1, 2):
        np.testing.assert_allclose(gradient(X), jx.grad(make(lambda x: x))(X), rtol=1e-5)
        np.testing.assert_allclose(ref[...], turn * wanted, rtol=1e-5)


def test_a_scan_over_a_reference_gives_references_to_its_rows():
    def by_rows(x):
        ref = jx.new_ref(x)

        def turn(carry, row):
            row[...] = row[...] * carry
            row[0] += 1.0
            return carry + 1.0, row[0]

        last, ys = lax.scan(turn, 2.0, ref)
        return ref[...] * last, ys

    def purely(x):
        rows = (x * jnp.arange(2.0, 2.0 + len(x))[:, None]).at[:, 0].add(1.0)
        return rows * (2.0 + len(x)), rows[:, 0]

    x = jnp.arange(6.0).reshape(3, 2)
    for transform in (
        lambda f: f(x),
        lambda f: jx.jit(f)(x),
        lambda f: jx.jacrev(f)(x),
        lambda f: jx.vmap(jx.jacfwd(f))(jnp.stack([x, -x])),
    ):
        jx.tree.map(np.testing.assert_allclose, transform(by_rows), transform(purely))


def test_map_takes_references_along_and_maps_over_their_rows():
    total = jx.new_ref(0.0)
    rows = jx.new_ref(jnp.zeros((3, 2)))

    def turn(x):
        total[...] += x
        return total[...]

    assert lax.map(turn, jnp.arange(4.0)).tolist() == [0, 1, 3, 6]
    lax.map(lambda row: row.set(total[...] + 1.0, 1), rows)
    assert rows[...].tolist() == [[0, 7]] * 3


def test_a_part_is_a_reference():
    ref = jx.new_ref(jnp.zeros((3, 3)))
    part = ref.at[1]
    part[0] = 4.0
    part[...] += 1.0
    ref.at[0].at[1][...] = 7.0
    assert ref[...].tolist() == [[0, 7, 0], [5, 1, 1], [0, 0, 0]]
    jx.jit(lambda x: part.addupdate(x, 2))(3.0)
    assert part[...].tolist() == [5, 1, 4]
    assert (part.shape, repr(part.aval)) == ((3,), "Ref{f32[3]}")
    with pytest.raises(RefError, match="cannot be frozen or freed alone"):
        jx.freeze(part)
    with pytest.raises(TypeError, match="sin takes arrays and numbers"):
        jnp.sin(part)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        ref.at[3]


def test_pieces_of_a_reference_are_written_on_each_device():
    mesh = jx.make_mesh((1,), ("x",))
    ref = jx.new_ref(jnp.arange(4.0))

    def add(piece, x):
        piece[...] += x
        return piece[...] * 2.0

    run = jx.shard_map(add, mesh=mesh, in_specs=(jx.P("x"), jx.P("x")), out_specs=jx.P("x"))
    assert run(ref, jnp.ones(4)).tolist() == [2, 4, 6, 8]
    assert jx.jit(run)(ref, jnp.ones(4)).tolist() == [4, 6, 8, 10]
    assert ref[...].tolist() == [2, 3, 4, 5]


def test_the_type_of_a_reference_is_that_of_its_arrays():
    ref = jx.new_ref(jnp.zeros(3))
    assert jx.typeof(ref) == jx.ref.AbstractRef(jx.typeof(ref[...]))


@pytest.mark.parametrize("value", [1, np.ones(2), None], ids=str)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("freeze", jx.freeze),
        ("free_ref", jx.free_ref),
        ("get", lambda x: jx.ref.get(x, 0)),
        ("set", lambda x: jx.ref.set(x, 0, 1.0)),
        ("swap", lambda x: jx.ref.swap(x, 0, 1.0)),
        ("addupdate", lambda x: jx.ref.addupdate(x, 0, 1.0)),
    ],
)
def test_what_is_no_reference_is_told_so(name, call, value):
    with pytest.raises(TypeError, match=f"{name} takes a reference"):
        call(value)


def test_the_transpose_of_a_function_reads_references():
    factor = jx.new_ref(jnp.array([2.0, 3.0]))
    transpose = jx.linear_transpose(lambda x: factor[...] * x, jnp.ones(2))
    assert transpose(jnp.array([1.0, 10.0]))[0].tolist() == [2.0, 30.0]

    def by_factor(factor):
        ref = jx.new_ref(factor)
        return jx.linear_transpose(lambda x: ref[0] * x, 1.0)(5.0)[0]

    assert jx.grad(by_factor)(jnp.array([2.0])).tolist() == [5.0]


def test_the_transpose_of_a_function_writes_no_reference():
    ref = jx.new_ref(1.0)
    with pytest.raises(RefError, match="is written where it can only be read"):
        jx.linear_transpose(lambda x: ref.swap(x), 1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit], ids=["at once", "jit"])
@pytest.mark.parametrize("chosen", [False, True])
def test_a_branch_writes_what_another_reads(wrap, chosen):
    a, b = jx.new_ref(jnp.array([1.0, 2.0])), jx.new_ref(jnp.array([3.0, 4.0]))

    @wrap
    def run(chosen):
        lax.cond(chosen, lambda: a.set(b[1], 0), lambda: b.set(a[1], 0))

    run(chosen)
    assert a[...].tolist() == [4.0 if chosen else 1.0, 2.0]
    assert b[...].tolist() == [3.0 if chosen else 2.0, 4.0]


def _frozen_argument(ref, x):
    ref[0] += x
    return jnp.sum(jx.freeze(ref)) * x


def test_an_argument_is_frozen_inside_of_transforms():
    start = jnp.array([1.0, 2.0])
    moving = jx.new_ref(jnp.array([0.5, 1.0]))
    assert jx.jit(_frozen_argument)(jx.new_ref(start), 1.5).item() == 6.75
    out = jx.jvp(_frozen_argument, (jx.new_ref(start), 1.5), (moving, 1.0))
    assert [one.item() for one in out] == [6.75, 8.25]
    value, pullback = jx.vjp(_frozen_argument, jx.new_ref(start), 1.5)
    by_ref, by_x = jx.new_ref(jnp.zeros(2)), jx.new_ref(0.0)
    pullback.with_refs(by_ref, by_x)(1.0)
    assert (value.item(), by_ref[...].tolist(), by_x[...].item()) == (6.75, [1.5, 1.5], 6.0)
    out = jx.vmap(_frozen_argument)(jx.new_ref(jnp.ones((3, 2))), jnp.arange(3.0))
    assert out.tolist() == [0.0, 3.0, 8.0]


def test_solvers_read_references():
    factor = jx.new_ref(jnp.array([2.0, 4.0]))

    def solution(b):
        return lax.custom_linear_solve(
            lambda x: factor[...] * x, b, lambda _, b: b / factor[...], symmetric=True
        )

    b = jnp.array([2.0, 8.0])
    assert jx.jit(solution)(b).tolist() == [1.0, 2.0]
    assert jx.grad(lambda b: solution(b).sum())(b).tolist() == [0.5, 0.25]
    factor[...] = jnp.array([1.0, 2.0])
    assert solution(b).tolist() == [2.0, 4.0]

    def root(square):
        ref = jx.new_ref(square)
        divide = lambda g, y: y / g(1.0)  # noqa: E731
        return lax.custom_root(lambda x: x * x - ref[...], 1.0, lambda *_: ref[...] ** 0.5, divide)

    assert [one.item() for one in jx.value_and_grad(root)(4.0)] == [2.0, 0.25]


def test_solvers_write_no_reference():
    calls = jx.new_ref(0.0)

    def counted(x):
        calls[...] += 1.0
        return 2.0 * x

    with pytest.raises(RefError, match="is written where it can only be read"):
        lax.custom_linear_solve(counted, 1.0, lambda _, b: b / 2.0, symmetric=True)


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit], ids=["at once", "jit"])
def test_a_reference_made_inside_is_an_auxiliary_result(wrap):
    def squared(x):
        ref = jx.new_ref(jnp.ones(2) * x)
        ref[0] *= 3.0
        return x * x, {"ref": ref}

    @wrap
    def run(x):
        gradient, aux = jx.grad(squared, has_aux=True)(x)
        aux["ref"][1] += 1.0
        return gradient, aux["ref"][...]

    gradient, held = run(2.0)
    assert gradient.item() == 4.0
    assert held.tolist() == [6.0, 3.0]


@pytest.mark.parametrize(
    ("given", "wanted", "advice"),
    [
        ((3,), (2, 3), r"jnp\.broadcast_to\(value, \(2, 3\)\)"),
        ((3, 2), (2, 3), r"value\.reshape\(\(2, 3\)\)"),
        ((8,), (9,), None),
    ],
)
def test_advice_on_a_shape_is_given_where_it_works(given, wanted, advice):
    ref = jx.new_ref(jnp.zeros(wanted))
    with pytest.raises(RefError, match="was given a value of shape") as caught:
        ref[...] = jnp.ones(given)
    if advice is None:
        assert "write instead" not in str(caught.value)
    else:
        assert re.search(advice, str(caught.value))

"""References that functions with derivatives of their own read and write: values of real jax."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.errors import ClosedOverTracerError, RefError

START = np.array([1.0, 2.0], np.float32)


def _add(ref, x):
    ref[...] += x
    return ref[0] * x


@jx.custom_vjp
def by_vjp(ref, x):
    return _add(ref, x)


by_vjp.defvjp(lambda ref, x: (_add(ref, x), x), lambda x, ct: (None, ct * 7.0))


@jx.custom_jvp
def by_jvp(ref, x):
    return _add(ref, x)


@by_jvp.defjvp
def _by_jvp(primals, tangents):
    (ref, x), (moving, t) = primals, tangents
    moving[...] += 10.0 * t
    return _add(ref, x), 5.0 * t


def _of_own(function):
    """A function of a number that makes a reference of it, of which the rest depends too."""

    def call(x):
        ref = jx.new_ref(START * x)
        return function(ref, x) + jnp.sum(ref[...])

    return call


MODES = {
    "called": lambda f: (f(1.5), None),
    "jit": lambda f: (jx.jit(f)(1.5), None),
    "vmap": lambda f: (jx.vmap(f)(jnp.array([1.5, 1.0]))[0], None),
    "grad": lambda f: jx.value_and_grad(f)(1.5),
    "jit of grad": lambda f: jx.jit(jx.value_and_grad(f))(1.5),
    "grad of jit": lambda f: jx.value_and_grad(jx.jit(f))(1.5),
    "vmap of grad": lambda f: [y[0] for y in jx.vmap(jx.value_and_grad(f))(jnp.ones(2) * 1.5)],
    "checkpoint": lambda f: jx.value_and_grad(jx.checkpoint(f))(1.5),
    "scan": lambda f: jx.value_and_grad(
        lambda x: lax.scan(lambda c, _: (c + f(x), None), 0.0, None, length=1)[0]
    )(1.5),
}
"""A function's value at 1.5, and its derivative where one is taken."""


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_a_reference_keeps_its_derivative_where_a_way_back_says_nothing_of_it(mode):
    value, derivative = mode(_of_own(by_vjp))
    assert value == 3.0 * 1.5 + 3.0 + 4.5
    assert derivative is None or derivative == 7.0 + 3.0


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_a_rule_writes_the_tangents_of_references(mode):
    value, derivative = mode(_of_own(by_jvp))
    assert value == 3.0 * 1.5 + 3.0 + 4.5
    assert derivative is None or derivative == 5.0 + 3.0 + 20.0


def test_tangents_of_references_given_are_written():
    ref, moving = jx.new_ref(START), jx.new_ref(np.array([0.5, 1.0], np.float32))
    out, tangent = jx.jvp(by_jvp, (ref, 1.5), (moving, 1.0))
    assert (float(out), float(tangent)) == (3.75, 5.0)
    assert (ref[...].tolist(), moving[...].tolist()) == ([2.5, 3.5], [10.5, 11.0])


def test_a_tangent_that_a_reference_of_outside_would_lose_is_refused():
    ref = jx.new_ref(START)
    with pytest.raises(RefError, match="its derivative would be lost"):
        jx.jvp(lambda x: by_jvp(ref, x), (1.5,), (1.0,))


def _closing(kind):
    """A function with a rule that closes over a reference, made from the reference."""

    def closing(ref):
        function = kind(lambda x: _add(ref, x))
        if kind is jx.custom_jvp:
            function.defjvp(lambda primals, tangents: (primals[0], 5.0 * tangents[0]))
        else:
            function.defvjp(lambda x: (_add(ref, x), None), lambda _, ct: (ct * 7.0,))
        return function

    return closing


KINDS = pytest.mark.parametrize("kind", [jx.custom_jvp, jx.custom_vjp])


@KINDS
def test_references_of_outside_are_taken_along_into_programs(kind):
    ref = jx.new_ref(START)
    function = _closing(kind)(ref)
    run = jx.jit(lambda x: lax.scan(lambda c, _: (function(c), None), x, None, length=2)[0])
    assert run(1.0).item() == 2.0 * 4.0
    assert ref[...].tolist() == [4.0, 5.0]
    assert run(0.5).item() == 2.25 * 6.75
    assert ref[...].tolist() == [6.75, 7.75]


@KINDS
def test_a_mapped_reference_is_closed_over(kind):
    def each(row, x):
        ref = jx.new_ref(row)
        return _closing(kind)(ref)(x), ref[...]

    out, after = jx.vmap(each)(jnp.stack([START, START + 1]), jnp.array([1.0, 2.0]))
    assert out.tolist() == [2.0, 8.0]
    assert after.tolist() == [[2.0, 3.0], [4.0, 5.0]]


@KINDS
@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit], ids=["at once", "jit"])
def test_no_derivative_by_a_reference_closed_over_is_lost(kind, wrap):
    run = wrap(lambda x: _closing(kind)(jx.new_ref(START * x))(x))
    with pytest.raises(ClosedOverTracerError, match="a value that it closes over"):
        jx.grad(run)(1.5)


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit], ids=["at once", "jit"])
def test_a_way_back_adds_to_a_reference_that_the_way_there_wrote(wrap):
    @jx.custom_vjp
    def logged(calls, total, x):
        calls[...] += 1.0
        return x * 2.0

    def forward(calls, total, x):
        calls[...] += 1.0
        return x * 2.0, total

    def back(total, ct):
        total[...] += ct
        return None, None, ct * 2.0

    logged.defvjp(forward, back)
    calls, total = jx.new_ref(0.0), jx.new_ref(0.0)

    @wrap
    def run(x):
        turn = lambda c, _: (logged(calls, total, c), None)  # noqa: E731
        return jx.grad(lambda x: lax.scan(turn, x, None, length=3)[0])(x)

    assert run(1.0).item() == 8.0
    assert (calls[...].item(), total[...].item()) == (3.0, 1.0 + 2.0 + 4.0)

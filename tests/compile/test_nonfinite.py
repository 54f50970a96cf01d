"""``debug_nans`` and ``debug_infs``: the first bad equation, its operands and the user's line."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.custom_derivatives import linear_call
from jxkernel.errors import NonFiniteError


@pytest.fixture(autouse=True)
def _looking_for_nans():
    with jx.debug_nans(True):
        yield


def _guarded_log(x):
    return jnp.where(x > 0, jnp.log(x), 0.0).sum()


def _scanned(x):
    return lax.scan(lambda c, _: (c - 1.0, jnp.log(c)), x, None, length=5)[1]


def _counted(x):
    return lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, jnp.sqrt(c[1]) - 1.0), (0, x))[1]


@jx.custom_jvp
def _custom(x):
    return jnp.log(x)


_custom.defjvp(lambda primals, tangents: (_custom(*primals), jnp.sqrt(-tangents[0])))


@jx.custom_vjp
def _pulled(x):
    return x * 2.0


_pulled.defvjp(lambda x: (x * 2.0, x), lambda x, ct: (jnp.arccos(ct * 5.0),))


@jx.custom_batching.custom_vmap
def _batched(x):
    return jnp.log(x)


_batched.def_vmap(lambda size, batched, x: (jnp.log(x), batched[0]))


def _linear(r):
    return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, r, jnp.float32(0.0))


def _solved(b):
    return lax.custom_linear_solve(lambda x: x, b, lambda matvec, b: jnp.log(b))


CASES = {
    "eager": (lambda: jnp.log(jnp.array([1.0, -1.0])), "log a", "jnp.log"),
    "operator": (lambda: jnp.zeros(2) / jnp.zeros(2), "div a b", "/ jnp.zeros"),
    "jit": (lambda: jx.jit(lambda x: jnp.sqrt(x) + 1.0)(-1.0), "sqrt a", "jnp.sqrt(x) + 1.0"),
    "vmap": (lambda: jx.jit(jx.vmap(jnp.log))(jnp.array([-1.0])), "log a", "jnp.log"),
    "scan": (lambda: jx.jit(_scanned)(2.5), "log a", "jnp.log(c)"),
    "eager scan": (lambda: _scanned(2.5), "log a", "jnp.log(c)"),
    "while": (lambda: jx.jit(_counted)(2.0), "sqrt a", "jnp.sqrt(c[1])"),
    "cond": (lambda: lax.cond(True, lambda x: jnp.log(x), jnp.sin, -1.0), "log a", "jnp.log(x)"),
    "custom_jvp": (lambda: jx.jit(_custom)(-1.0), "log a", "jnp.log(x)"),
    "custom_jvp rule": (
        lambda: jx.jit(lambda x: jx.jvp(_custom, (x,), (1.0,)))(1.0),
        "sqrt -1.0",
        "jnp.sqrt(-tangents",
    ),
    "custom_vjp rule": (lambda: jx.grad(_pulled)(1.0), "acos a", "jnp.arccos(ct"),
    "custom_vmap": (lambda: jx.jit(_batched)(-1.0), "log a", "jnp.log(x)"),
    "linear_call": (lambda: jx.jit(_linear)(0.0), "div", "x / r"),
    "composite": (lambda: jx.jit(lax.composite(lambda x: jnp.log(x), "a.b"))(-1.0), "log a", "log"),
    "linear solve": (lambda: jx.jit(_solved)(-1.0), "log a", "jnp.log(b)"),
    "checkpoint": (lambda: jx.jit(jx.checkpoint(jnp.log))(-1.0), "log a", "jnp.log"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_nan_is_traced_to_the_equation_and_line_that_made_it(case):
    run, equation, code = CASES[case]
    with pytest.raises(FloatingPointError) as caught:
        run()
    assert isinstance(caught.value, NonFiniteError)
    assert equation in caught.value.equation
    assert caught.value.where.startswith(f"{__file__}:")
    assert code in caught.value.code


def test_a_nan_of_the_backward_pass_points_to_the_forward_line():
    x = jnp.array([-1.0, 0.0, 1.0])
    assert jx.jit(_guarded_log)(x) == 0.0, "the NaN that where drops is no NaN of the result"
    with pytest.raises(FloatingPointError, match="backward pass of the line shown") as caught:
        jx.grad(jx.jit(_guarded_log))(x)
    assert "jnp.log(x)" in caught.value.code


def test_a_nan_of_an_eager_backward_pass_points_to_the_forward_line():
    with pytest.raises(FloatingPointError, match="backward pass of the line shown") as caught:
        jx.grad(lambda x: jnp.sqrt(x) * 0.0)(0.0)
    assert "jnp.sqrt(x) * 0.0" in caught.value.code


def test_a_nan_that_is_dropped_is_not_blamed():
    @jx.jit
    def f(x):
        kept = jnp.where(x > 0, jnp.log(x), 0.0)
        return kept + jnp.sqrt(x - 5.0)

    with pytest.raises(FloatingPointError, match="= sqrt ") as caught:
        f(jnp.array([-1.0, 2.0]))
    assert "jnp.sqrt(x - 5.0)" in caught.value.code


def test_operands_and_way_are_shown():
    with pytest.raises(FloatingPointError) as caught:
        jx.jit(_scanned)(2.5)
    assert caught.value.details[:2] == ("    a = f32[] -0.5", "    b = f32[] nan")
    assert "_scanned > turn 3" in str(caught.value)


def test_the_infinity_behind_a_nan_is_shown():
    with pytest.raises(FloatingPointError, match=r"= sub a b") as caught:
        jx.jit(lambda x: jnp.exp(x) - jnp.exp(x))(100.0)
    (line,) = [line for line in caught.value.details if "infinity" in line]
    assert line.startswith("The infinity came out of: b:f32[] = exp a (")
    assert __file__ in line


def test_an_infinity_among_the_constants_is_nobodys():
    with pytest.raises(FloatingPointError) as caught:
        jx.jit(lambda x: x * 0.0 + jnp.inf - jnp.inf)(1.0)
    assert not [line for line in caught.value.details if "The infinity came out" in line]


def test_a_staged_backward_pass_is_told_from_the_forward_one():
    with pytest.raises(FloatingPointError, match="backward pass of the line shown") as caught:
        jx.jit(jx.grad(_guarded_log))(jnp.array([0.0, 1.0]))
    assert "jnp.log(x)" in caught.value.code


def test_long_operands_are_summed_up():
    with pytest.raises(FloatingPointError, match=r"\(1000 elements\)\], of which 1 nan"):
        jnp.sqrt(jnp.arange(1000.0) - 1.0)


def test_a_nan_that_came_in_is_said_to():
    with pytest.raises(FloatingPointError, match=r"^nan is in the arguments of: "):
        jx.jit(lambda x: x + 1.0)(np.float32("nan"))


def test_every_call_is_looked_at():
    f = jx.jit(lambda x: jnp.log(x))
    assert f(1.0) == 0.0
    assert f(1.0) == 0.0
    for _ in range(2):
        with pytest.raises(FloatingPointError):
            f(-1.0)


def test_switching_it_on_makes_earlier_fast_paths_step_aside():
    f = jx.jit(lambda x: jnp.log(x))
    with jx.debug_nans(False):
        assert jnp.isnan(f(-1.0))
        assert jnp.isnan(f(-1.0))
    with pytest.raises(FloatingPointError):
        f(-1.0)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_donated_arguments_outlive_the_search(is_compiled):
    f = jx.jit(lambda x: jnp.sqrt(x), donate_argnums=0)
    bad, good = jnp.array([-1.0]), jnp.array([1.0])
    if is_compiled:
        f = f.lower(bad).compile()
    with pytest.raises(FloatingPointError, match=r"a = f32\[1\] \[-1\]"):
        f(bad)
    assert not bad.is_deleted(), "what failed took nothing"
    f(good)
    assert good.is_deleted()


def test_compiled_stages_are_looked_at():
    compiled = jx.jit(jnp.log).lower(1.0).compile()
    assert compiled(1.0) == 0.0
    with pytest.raises(FloatingPointError):
        compiled(-1.0)


def test_infinities_have_their_own_switch():
    zeros = jnp.zeros(2)
    assert jnp.isinf(1.0 / zeros).all()
    with jx.debug_infs(True), pytest.raises(FloatingPointError, match=r"^inf came out of: .* div"):
        1.0 / zeros


def test_the_trace_is_shared_with_calls_that_are_not_looked_at():
    traced = []

    @jx.jit
    def f(x):
        traced.append(x)
        return x + 1.0

    f(1.0)
    with jx.debug_nans(False):
        f(1.0)
    assert len(traced) == 1

"""``check_grads`` and its parts: right derivatives pass, wrong ones are named with both values."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.test_util import check_grads, check_jvp, check_vjp

X = np.linspace(0.3, 1.5, 3).astype(np.float32)
Z = (X * (1 + 2j)).astype(np.complex64)

RIGHT = {
    "vector": (jnp.sin, (X,)),
    "several arguments": (lambda x, y: x @ jnp.exp(y), (X, X)),
    "trees and integers": (lambda d, n: {"y": d["x"] ** 2 * n, "n": n}, ({"x": X}, 3)),
    "complex to real": (lambda z: jnp.abs(z) ** 2, (Z,)),
    "real to complex": (lambda x: jnp.exp(1j * x), (X,)),
    "holomorphic": (lambda z: z**3, (Z,)),
    "not holomorphic": (lambda z: jnp.conj(z) * z**2, (Z,)),
    "scalar": (lambda x: jnp.tanh(x) * x, (0.5,)),
    "float16": (jnp.sin, (X.astype(np.float16),)),
    "bfloat16": (jnp.tanh, (X.astype(ml_dtypes.bfloat16),)),
    "constant": (lambda x: jnp.ones(2), (X,)),
    "no result of real numbers": (lambda x: 3, (X,)),
    "no argument": (lambda: 1.0, ()),
    "matrix product": (lambda a: a @ a, (np.outer(X, X),)),
}


@pytest.mark.parametrize("case", RIGHT)
def test_right_derivatives_pass(case):
    function, args = RIGHT[case]
    check_grads(function, args, order=2)


def test_double_precision_has_tight_tolerances():
    with jx.enable_x64(True):
        x = X.astype(np.float64)
        check_grads(lambda x: jnp.sin(x) * jnp.exp(x), (x,), order=2)
        with pytest.raises(AssertionError, match="forward derivative"):
            check_grads(scaled_rule(1.0 + 1e-6), (x, x), order=1)


def scaled_rule(factor, second=1.0):
    @jx.custom_jvp
    def wrong(x, weights):
        return jnp.sin(x) * weights

    @wrong.defjvp
    def rule(primals, tangents):
        (x, w), (dx, dw) = primals, tangents
        slope = second * jnp.cos(x) + (1 - second) * jx.lax.stop_gradient(jnp.cos(x))
        return wrong(x, w), w * slope * dx + factor * jnp.sin(x) * dw

    return wrong


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        ("fwd", r"wrong: the forward derivative of result along argument weights: got \["),
        ("rev", r"wrong: the backward derivative by argument weights.*: got -?[\d.]+"),
    ],
)
def test_a_wrong_derivative_names_the_argument_and_both_values(modes, message):
    with pytest.raises(AssertionError, match=message + r".*, and finite differences give .*atol="):
        check_grads(scaled_rule(3.0), (X, X), order=1, modes=(modes,))


def test_a_leaf_of_a_tree_is_named_by_its_path():
    wrong = scaled_rule(3.0)
    with pytest.raises(AssertionError, match=r"argument d\['w'\]\[0\]"):
        check_grads(lambda d: wrong(d["x"], d["w"][0]), ({"x": X, "w": (X,)},), order=1)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_second_derivative_is_found_at_order_two(mode):
    wrong = scaled_rule(1.0, second=0.0)
    check_grads(wrong, (X, X), order=1, modes=mode)
    with pytest.raises(AssertionError, match="of wrong"):
        check_grads(wrong, (X, X), order=2, modes=mode)


def test_rules_given_by_hand():
    check_jvp(jnp.sin, lambda p, t: (jnp.sin(p[0]), jnp.cos(p[0]) * t[0]), (X,))
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,)), [X])
    with pytest.raises(AssertionError, match=r"mine: sin: the value beside the derivative at"):
        check_jvp(jnp.sin, lambda p, t: (p[0], t[0]), (X,), err_msg="mine")
    with pytest.raises(AssertionError, match="sin: the backward derivative by argument"):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct,)), (X,))
    with pytest.raises(AssertionError, match="gives 2 cotangents for 1 arguments"):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct, ct)), (X,))
    with pytest.raises(AssertionError, match="value has structure"):
        check_jvp(jnp.sin, lambda p, t: ((p[0],), (t[0],)), (X,))


def test_tolerances_and_step_can_be_given():
    wrong = scaled_rule(1.05)
    check_grads(wrong, (X, X), order=1, rtol=0.1)
    check_grads(wrong, (X, X), order=1, atol=0.5, rtol=0.0)
    with pytest.raises(AssertionError, match="finite differences"):
        check_grads(jnp.exp, (X,), order=1, eps=0.5, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: check_grads(3, (X,), 1), TypeError, "check_grads needs a callable as f, got 3"),
        (lambda: check_grads(jnp.sin, X, 1), TypeError, r"as a tuple or list.*write \(x,\)"),
        (lambda: check_grads(jnp.sin, (X,), 0), ValueError, "order=0: it is a positive number"),
        (lambda: check_grads(jnp.sin, (X,), 1, ["forward"]), ValueError, "'rev', got 'forward'"),
        (lambda: check_jvp(jnp.sin, 3, (X,)), TypeError, "needs a callable as f_jvp"),
        (lambda: check_vjp(jnp.sin, 3, (X,)), TypeError, "needs a callable as f_vjp"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()

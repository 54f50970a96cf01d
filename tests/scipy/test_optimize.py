"""Minimization: known minima, under transforms, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from jxkernel.scipy.optimize import minimize

LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(x: Any) -> Any:
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


@pytest.mark.parametrize("method", ["BFGS", LIMITED])
def test_minima_are_found(method: str) -> None:
    with enable_x64():
        found = jx.jit(lambda x: minimize(rosenbrock, x, method=method))(jnp.zeros(4))
        assert bool(found.success)
        assert (int(found.status), found.nfev) == (0, found.njev)
        np.testing.assert_allclose(found.x, 1, atol=1e-4)
        np.testing.assert_allclose(found.jac, 0, atol=1e-5)
        if method == "BFGS":
            ours = scipy.optimize.minimize(rosenbrock, np.zeros(4), method="BFGS")
            np.testing.assert_allclose(found.x, ours.x, atol=1e-4)
            second = jx.hessian(rosenbrock)(found.x)
            np.testing.assert_allclose(found.hess_inv, found.hess_inv.T, rtol=1e-9)
            np.testing.assert_allclose(jnp.diagonal(found.hess_inv @ second), 1, atol=0.3)
        else:
            assert found.hess_inv is None


def test_minimizations_are_batched() -> None:
    starts = jnp.array([[0.0, 0.0], [-4.0, 4.0], [5.0, -3.0]])
    found = jx.jit(jx.vmap(lambda x: minimize(himmelblau, x, method="BFGS", tol=1e-3)))(starts)
    assert bool(found.success.all())
    np.testing.assert_allclose(jx.vmap(himmelblau)(found.x), 0, atol=1e-4)
    alone = minimize(himmelblau, starts[1], method="BFGS", tol=1e-3)
    np.testing.assert_allclose(found.x[1], alone.x, atol=1e-3)


def test_limits_and_failures_are_told() -> None:
    def scaled(x: Any, factor: Any) -> Any:
        return (factor * (x - 3) ** 4).sum()

    short = minimize(
        scaled, jnp.zeros(2), (2.0,), method="bfgs", options={"maxiter": 2, "gtol": 1e-9}
    )
    assert (bool(short.success), int(short.status), int(short.nit)) == (False, 1, 2)
    lost = minimize(lambda x: jnp.sqrt(x).sum(), jnp.array([-1.0]), method="BFGS")
    assert (bool(lost.success), int(lost.status)) == (False, 3)


@pytest.mark.parametrize(
    ("options", "status"),
    [({"maxfun": 5}, 2), ({"maxgrad": 5}, 3), ({"ftol": 1.0}, 4), ({"maxls": 1}, 5)],
)
def test_limits_of_the_method_of_little_memory_are_told(
    options: dict[str, float], status: int
) -> None:
    found = minimize(rosenbrock, jnp.array([-1.2, 1.0]), method=LIMITED, options=options)
    assert (bool(found.success), int(found.status)) == (False, status)
    assert int(found.nfev) < 20
    assert float(found.fun) <= float(rosenbrock(jnp.array([-1.2, 1.0])))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: minimize(rosenbrock, jnp.zeros(2), method="CG"), ValueError, "method='CG'.*BFGS"),
        (
            lambda: minimize(rosenbrock, jnp.zeros(2), 2.0, method="BFGS"),
            TypeError,
            "args as a tuple, got 2.0",
        ),
        (lambda: minimize(rosenbrock, jnp.zeros((2, 2)), method="BFGS"), ValueError, "vector x0"),
        (
            lambda: minimize(rosenbrock, jnp.zeros(2), method="BFGS", options={"eps": 1}),
            TypeError,
            "no option 'eps'.*maxiter",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("method", ["BFGS", LIMITED])
@pytest.mark.parametrize("scale", [1e-2, 1e2, 1e4])
def test_minima_of_steep_and_flat_functions_are_found(method: str, scale: float) -> None:
    found = minimize(
        lambda x: jnp.mean((scale * (x - 1)) ** 2), jnp.full(3, 3.0), method=method, tol=1e-5
    )
    assert found.success
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5 / scale**2 + 1e-6)


@pytest.mark.parametrize("method", ["BFGS", LIMITED])
def test_minima_over_complex_numbers_are_found(method: str) -> None:
    goal = np.complex64([1 + 2j, 3 - 1j])
    found = minimize(
        lambda z: (abs(z**2 - goal) ** 2).sum(), jnp.ones(2, np.complex64), method=method
    )
    assert (found.x.dtype, found.jac.dtype) == (np.complex64, np.complex64)
    np.testing.assert_allclose(found.x, np.sqrt(goal), rtol=1e-4)

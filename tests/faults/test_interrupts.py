"""Interrupts at random moments: whatever they cut off can be done again, and gives the same."""

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.core.trace import evaluating

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers are of POSIX"),
]

X = np.linspace(0.1, 0.9, 6, dtype=np.float32)


class Interrupts:
    """Interrupts the main thread while it is armed."""

    def __init__(self) -> None:
        self.armed = False
        self.count = 0

    def __call__(self, *_: Any) -> None:
        if self.armed:
            self.armed = False
            self.count += 1
            raise KeyboardInterrupt

    def cut(self, work: Callable[[], Any], seconds: float) -> bool:
        """Do work, and interrupt it after a time; say whether the interrupt came."""
        before = self.count
        try:
            self.armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
        except KeyboardInterrupt:
            pass
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return self.count > before


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    made = Interrupts()
    before = signal.signal(signal.SIGALRM, made)
    yield made
    signal.signal(signal.SIGALRM, before)


def a_loop(x: Any) -> Any:
    return jnp.sum(lax.scan(lambda c, e: (jnp.sin(c + e), c * e), x[0], x)[1])


def branches(x: Any) -> Any:
    return lax.cond(jnp.sum(x) > 0, lambda: jnp.sum(jnp.exp(x)), lambda: jnp.sum(x))


def a_rule(x: Any) -> Any:
    f = jx.custom_jvp(jnp.sin)
    f.defjvp(lambda p, t: (f(*p), jnp.cos(*p) * t[0]))
    return jnp.sum(f(x) * f(x))


def a_reference(x: Any) -> Any:
    ref = jx.new_ref(x)

    def turn(i: Any, _: Any) -> None:
        ref[...] = jnp.sin(ref[...]) * x

    lax.fori_loop(0, 3, turn, None)
    return jnp.sum(ref[...])


def linear_algebra(x: Any) -> Any:
    return jnp.linalg.det(jnp.outer(x, x) + jnp.eye(6))


FUNCTIONS = (a_loop, branches, a_rule, a_reference, linear_algebra)
WAYS: tuple[Callable[[Any], Any], ...] = (
    lambda f: jx.jit(f)(X),
    lambda f: jx.grad(f)(X),
    lambda f: jx.jit(jx.value_and_grad(f))(X),
    lambda f: jx.vmap(f)(np.stack([X, X])),
    lambda f: jx.jit(jx.hessian(f))(X),
    lambda f: f(X),
)
CUTS = 240


def test_what_random_interrupts_cut_off_can_be_done_again(interrupts: Interrupts) -> None:
    random = Random(17)
    expected = {
        (f, way): jx.tree.map(np.asarray, WAYS[way](f))
        for f in FUNCTIONS
        for way in range(len(WAYS))
    }
    came: Counter[str] = Counter()
    for _ in range(CUTS):
        f, way = random.choice(list(expected))
        jx.clear_caches()
        seconds = random.choice((0.001, 0.01, 0.05, 0.2)) * (random.random() + 0.01)
        came[f.__name__] += interrupts.cut(lambda f=f, way=way: WAYS[way](f), seconds)
        assert evaluating()
        again = jx.tree.map(np.asarray, WAYS[way](f))
        jx.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
            again,
            expected[f, way],
        )
    assert came.total() > CUTS / 3, came

"""Threads that trace, differentiate, compile, run and clear caches at once agree."""

import threading
from random import Random
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax

pytestmark = pytest.mark.slow

THREADS = 16
TURNS = 40


def _made(n: int) -> Any:
    def f(x: Any) -> Any:
        c, ys = lax.scan(lambda c, e: (jnp.sin(c) + e * n, c), 0.0, x)
        return c + jnp.sum(jnp.where(ys > 0, ys, -ys))

    return f


SHARED = [jx.jit(_made(n)) for n in range(4)]
X = np.linspace(-1, 1, 5, dtype=np.float32)


def _expected(n: int) -> tuple[Any, Any]:
    value, gradient = jx.value_and_grad(_made(n))(X)
    return np.asarray(value), np.asarray(gradient)


def test_threads_that_race_give_what_one_gives() -> None:
    expected = [_expected(n) for n in range(4)]
    failures: list[BaseException] = []
    done: list[int] = []
    begin = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        random = Random(seed)
        begin.wait()
        try:
            for _ in range(TURNS):
                n = random.randrange(4)
                f = random.choice([SHARED[n], jx.jit(_made(n)), _made(n)])
                np.testing.assert_allclose(f(X), expected[n][0], rtol=1e-5)
                np.testing.assert_allclose(jx.grad(f)(X), expected[n][1], rtol=1e-4, atol=1e-5)
                rows = jx.vmap(f)(np.stack([X, X]))
                np.testing.assert_allclose(rows, [expected[n][0]] * 2, rtol=1e-5)
                if random.random() < 0.1:
                    jx.clear_caches()
                done.append(n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(done) == THREADS * TURNS

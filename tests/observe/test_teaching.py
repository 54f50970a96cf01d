"""Teaching mode tells silent mistakes, with what to write instead, and leaves nothing behind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import events, random
from jxkernel import numpy as jnp
from jxkernel.config import config, key_reuse_hook, run_hook
from jxkernel.errors import KeyReuseError
from jxkernel.observe import Lesson, Teaching, TeachingWarning

X = jnp.arange(8.0)
FAR = jnp.array([12])


@pytest.fixture
def lessons() -> list[Lesson]:
    return []


def add_beyond(x: Any, n: Any) -> Any:
    for i in range(2):
        x = x.at[n + i].add(1.0)
    jx.debug.callback(lambda n: None, n)
    return x


def use_twice(key: Any) -> Any:
    return random.normal(key) + random.uniform(key)


def twice() -> None:
    key = random.key(0)
    random.normal(key)
    random.uniform(key)


LOG: list[Any] = []


def log_and_print(x: Any) -> Any:
    LOG.append(x.shape)
    return x + 1


# (what is done, subject, words of the lesson, words of the advice)
MISTAKES: list[tuple[Callable[[], Any], str, str, str]] = [
    (lambda: X[FAR], "index", "index 12 is out of bounds for axis 0 with size 8", "x.shape"),
    (lambda: X[jnp.array([1, -9])], "index", "index -1 is out of bounds", "x.shape"),
    (lambda: X.at[20].set(1.0), "index", "index 20 is out of bounds", "x.shape"),
    (lambda: X.at[jnp.array([3, 20])].add(1.0), "index", "index 20 is out of", "x.shape"),
    (lambda: jx.lax.dynamic_slice(X, (6,), (4,)), "index", "index 6 is out of", "x.shape"),
    (lambda: jx.jit(lambda x, i: x[i])(X, 12), "index", "index 12 is out of", "x.shape"),
    (lambda: jx.jit(add_beyond)(X, 7), "index", "index 8 is out of bounds", "x.shape"),
    (lambda: jx.grad(lambda x: x[FAR].sum())(X), "index", "index 12 is out of", "x.shape"),
    (lambda: jx.vmap(lambda i: X[i])(jnp.array([1, 9])), "index", "index 9 is", "x.shape"),
    (twice, "key", "gave its random numbers already (random.normal at ", "random.split(key)"),
    (lambda: jx.jit(use_twice)(random.key(1)), "key", "random.normal at ", "random.split"),
    (lambda: jx.jit(log_and_print)(X), "effect", "LOG lives outside", "return"),
    (lambda: jnp.asarray(np.ones(3) / 3), "dtype", "float64[3] became float32; digits", "x64"),
    (lambda: X[:3] + np.ones(3), "dtype", "float64[3] became float32; these", "'float32'"),
    (lambda: jx.device_put(np.ones(3)), "dtype", "float64[3] became", "x.astype('float32')"),
    (lambda: jx.jit(lambda x: x)(np.ones(3)), "dtype", "float64[3] became", "jax_enable_x64"),
    (lambda: jnp.asarray(np.arange(3) << 40), "dtype", "int64[3] became int32; numbers", "x64"),
]


@pytest.mark.parametrize(("mistake", "subject", "what", "instead"), MISTAKES)
def test_mistake_is_told_once_with_its_line_and_what_to_write(
    lessons: list[Lesson], mistake: Callable[[], Any], subject: str, what: str, instead: str
) -> None:
    with Teaching(lessons.append):
        mistake()
        count = len(lessons)
        if subject != "key":
            mistake()
    assert count == len(lessons) == 1
    [lesson] = lessons
    assert lesson.subject == subject
    assert what in lesson.what
    assert any(instead in one for one in lesson.instead)
    assert lesson.site.startswith(f"{__file__}:")
    assert lesson.code
    assert lesson.code in str(lesson)


@pytest.mark.parametrize(
    "fine",
    [
        lambda: X[7] + X[-8],
        lambda: X[2:30],
        lambda: X[jnp.array([0, -8])],
        lambda: X.at[jnp.array(20)].get(mode="clip"),
        lambda: X.at[jnp.array(20)].get(mode="fill"),
        lambda: X.at[20].get(mode="clip"),
        lambda: jnp.sort(X)[::-1],
        lambda: jx.jit(lambda x, i: x[i])(X, 3),
        lambda: jnp.array([1.5, 2.5]) + 0.1,
        lambda: jnp.asarray(np.arange(3)),
        lambda: jnp.asarray(np.ones(3), "float32"),
        lambda: [random.normal(key) for key in random.split(random.key(0))],
    ],
)
def test_what_is_right_is_not_told(lessons: list[Lesson], fine: Callable[[], Any]) -> None:
    with Teaching(lessons.append):
        fine()
    assert lessons == []


def test_position_that_is_known_is_refused_where_it_would_be_read(lessons: list[Lesson]) -> None:
    assert X[10] == 7.0
    with Teaching(lessons.append):
        for read in (lambda: X[10], lambda: X[-9], lambda: jx.jit(lambda x: x[10])(X)):
            with pytest.raises(IndexError, match=r"out of bounds for axis 0 with size 8.*-8 to 7"):
                read()
    assert lessons == []
    with jx.config.check_static_indices(True), pytest.raises(IndexError, match="mode='clip'"):
        X[10]


def test_results_are_those_of_before(lessons: list[Lesson]) -> None:
    f = jx.jit(add_beyond, donate_argnums=0)
    plain = f(X + 0, 7)
    with Teaching(lessons.append):
        np.testing.assert_array_equal(f(X + 0, 7), plain)
    np.testing.assert_array_equal(f(X + 0, 7), plain)


def test_off_leaves_everything_as_it_was(lessons: list[Lesson]) -> None:
    before = (config.values, run_hook.value, key_reuse_hook.value, len(events.bus.listeners))
    teaching = Teaching(lessons.append)
    assert not teaching.on
    for _ in range(2):
        teaching.start().start()
        assert teaching.on
        X[FAR]
        teaching.stop()
        teaching.stop()
    now = (config.values, run_hook.value, key_reuse_hook.value, len(events.bus.listeners))
    assert now == before
    assert len(lessons) == 2
    X[FAR]
    key = random.key(3)
    assert random.normal(key) == random.normal(key)
    assert len(lessons) == 2
    with jx.debug_key_reuse(True), pytest.raises(KeyReuseError):
        twice()


def test_what_was_told_is_told_again_after_forgetting(lessons: list[Lesson]) -> None:
    with Teaching(lessons.append) as teaching:
        for _ in range(2):
            X[FAR]
            teaching.forget()
    assert len(lessons) == 2


def test_script_gets_warnings() -> None:
    with Teaching(), pytest.warns(TeachingWarning, match="index out of bounds"):
        X[FAR]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X[FAR]

"""Exceptions of callbacks: kept until they are met, and not much longer."""

from collections.abc import Iterator

import pytest

from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.runtime.failures import (
    clear_failures,
    exception_behind,
    has_unseen_failures,
    keep_failure,
    surfacing,
    unseen_failures,
)


@pytest.fixture(autouse=True)
def _no_failures_before_or_after() -> Iterator[None]:
    clear_failures()
    yield
    clear_failures()


def failing(text: str) -> None:
    raise JaxRuntimeError(f"INTERNAL: {text}")


def test_the_exception_comes_back_however_the_text_was_wrapped():
    error = KeyError("x")
    text = keep_failure(error)
    assert has_unseen_failures()
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            surfacing(failing, f"Error dispatching computation: {text}")
        assert caught.value is error
        assert caught.value.__context__ is None
    assert not has_unseen_failures()


def test_other_errors_stay_what_they_are():
    with pytest.raises(JaxRuntimeError, match="out of memory"):
        surfacing(failing, "out of memory")
    error = ValueError("[host callback failure 1]")
    keep_failure(KeyError())
    assert exception_behind(error) is error
    assert surfacing(len, "abc") == 3


def test_exceptions_nobody_has_met_are_kept_longer_than_others():
    first = keep_failure(KeyError("first"))
    seen = [keep_failure(ValueError(i)) for i in range(100)]
    for text in seen:
        with pytest.raises(ValueError, match=r"\d"):
            surfacing(failing, text)
    for i in range(100):
        with pytest.raises(IndexError):
            surfacing(failing, keep_failure(IndexError(i)))
    with pytest.raises(JaxRuntimeError, match="ValueError: 0"):
        surfacing(failing, seen[0])
    with pytest.raises(KeyError):
        surfacing(failing, first)


def test_the_number_kept_is_bounded():
    for i in range(1000):
        keep_failure(KeyError(i))
    unseen = unseen_failures()
    assert 500 < len(unseen) < 600
    assert unseen[-1].args == (999,)
    assert not unseen_failures()

"""An interrupt or an error at any stage leaves trace state, caches and arrays whole."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import compile_runner
from jxkernel.core.trace import evaluating
from jxkernel.errors import JaxRuntimeError
from jxkernel.primitives.elementwise.trigonometric import sin_p

X = np.float32(0.5)
FAULTS = [KeyboardInterrupt, MemoryError]


class Once:
    """Raises the first time it is asked, and never again."""

    def __init__(self, fault: type[BaseException]) -> None:
        self.fault: type[BaseException] | None = fault
        self.restore: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault


def in_the_function(once: Once, patch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = jnp.sin(x)
        once()
        return y * x

    return f


def in_a_nested_function(once: Once, patch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    inner = jx.jit(in_the_function(once, patch))

    def body(c: Any, _: Any) -> tuple[Any, None]:
        return jx.lax.cond(c > 9, lambda x: x, inner, c), None

    return lambda x: jx.lax.scan(body, x, None, length=1)[0]


def in_a_custom_rule(once: Once, patch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    @jx.custom_jvp
    def f(x: Any) -> Any:
        once()
        return jnp.sin(x) * x

    @f.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        once()
        (x,), (t,) = primals, tangents
        return f(x), (jnp.cos(x) * x + jnp.sin(x)) * t

    return f


def _at_rule(slot: str) -> Callable[[Once, pytest.MonkeyPatch], Callable[[Any], Any]]:
    def stage(once: Once, patch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
        rule = getattr(sin_p, slot)

        def failing(*args: Any, **kwargs: Any) -> Any:
            once()
            return rule(*args, **kwargs)

        sin_p.clear_caches()
        patch.setattr(sin_p, slot, failing)
        return lambda x: jnp.sin(x) * x

    return stage


def while_compiling(once: Once, patch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    def run(compilation: Callable[[], Any]) -> Any:
        once()
        return compilation()

    before = compile_runner.value
    compile_runner.set_global(run)
    once.restore = lambda: compile_runner.set_global(before)
    return lambda x: jnp.sin(x) * x


def while_running(once: Once, patch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        jx.debug.callback(once)
        return jnp.sin(x) * x

    return f


STAGES = {
    "tracing": in_the_function,
    "tracing a nested function": in_a_nested_function,
    "a custom rule": in_a_custom_rule,
    "abstract evaluation": _at_rule("abstract_eval"),
    "differentiation": _at_rule("jvp"),
    "lowering": _at_rule("lower"),
    "compiling": while_compiling,
    "running": while_running,
}
WAYS = {
    "jit": (jx.jit, lambda x: np.sin(x) * x),
    "jit of grad": (lambda f: jx.jit(jx.grad(f)), lambda x: np.cos(x) * x + np.sin(x)),
    "grad of jit": (lambda f: jx.grad(jx.jit(f)), lambda x: np.cos(x) * x + np.sin(x)),
    "vmap of jit": (lambda f: lambda x: jx.vmap(jx.jit(f))(x[None])[0], lambda x: np.sin(x) * x),
}


PASSED = [(s, w) for s in STAGES for w in WAYS if s != "differentiation" or "grad" in w]
"""The stages that each way passes: without ``grad`` nothing is differentiated."""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("stage", "way"), PASSED)
def test_an_interrupted_call_can_be_made_again(
    stage: str, way: str, fault: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    transform, wanted = WAYS[way]
    x = jx.device_put(X)
    once = Once(fault)
    in_a_callback = stage == "running" and fault is MemoryError
    raised = JaxRuntimeError if in_a_callback else fault
    function = transform(STAGES[stage](once, monkeypatch))
    try:
        with pytest.raises(raised):
            _finished(function, x)
        assert evaluating()
        for _ in range(2):
            np.testing.assert_allclose(function(x), wanted(X), rtol=1e-5)
    finally:
        once.restore()
    assert not x.is_deleted()
    assert float(jnp.cos(x)) == pytest.approx(float(np.cos(X)))


def _finished(function: Callable[[Any], Any], x: Any) -> None:
    jx.block_until_ready(function(x))
    jx.effects_barrier()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_hash_that_fails_leaves_the_function_whole(fault: type[BaseException]) -> None:
    once = Once(fault)

    class Size:
        def __hash__(self) -> int:
            once()
            return 3

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Size)

    function = jx.jit(lambda x, size: x * 3, static_argnums=1)
    with pytest.raises((fault, ValueError, TypeError)):
        function(X, Size())
    assert evaluating()
    assert float(function(X, Size())) == 1.5


@pytest.mark.parametrize("fault", FAULTS)
def test_a_transfer_that_fails_leaves_the_function_whole(fault: type[BaseException]) -> None:
    class Data:
        def __init__(self) -> None:
            self.once = Once(fault)

        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            self.once()
            return np.ones(3, np.float32)

    data = Data()
    with pytest.raises(fault):
        jnp.asarray(data)
    assert evaluating()
    np.testing.assert_array_equal(jnp.asarray(data), np.ones(3))

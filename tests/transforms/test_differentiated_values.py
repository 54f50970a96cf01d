"""No door out of a differentiated or batched value drops its derivative or its batch axis.

Each door is tried under each transform: the value either stays what it is, or the door is closed
by an error.  Conditions, and ``int``, may look at a value that is known: they have no derivative.
"""

import copy
import decimal
import math
import operator
import pickle
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import errors, lax
from jxkernel.core.trace import METHODS_OF_DATA

ARRAY, NUMBER = errors.TracerArrayConversionError, errors.ConcretizationTypeError
X = np.float32(2)


def filled(x: Any) -> Any:
    array = np.zeros(3)
    array.fill(x)
    return array.sum()


def stored(x: Any) -> Any:
    array = np.zeros(3)
    array[0] = x
    return array.sum()


CLOSED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{name: (operator.methodcaller(name), NUMBER) for name in METHODS_OF_DATA},
    "float": (float, NUMBER),
    "complex": (complex, NUMBER),
    "item": (lambda x: x.item(), NUMBER),
    "tolist": (lambda x: x.tolist(), NUMBER),
    "math.log": (math.log, NUMBER),
    "math.floor": (math.floor, NUMBER),
    "math.isfinite": (math.isfinite, NUMBER),
    "percent": (lambda x: float("%f" % x), NUMBER),  # noqa: UP031 - the door
    "decimal": (lambda x: float(decimal.Decimal(x)), TypeError),
    "statistics": (lambda x: statistics.fmean([x, x]), NUMBER),
    "pickle": (lambda x: pickle.loads(pickle.dumps(x)), NUMBER),
    "dlpack": (np.from_dlpack, NUMBER),
    "index": (operator.index, TypeError),
    "range": (lambda x: len(range(x)), TypeError),
    "hash": (hash, TypeError),
    "key": (lambda x: {x: 1.0}[x], TypeError),
    "format": (lambda x: float(f"{x:.3f}"), TypeError),
    "text": (lambda x: float(str(x)), ValueError),
    "memoryview": (memoryview, TypeError),
    "asarray": (np.asarray, ARRAY),
    "array": (np.array, ARRAY),
    "__array__": (lambda x: x.__array__(), ARRAY),
    "np.log": (np.log, ARRAY),
    "np.abs": (np.abs, ARRAY),
    "np.maximum": (lambda x: np.maximum(x, 1.0), ARRAY),
    "np.isnan": (np.isnan, ARRAY),
    "np.where": (lambda x: np.where(True, x, 0.0), ARRAY),
    "np.array of a list": (lambda x: np.array([x, x]).sum(), ARRAY),
    "np.stack": (lambda x: np.stack([x, x]).sum(), ARRAY),
    "np.sum of a list": (lambda x: np.sum([x, x]), ARRAY),
    "np.dot": (lambda x: np.dot(np.ones(3), x).sum(), ARRAY),
    "np.full": (lambda x: np.full(3, x).sum(), ARRAY),
    "np.fromiter": (lambda x: np.fromiter([x], np.float32).sum(), (NUMBER, ValueError)),
    "fill": (filled, (NUMBER, ValueError)),
    "item assignment": (stored, (NUMBER, ValueError)),
}
"""Name -> what makes a Python or NumPy value of one that is traced, and the error it is."""

KEPT: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "device_put": jx.device_put,
    "device_get": jx.device_get,
    "jnp.asarray": lambda x: jnp.asarray([x, x])[0],
    "iteration": lambda x: next(iter(jnp.stack([x, x]))),
    "abs": abs,
    "sum": lambda x: sum([x, 0.0 * x]),
    "np.float32 * x": lambda x: np.float32(1) * x,
    "array * x": lambda x: (np.ones(1, np.float32) * x)[0],
    "array += x": lambda x: operator.iadd(np.zeros(1, np.float32), x)[0],
    "array @ x": lambda x: np.ones(1, np.float32) @ (x * jnp.ones(1)),
    "np.real": np.real,
}
"""Name -> what looks like such a door and gives back the very value."""


def linearized(f: Callable[..., Any]) -> Any:
    return jx.linearize(f, X)[1](np.float32(1))


DERIVATIVES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: jx.grad(f)(X),
    "value_and_grad": lambda f: jx.value_and_grad(f)(X)[1],
    "jvp": lambda f: jx.jvp(f, (X,), (np.float32(1),))[1],
    "vjp": lambda f: jx.vjp(f, X)[1](np.float32(1))[0],
    "linearize": linearized,
    "jacfwd": lambda f: jx.jacfwd(f)(X),
    "jacrev": lambda f: jx.jacrev(f)(X),
    "jvp of grad": lambda f: jx.jvp(jx.grad(lambda x: x * f(x) / 2), (X,), (X / 3,))[1],
    "vmap of grad": lambda f: jx.vmap(jx.grad(f))(jnp.full(2, X))[0],
    "grad of checkpoint": lambda f: jx.grad(jx.checkpoint(f))(X),
    "grad of jit": lambda f: jx.grad(jx.jit(f))(X),
    "grad of vmap": lambda f: jx.grad(lambda x: jx.vmap(f)(x * jnp.ones(2)).mean())(X),
    "grad of scan": lambda f: jx.grad(
        lambda x: lax.scan(lambda c, _: (c + f(x), None), 0.0, None, length=1)[0]
    )(X),
    "grad of cond": lambda f: jx.grad(lambda x: lax.cond(x > 0, f, lambda v: v, x))(X),
    "grad of shard_map": lambda f: jx.grad(
        jx.shard_map(
            f, mesh=jx.make_mesh((1,), ("i",)), in_specs=jx.P(), out_specs=jx.P(), check_vma=False
        )
    )(X),
}
EAGER = ("grad", "value_and_grad", "jvp", "vjp", "linearize", "jacfwd", "jacrev", "jvp of grad")


@pytest.mark.parametrize("transform", DERIVATIVES.values(), ids=DERIVATIVES)
@pytest.mark.parametrize(("door", "error"), CLOSED.values(), ids=CLOSED)
def test_closed_doors_raise_under_every_derivative(door, error, transform):
    with pytest.raises(error):
        transform(lambda x: jnp.float32(1) * door(x) * x)


@pytest.mark.parametrize(("door", "error"), CLOSED.values(), ids=CLOSED)
def test_closed_doors_raise_under_vmap(door, error):
    with pytest.raises(error):
        jx.vmap(lambda x: door(x) * x)(jnp.arange(2.0))


@pytest.mark.parametrize("transform", DERIVATIVES.values(), ids=DERIVATIVES)
@pytest.mark.parametrize("door", KEPT.values(), ids=KEPT)
def test_open_doors_keep_the_derivative(door, transform):
    np.testing.assert_allclose(transform(lambda x: door(x) * x), 4.0)


@pytest.mark.parametrize("door", KEPT.values(), ids=KEPT)
def test_open_doors_keep_the_batch_axis(door):
    np.testing.assert_allclose(jx.vmap(lambda x: door(x) * x)(jnp.arange(3.0)), [0.0, 1.0, 4.0])


CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: x * x if x > 0 else -x,
    "bool": lambda x: x * x if bool(x) else -x,
    "not": lambda x: -x if not x else x * x,
    "and": lambda x: x * x if x > 0 and x < 3 else -x,
    "in": lambda x: x * x if x in (1.0, 2.0) else -x,
    "max": lambda x: max(x, 1.0) * x,
    "sorted": lambda x: sorted([x, 1.0])[1] * x,
    "int": lambda x: int(x) * x * x / 2,
    "int of a whole number": lambda x: int(jnp.floor(x)) * x * x / 2,
    "int of a position": lambda x: (1 + int(jnp.argmax(jnp.stack([x, x])))) * x * x,
    "loop": lambda x: sum((x for _ in range(int(x))), start=0.0) * x / 2,
    "stop_gradient": lambda x: float(lax.stop_gradient(x)) * x * x / 2,
}


@pytest.mark.parametrize("transform", EAGER)
@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_conditions_look_at_known_values(condition, transform):
    np.testing.assert_allclose(DERIVATIVES[transform](condition), 4.0)


SHAPES_BY_VALUE: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda x: (x[jnp.nonzero(x)] ** 2).sum(),
    "mask": lambda x: (x[x > 0.5] ** 2).sum(),
    "extract": lambda x: (jnp.extract(x > 0.5, x) ** 2).sum(),
    "unique": lambda x: (jnp.unique(x) ** 2).sum(),
    "trim_zeros": lambda x: (jnp.trim_zeros(x) ** 2).sum(),
    "polymul": lambda x: (jnp.polymul(x, x, trim_leading_zeros=True)[0]) + x[2] ** 2,
    "arange": lambda x: (jnp.arange(x[2]) * x[2]).sum() + x[0] ** 2,
}


@pytest.mark.parametrize("function", SHAPES_BY_VALUE.values(), ids=SHAPES_BY_VALUE)
def test_values_that_decide_a_shape_keep_their_derivatives(function):
    x = jnp.array([1.0, 0.0, 2.0])
    gradient = jx.grad(function)(x)
    assert float(jnp.abs(gradient).sum()) > 0
    np.testing.assert_allclose(jx.jvp(function, (x,), (jnp.ones(3),))[1], gradient.sum())


def test_roots_are_differentiated_where_zeros_are_stripped():
    gradient = jx.grad(lambda p: jnp.roots(p).real.max())(jnp.array([0.0, 1.0, -3.0, 2.0]))
    np.testing.assert_allclose(gradient[1:], [-4.0, -2.0, -1.0], rtol=1e-5)


def test_arange_refuses_a_differentiated_start():
    with pytest.raises(NUMBER, match=r"arange got start=.*the derivative would be lost"):
        jx.grad(lambda x: jnp.arange(x, 5.0).sum())(1.5)


def test_the_messages_say_what_is_lost_and_what_to_write():
    with pytest.raises(ARRAY, match=r"its derivative would be lost in NumPy(.|\n)*jnp"):
        jx.grad(lambda x: np.log(x))(2.0)
    with pytest.raises(NUMBER, match=r"float\(\) was asked of a differentiated value of type f32"):
        jx.grad(math.log)(2.0)
    with pytest.raises(NUMBER, match=r"apply item\(\) to lax.stop_gradient"):
        jx.grad(lambda x: x.item() * x)(2.0)

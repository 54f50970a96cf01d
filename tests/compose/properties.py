"""What must hold of every program, whatever it computes.

Everything runs in float64, where two ways to the same number agree to about 1e-10 and finite
differences are good to about 1e-6.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export
from jxkernel.core.checking import check_jaxpr
from tests.compose.vocabulary import names
from tests.compose.writing import Program

STEEPEST = 1e3
NAMES = names("jxkernel")

Arrays = Sequence[Any]
Function = Callable[..., Any]


def points(program: Program, seed: int = 0, batch: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Return arguments in general position: no two elements are equal, none is at a kink.

    They are arrays of ours: of NumPy's, programs that run eagerly would ask for methods that only
    ours have.
    """
    random = np.random.default_rng(seed)
    return tuple(jnp.asarray(random.uniform(-1, 1, (*batch, *shape))) for shape in program.shapes)


def close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Compare by the magnitude of the whole array: cancellation in one element is no error."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    scale = 1.0 + np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def inner(left: Arrays, right: Arrays) -> float:
    """Return the sum of products of all elements of two lists of arrays."""
    return sum(
        float(np.sum(np.asarray(a) * np.asarray(b))) for a, b in zip(left, right, strict=True)
    )


def moved(args: Arrays, direction: Arrays, step: float) -> list[Any]:
    return [x + step * t for x, t in zip(args, direction, strict=True)]


def difference(f: Function, args: Arrays, direction: Arrays, step: float) -> Any:
    """Return the derivative of ``f`` along a direction by differences of fourth order."""
    at = {k: np.asarray(f(*moved(args, direction, k * step))) for k in (-2, -1, 1, 2)}
    return (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (12 * step)


def agrees_with_differences(actual: Any, f: Function, args: Arrays, direction: Arrays) -> None:
    """Check a directional derivative; a kink or a high frequency may spoil one step, not both.

    Functions so steep that no step is small enough are left to the other properties.
    """
    if np.max(np.abs(actual), initial=0.0) > STEEPEST:
        return
    try:
        close(actual, difference(f, args, direction, 1e-3), 1e-5)
    except AssertionError:
        close(actual, difference(f, args, direction, 1e-5), 1e-5)


def scalar(f: Function) -> Function:
    """Return the function whose result is a smooth scalar of that of ``f``."""
    return lambda *args: jnp.sum(jx.vjp(f, *args)[0])


def eager_agrees_with_jit(program: Program) -> None:
    f, args = program.function(NAMES), points(program)
    expected = f(*args)
    compiled = jx.jit(f)(*args)
    close(compiled, expected)
    # Interned: equal types are one object.  Eagerly and staged, types follow the same rules.
    assert compiled.aval is jx.device_put(expected).aval


def vmap_agrees_with_a_loop(program: Program) -> None:
    f = program.function(NAMES)
    args = points(program, batch=(2,))
    rows = [f(*row) for row in zip(*args, strict=True)]
    close(jx.vmap(f)(*args), np.stack([np.asarray(row) for row in rows]))
    partly = (0, *(None for _ in args[1:]))
    fixed = [x[0] for x in args[1:]]
    rows = [f(x, *fixed) for x in args[0]]
    last = np.stack([np.asarray(row) for row in rows], axis=-1)
    close(jx.jit(jx.vmap(f, in_axes=partly, out_axes=-1))(args[0], *fixed), last)


def jvp_agrees_with_differences(program: Program) -> None:
    f, args, direction = program.function(NAMES), points(program), points(program, 1)
    value, tangent = jx.jvp(f, args, direction)
    close(value, f(*args))
    agrees_with_differences(tangent, jx.jit(f), args, direction)
    close(jx.jit(lambda x, t: jx.jvp(f, x, t)[1])(args, direction), tangent)


def vjp_is_the_transpose_of_jvp(program: Program) -> None:
    f, args, direction = program.function(NAMES), points(program), points(program, 1)
    value, pullback = jx.vjp(f, *args)
    cotangent = np.random.default_rng(2).uniform(-1, 1, np.shape(value))
    pulled = pullback(cotangent)
    tangent = jx.jvp(f, args, direction)[1]
    close(inner(pulled, direction), inner([cotangent], [tangent]))
    again = jx.jit(lambda x, ct: jx.vjp(jx.jit(f), *x)[1](ct))(args, cotangent)
    for one, other in zip(again, pulled, strict=True):
        close(one, other)
    close(jx.linearize(f, *args)[1](*direction), tangent)


def second_derivatives_agree(program: Program) -> None:
    f, args = scalar(program.function(NAMES)), points(program)
    one, other = points(program, 1), points(program, 2)
    every = tuple(range(len(args)))
    gradient = jx.grad(f, argnums=every)
    along_one = jx.jvp(gradient, args, one)[1]
    along_other = jx.jit(lambda x, t: jx.jvp(gradient, x, t)[1])(args, other)
    close(inner(along_one, other), inner(along_other, one))
    backward = jx.grad(lambda *x: jx.jvp(f, x, one)[1], argnums=every)(*args)
    for forward_over, reverse_over in zip(along_one, backward, strict=True):
        close(reverse_over, forward_over)


def gradients_under_vmap_agree_with_a_loop(program: Program) -> None:
    f = scalar(program.function(NAMES))
    gradient = jx.grad(f, argnums=tuple(range(len(program.shapes))))
    args = points(program, batch=(2,))
    rows = [gradient(*row) for row in zip(*args, strict=True)]
    for position, batched in enumerate(jx.jit(jx.vmap(gradient))(*args)):
        close(batched, np.stack([np.asarray(row[position]) for row in rows]))
    summed = jx.grad(lambda *x: jnp.sum(jx.vmap(f)(*x)))(*args)
    close(summed, np.stack([np.asarray(row[0]) for row in rows]))


def every_jaxpr_is_well_formed(program: Program) -> None:
    f, args, direction = program.function(NAMES), points(program), points(program, 1)
    for way in (
        f,
        lambda *x: jx.jvp(f, x, direction),
        lambda *x: jx.vjp(f, *x)[1](jx.vjp(f, *x)[0]),
        lambda *x: jx.vmap(f, axis_size=2, in_axes=None)(*x),
        lambda *x: jx.grad(scalar(jx.jit(f)))(*x),
    ):
        check_jaxpr(jx.make_jaxpr(way)(*args).jaxpr)


def vjp_agrees_with_differences(program: Program) -> None:
    f, args, direction = program.function(NAMES), points(program), points(program, 1)
    value, pullback = jx.vjp(f, *args)
    cotangent = np.random.default_rng(2).uniform(-1, 1, np.shape(value))
    along = np.asarray(inner(pullback(cotangent), direction))

    def weighted(*x: Any) -> Any:
        return np.asarray(inner([f(*x)], [cotangent]))

    agrees_with_differences(along, weighted, args, direction)


def checkpoint_changes_nothing(program: Program) -> None:
    f, args = scalar(program.function(NAMES)), points(program)
    every = tuple(range(len(args)))
    gradient = jx.grad(f, every)(*args)
    policies = jx.checkpoint_policies
    for policy in (None, policies.dots_saveable, policies.everything_saveable):
        kept = jx.checkpoint(f, policy=policy)
        close(kept(*args), f(*args))
        for one, other in zip(jx.jit(jx.grad(kept, every))(*args), gradient, strict=True):
            close(one, other)


def an_exported_program_gives_the_same(program: Program) -> None:
    f, args = program.function(NAMES), points(program)
    exported = export.export(jx.jit(f))(*args)
    again = export.deserialize(exported.serialize())
    close(again.call(*args), f(*args))
    smooth = scalar(f)
    blob = export.export(jx.jit(smooth))(*args).serialize(vjp_order=1)
    every = tuple(range(len(args)))
    pulled = jx.grad(export.deserialize(blob).call, every)(*args)
    for one, other in zip(pulled, jx.grad(smooth, every)(*args), strict=True):
        close(one, other)


ANY_ORDER: tuple[Callable[[Program], None], ...] = (
    an_exported_program_gives_the_same,
    checkpoint_changes_nothing,
    eager_agrees_with_jit,
    vmap_agrees_with_a_loop,
    jvp_agrees_with_differences,
    vjp_is_the_transpose_of_jvp,
    second_derivatives_agree,
    gradients_under_vmap_agree_with_a_loop,
    every_jaxpr_is_well_formed,
)
"""Properties of programs that have derivatives both ways, to any order."""
FORWARD_ONLY = (eager_agrees_with_jit, vmap_agrees_with_a_loop, jvp_agrees_with_differences)
REVERSE_ONLY = (
    eager_agrees_with_jit,
    vmap_agrees_with_a_loop,
    vjp_agrees_with_differences,
    gradients_under_vmap_agree_with_a_loop,
)

"""Optimizers as triples of functions: to begin, to take a step, and to read the parameters.

An optimizer is written for one array; ``optimizer`` makes it one for pytrees.

Sources: J. Duchi et al., "Adaptive subgradient methods", JMLR 2011 (``adagrad``); D. Kingma and
J. Ba, "Adam: a method for stochastic optimization", ICLR 2015 (``adam``, ``adamax``); R. Anil et
al., "Memory-efficient adaptive optimization", NeurIPS 2019 (``sm3``).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jxkernel import numpy as jnp
from jxkernel import tree
from jxkernel.tree.prefix import structure_text

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]

Schedule = Callable[[Any], Any]
"""From the number of a step to its size."""


class Optimizer(NamedTuple):
    """An optimizer.

    Attributes:
      init_fn: from parameters to a state.
      update_fn: from the number of a step, gradients and a state to the next state.
      params_fn: from a state to parameters.
    """

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


@dataclass(frozen=True)
class OptimizerState:
    """A state: what is kept of each leaf of the parameters, flat, and the structures of both.

    Attributes:
      packed_state: for each leaf of the parameters, the leaves of what is kept of it.
      tree_def: the structure of the parameters.
      subtree_defs: for each leaf, the structure of what is kept of it.
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree.register_dataclass(OptimizerState, ["packed_state"], ["tree_def", "subtree_defs"])


class JoinPoint:
    """Marks, in a state that is taken apart, where a leaf of the parameters was.

    Attributes:
      subtree: what is kept of the leaf.
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Make an optimizer of pytrees of one that is written for an array; a decorator.

    Args:
      opt_maker: a function that returns ``init(x)``, ``update(step, gradient, state)`` and
        ``read(state)`` of one array.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.example_libraries import optimizers
    >>> init, update, read = optimizers.sgd(0.5)
    >>> state = update(0, {"w": jnp.array([1.0, 2.0])}, init({"w": jnp.array([3.0, 3.0])}))
    >>> read(state)["w"].tolist()
    [2.5, 2.0]
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, read = opt_maker(*args, **kwargs)

        def init_all(parameters: Any) -> OptimizerState:
            leaves, structure = tree.flatten(parameters)
            return _packed([init(leaf) for leaf in leaves], structure)

        def update_all(i: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            leaves, structure = tree.flatten(gradients)
            if structure != state.tree_def:
                raise TypeError(
                    "the gradients must have the structure of the parameters, "
                    f"{structure_text(state.tree_def)}, got {structure_text(structure)}"
                )
            pairs = zip(leaves, _states(state), strict=True)
            return _packed([update(i, leaf, kept) for leaf, kept in pairs], structure)

        def read_all(state: OptimizerState) -> Any:
            return tree.unflatten(state.tree_def, [read(kept) for kept in _states(state)])

        return Optimizer(init_all, update_all, read_all)

    return make


def _packed(kept: list[Any], structure: Any) -> OptimizerState:
    flat = [tree.flatten(one) for one in kept]
    leaves = tuple(tuple(leaves) for leaves, _ in flat)
    return OptimizerState(leaves, structure, tuple(structure for _, structure in flat))


def _states(state: OptimizerState) -> list[Any]:
    return list(map(tree.unflatten, state.subtree_defs, state.packed_state))


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return a state as a tree like the parameters, with a ``JoinPoint`` for each of their leaves.

    It holds arrays, tuples and dicts alone, which files can keep.
    """
    return tree.unflatten(opt_state.tree_def, list(map(JoinPoint, _states(opt_state))))


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state that was taken apart by ``unpack_optimizer_state``."""
    points, structure = tree.flatten(marked_pytree, is_leaf=lambda x: isinstance(x, JoinPoint))
    if not all(isinstance(point, JoinPoint) for point in points):
        raise TypeError("pack_optimizer_state takes a tree whose leaves are JoinPoints")
    return _packed([point.subtree for point in points], structure)


# ---------------------------------------------------------------- optimizers of one array

Parts = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


def _first(state: Any) -> Any:
    return state[0]


def _inverse_root(x: Any) -> Any:
    """Return 1 / sqrt(x), and 0 where nothing has been summed up."""
    return jnp.where(x > 0, 1 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0)


@optimizer
def sgd(step_size: float | Schedule) -> Parts:
    """Return an optimizer that goes a step along the negative gradient.

    Args:
      step_size: a number, or a function from the step's number to one.
    """
    size = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - size(i) * g, lambda x: x


@optimizer
def momentum(step_size: float | Schedule, mass: float) -> Parts:
    """Return an optimizer that goes along a sum of gradients, older ones counting less.

    Args:
      step_size: a number, or a function from the step's number to one.
      mass: how much of the sum is kept in a step.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * velocity, velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def nesterov(step_size: float | Schedule, mass: float) -> Parts:
    """Return an optimizer like ``momentum`` that looks a step ahead.

    Args:
      step_size: a number, or a function from the step's number to one.
      mass: how much of the sum is kept in a step.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * (mass * velocity + g), velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def adagrad(step_size: float | Schedule, momentum: float = 0.9) -> Parts:
    """Return an optimizer that divides by the root of the sum of squared gradients.

    Args:
      step_size: a number, or a function from the step's number to one.
      momentum: how much of the direction is kept in a step.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, direction = state
        squares = squares + jnp.square(g)
        direction = (1 - momentum) * (g * _inverse_root(squares)) + momentum * direction
        return x - size(i) * direction, squares, direction

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop(step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8) -> Parts:
    """Return an optimizer that divides by the root of a running mean of squared gradients.

    Args:
      step_size: a number, or a function from the step's number to one.
      gamma: how much of the mean is kept in a step.
      eps: what is added below the root.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1 - gamma)
        return x - size(i) * g / jnp.sqrt(mean + eps), mean

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(
    step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Parts:
    """Return an optimizer like ``rmsprop`` that keeps a part of each step.

    Args:
      step_size: a number, or a function from the step's number to one.
      gamma: how much of the mean is kept in a step.
      eps: what is added below the root.
      momentum: how much of a step is kept in the next.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, step = state
        mean = mean * gamma + jnp.square(g) * (1 - gamma)
        step = momentum * step + size(i) * g / jnp.sqrt(mean + eps)
        return x - step, mean, step

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adam(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Parts:
    """Return an optimizer by running means of the gradient and of its square.

    Args:
      step_size: a number, or a function from the step's number to one.
      b1: how much of the mean of gradients is kept in a step.
      b2: how much of the mean of squares is kept in a step.
      eps: what is added to the root.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, square = state
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * jnp.square(g) + b2 * square
        grown = mean / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        spread = square / (1 - jnp.asarray(b2, mean.dtype) ** (i + 1))
        return x - size(i) * grown / (jnp.sqrt(spread) + eps), mean, square

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adamax(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Parts:
    """Return an optimizer like ``adam``, by the largest gradient in place of the mean square.

    Args:
      step_size: a number, or a function from the step's number to one.
      b1: how much of the mean of gradients is kept in a step.
      b2: how much of the largest gradient is kept in a step.
      eps: what is added to it.
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        grown = size(i) / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        return x - grown * mean / (largest + eps), mean, largest

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def sm3(step_size: float | Schedule, momentum: float = 0.9) -> Parts:
    """Return an optimizer like ``adagrad`` that keeps one sum for each place along each axis.

    Args:
      step_size: a number, or a function from the step's number to one.
      momentum: how much of the direction is kept in a step.
    """
    size = make_schedule(step_size)

    def along(sums: Any, axis: int, rank: int) -> Any:
        return sums.reshape([-1 if axis == a else 1 for a in range(rank)])

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in jnp.shape(x)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, direction, sums = state
        rank = x.ndim
        full = functools.reduce(jnp.minimum, [along(s, a, rank) for a, s in enumerate(sums)])
        full = full + jnp.square(g)
        direction = (1 - momentum) * (g * _inverse_root(full)) + momentum * direction
        sums = [full.max(tuple(b for b in range(rank) if b != a)) for a in range(rank)]
        return x - size(i) * direction, direction, sums

    return init, update, _first


# ---------------------------------------------------------------- sizes of steps


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Return a function from a step's number to its size.

    Args:
      scalar_or_schedule: such a function, or a size for all steps.

    Raises:
      TypeError: it is neither.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"a step's size is a number or a function, got {scalar_or_schedule!r:.100}")


def constant(step_size: Any) -> Schedule:
    """Return a schedule of equal steps."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return a schedule whose steps become smaller by a factor in every ``decay_steps``."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """Return a schedule of steps like ``step_size / (1 + decay_rate * i / decay_steps)``.

    Args:
      step_size: the first step's size.
      decay_steps: how many steps count as one.
      decay_rate: how fast they become smaller.
      staircase: whether only whole multiples of ``decay_steps`` count.
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """Return a schedule that comes to a last size along a power of the steps that remain."""

    def size(i: Any) -> Any:
        gone = jnp.minimum(i, decay_steps)
        return final_step_size + (step_size - final_step_size) * (1 - gone / decay_steps) ** power

    return size


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return a schedule that changes its size at some steps.

    Args:
      boundaries: the steps, in ascending order.
      values: the sizes before the first, between each two, and from the last on.

    Raises:
      ValueError: there is not one value more than boundaries.
    """
    steps, sizes = jnp.array(boundaries), jnp.array(values)
    if not steps.ndim == sizes.ndim == 1 or sizes.size != steps.size + 1:
        raise ValueError(
            "piecewise_constant needs a vector of steps and one of sizes that is longer by one, "
            f"got shapes {steps.shape} and {sizes.shape}"
        )
    return lambda i: sizes[jnp.sum(i > steps)]


# ---------------------------------------------------------------- norms


def l2_norm(tree: Any) -> Any:
    """Return the Euclidean norm of all numbers of a tree together."""
    return jnp.sqrt(sum(_squares(tree)))


def _squares(numbers: Any) -> list[Any]:
    return [jnp.vdot(x, x) for x in tree.leaves(numbers)]


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return gradients made so small together that their norm is at most ``max_norm``."""
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)

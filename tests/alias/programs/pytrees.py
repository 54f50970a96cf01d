"""Pytrees: flattening, mapping, paths, and types of one's own."""

from collections import namedtuple
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import tree_util

tree = {"layers": [(1, 2), None], "scale": 3}
leaves, structure = jax.tree.flatten(tree)
assert leaves == [1, 2, 3]
assert jax.tree.unflatten(structure, leaves) == tree
assert jax.tree.map(lambda x: x * 2, tree)["layers"][0] == (2, 4)
assert jax.tree.reduce(lambda a, b: a + b, tree) == 6
paths = [tree_util.keystr(path) for path, _ in tree_util.tree_leaves_with_path(tree)]
assert paths[0] == "['layers'][0][0]"

Point = namedtuple("Point", ["x", "y"])
assert jax.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)) == Point(3.0, 2.0)


@tree_util.register_pytree_node_class
class Scaled:
    """A value with a factor that is no leaf."""

    def __init__(self, value, factor):
        self.value, self.factor = value, factor

    def tree_flatten(self):
        """Return leaves and the rest."""
        return (self.value,), self.factor

    @classmethod
    def tree_unflatten(cls, factor, leaves):
        """Rebuild."""
        return cls(*leaves, factor)


assert jax.jit(lambda s: s.value * s.factor)(Scaled(jnp.ones(2), 3)).tolist() == [3, 3]


@tree_util.register_dataclass
@dataclass
class State:
    """Parameters and a counter."""

    weights: jax.Array
    step: int


moved = jax.tree.map(lambda x: x + 1, State(jnp.zeros(2), 0))
assert moved.step == 1

"""Messages name what users know: no class of the inside, no text of C++."""

import re

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel._reprs import counted

INSIDE = re.compile(
    r"(Stage|Jvp|Batch)Tracer|ArrayImpl|jaxlib|incompatible function|std::|INVALID_ARGUMENT"
)
X = np.ones(3, np.float32)
STRINGS = np.array(["a"])


def traced(function):
    return lambda: jx.jit(function)(X)


CALLS = {
    "a static argument": (lambda: jnp.swapaxes(X, jnp.ones(3), 0), "it takes whole numbers"),
    "a set of arrays": (lambda: {jnp.ones(3)}, "unhashable type: 'Array'"),
    "a set of traced arrays": (traced(lambda x: {x}), "unhashable type: 'Tracer'"),
    "an array for a type": (
        lambda: jx.tree_util.is_tree_node(jnp.ones(3)),
        "of type Array: write is_tree_node",
    ),
    "an array for a spec": (lambda: jx.vmap(jnp.sin, in_axes=X)(X), "of type ndarray"),
    "a type for an array": (lambda: jnp.fft.fft(jnp.float32), "got the class float32 as"),
    "a missing attribute": (lambda: jnp.ones(3).foo, "'Array' object has no attribute 'foo'"),
    "a called tracer": (lambda: jx.vmap(lambda x: x())(X), "'Tracer' object is not callable"),
    "an axis that is differentiated": (
        lambda: jx.grad(lambda x: jnp.cumsum(X, x).sum())(1.0),
        "of type Tracer: it takes whole numbers",
    ),
    "a function for a number": (lambda: lax.mul(X, jnp.sin), "of type jxkernel.PjitFunction"),
    "strings for numbers": (
        traced(lambda x: jnp.add(x, STRINGS)),
        "add takes arrays and numbers, got array(['a']",
    ),
    "a backend": (lambda: jx.device_count(X), "a backend is named by a platform"),
    "an alias": (lambda: jx.alias(2), "alias takes a name such as 'jax', got 2"),
    "unflatten": (lambda: jx.tree.unflatten(2, [1]), "unflatten takes a PyTreeDef"),
    "transpose": (lambda: jx.tree.transpose(X, None, [1]), "transpose takes a PyTreeDef"),
    "flatten_up_to": (lambda: jx.tree.flatten_up_to(X, 1), "flatten_up_to takes a PyTreeDef"),
    "leaf_paths": (lambda: jx.tree.leaf_paths(X), "leaf_paths takes a PyTreeDef"),
    "treedef_tuple": (lambda: jx.tree_util.treedef_tuple([1]), "treedef_tuple takes a PyTreeDef"),
    "children": (lambda: jx.tree_util.treedef_children(1), "treedef_children takes a PyTreeDef"),
    "leaf": (lambda: jx.tree_util.treedef_is_leaf(1), "treedef_is_leaf takes a PyTreeDef"),
    "strict leaf": (lambda: jx.tree.treedef_is_strict_leaf(1), "strict_leaf takes a PyTreeDef"),
    "all_leaves": (lambda: jx.tree.all_leaves(2), "'int' object is not iterable"),
    "weak_type": (lambda: lax.convert_element_type(X, "f4", weak_type="no") @ 1, "matmul needs"),
    "broadcast": (lambda: jx.tree.broadcast(1, 2, is_leaf=2), "is_leaf must be a function"),
    "map_with_path": (
        lambda: jx.tree.map_with_path(lambda p, x: x, [1], is_leaf=2, is_leaf_takes_path=True),
        "is_leaf must be a function",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_messages_name_nothing_from_the_inside(call):
    run, said = CALLS[call]
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        run()
    assert said in str(raised.value)
    assert INSIDE.search(str(raised.value)) is None


@pytest.mark.parametrize(
    ("count", "one", "words"),
    [
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
        (0, "axis", "0 axes"),
        (1200, "x", "1,200 xs"),
    ],
)
def test_messages_count_in_words(count, one, words):
    assert counted(count, one) == words


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: jx.vmap(jnp.add, in_axes=(0,))(X, X),
            "1 entry and add was called with 2 positional",
        ),
        (lambda: jx.jit(lambda a: a, static_argnums=3), "takes 1 positional argument: a"),
        (lambda: jx.grad(lambda a: a)(), "at least 1 positional argument, and"),
        (lambda: jnp.reshape(jnp.float32(1), (2,)), "and 1 element$"),
        (lambda: jnp.roll(X, (1, 1, 1), (0, 0)), "3 shifts for 2 axes"),
    ],
)
def test_one_thing_is_not_told_as_many(call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call()

"""A random key is a leaf to users, whatever a program takes in its place."""

import pickle

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import dtypes, export, random, tree
from jxkernel import numpy as jnp
from jxkernel.custom_batching import custom_vmap
from jxkernel.custom_derivatives import CustomVJPPrimal, SymbolicZero, custom_vjp_primal_tree_values
from jxkernel.tree import physical

KEY = random.key(3)
KEYS = random.split(KEY, 4)


class Box:
    def __init__(self, content):
        self.content = content


tree.register_pytree_node(
    Box, lambda box: ((box.content,), "meta"), lambda _, children: Box(*children)
)


def same(first, second):
    return first.dtype == second.dtype and bool(jnp.all(first == second))


def test_a_key_is_a_leaf_of_every_tree_function():
    one = {"a": KEYS, "b": (KEY, 1.0)}
    first, second, _ = tree.leaves(one)
    assert first is KEYS
    assert second is KEY
    assert tree.structure(one) == tree.structure({"a": 0, "b": (0, 0)})
    assert tree.map(lambda x: np.shape(x), one) == {"a": (4,), "b": ((), ())}
    drawn = tree.map(lambda key: random.normal(key, (2,)), {"a": KEY})["a"]
    assert drawn.tolist() == random.normal(KEY, (2,)).tolist()
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(one)]
    assert paths == ["['a']", "['b'][0]", "['b'][1]"]
    assert tree.all_leaves([KEY])
    assert not tree.is_tree_node(type(KEY))
    assert tree.unflatten(tree.structure((0,)), [KEY])[0] is KEY
    turned = tree.transpose(tree.structure([0, 0]), None, [{"k": KEY}, {"k": KEY}])
    assert turned["k"][1] is KEY


def test_arrays_of_keys_are_stacked_leaf_by_leaf():
    stacked = tree.map(lambda *leaves: jnp.stack(leaves), {"k": KEY}, {"k": KEYS[1]})
    assert stacked["k"].shape == (2,)
    assert same(stacked["k"][1], KEYS[1])


def test_trees_with_keys_go_through_programs():
    def step(state):
        return {"key": random.fold_in(state["key"], 1), "box": Box(random.normal(state["key"]))}

    found = jx.jit(step)({"key": KEY})
    assert same(found["key"], random.fold_in(KEY, 1))
    assert found["box"].content.item() == random.normal(KEY).item()
    mapped = jx.vmap(step)({"key": KEYS})
    assert same(mapped["key"][2], random.fold_in(KEYS[2], 1))


def test_stages_have_the_structures_of_users():
    def draw(state):
        return Box(random.normal(state["key"])), random.split(state["key"])

    lowered = jx.jit(draw).lower({"key": KEY})
    compiled = lowered.compile()
    ins = tree.structure((({"key": KEY},), {}))
    outs = tree.structure(draw({"key": KEY}))
    assert lowered.in_tree == compiled.in_tree == ins
    assert lowered.out_tree == compiled.out_tree == outs
    assert tree.structure(compiled.input_shardings) == ins
    assert tree.structure(compiled.output_shardings) == outs
    assert tree.structure(compiled.out_info) == outs
    for one in (ins, physical.structure({"key": KEY})):
        assert pickle.loads(pickle.dumps(one)) == one
    exported = export.export(jx.jit(draw))({"key": KEY})
    assert (exported.in_tree, exported.out_tree) == (ins, outs)
    with pytest.raises(ValueError, match=r"take random\.key_data"):
        export.export(jx.jit(lambda key: random.normal(key)))(KEY).serialize()


def test_a_compiled_call_names_the_place_of_a_wrong_key():
    compiled = jx.jit(lambda state: random.normal(state["key"])).lower({"key": KEY}).compile()
    with pytest.raises(TypeError, match=r"args\[0\]\['key'\]"):
        compiled({"key": random.key(0, impl="rbg")})


def test_programs_take_keys_where_they_count_key_data():
    closed = jx.make_jaxpr(lambda key: random.normal(key))(KEY)
    (found,) = jx.core.eval_jaxpr(closed.jaxpr, closed.consts, *tree.leaves(KEY))
    assert found.item() == random.normal(KEY).item()


def test_a_batching_rule_has_a_flag_for_each_key():
    seen = []

    @custom_vmap
    def draw(state, x):
        return state["key"], x

    @draw.def_vmap
    def _(size, batched, state, x):
        seen.append((size, batched, state["key"].shape))
        return (state["key"], x), tree.map(lambda _: True, (state["key"], x))

    keys, _ = jx.vmap(draw)({"key": KEYS}, jnp.arange(4.0))
    assert seen == [(4, [{"key": True}, True], (4,))]
    assert same(keys, KEYS)


def test_rules_that_ask_for_symbolic_zeros_get_keys_marked_whole():
    seen = []

    @jx.custom_vjp
    def scaled(state, x):
        return random.normal(state["key"]) * x

    def forward(state, x):
        seen.append(state["key"])
        plain, _ = custom_vjp_primal_tree_values((state, x))
        return random.normal(plain["key"]) * x.value, plain

    def backward(state, ct):
        return None, ct * random.normal(state["key"])

    scaled.defvjp(forward, backward, symbolic_zeros=True)
    slope = jx.grad(lambda x: scaled({"key": KEY}, x))(2.0)
    assert slope.item() == random.normal(KEY).item()
    (marked,) = seen
    assert isinstance(marked, CustomVJPPrimal)
    assert same(marked.value, KEY)
    assert marked.perturbed is False


def test_the_tangent_of_a_key_is_one_symbolic_zero():
    seen = []

    @jx.custom_jvp
    def scaled(keys, x):
        return random.normal(keys[0]) * x

    def rule(primals, tangents):
        seen.append(tangents[0])
        return scaled(*primals), tangents[1] * random.normal(primals[0][0])

    scaled.defjvp(rule, symbolic_zeros=True)
    jx.jvp(lambda x: scaled(KEYS, x), (2.0,), (1.0,))
    (zero,) = seen
    assert isinstance(zero, SymbolicZero)
    assert (zero.shape, zero.dtype) == ((4,), dtypes.float0)


def test_a_loop_says_that_its_carry_has_keys_of_another_generator():
    def turn(key, _):
        return random.key(0, impl="rbg"), None

    with pytest.raises(TypeError, match="KeyArray"):
        jx.lax.scan(turn, KEY, None, length=2)


def test_the_views_of_users_and_of_programs_have_as_many_leaves():
    one = {"a": KEYS, "b": Box((KEY, 1.0))}
    leaves, structure = physical.flatten(one)
    assert [np.shape(leaf) for leaf in leaves] == [(4, 2), (2,), ()]
    assert physical.logical(structure) == tree.structure(one)
    assert physical.leaf_paths(structure) == tree.leaf_paths(tree.structure(one))
    assert same(structure.unflatten(leaves)["a"], KEYS)

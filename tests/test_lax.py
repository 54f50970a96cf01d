"""The ``lax`` façade: exact, and made of the operations themselves."""

import jxkernel as jx
from jxkernel import lax
from jxkernel.api.control_flow import scanning
from jxkernel.core.primitive import Primitive
from jxkernel.primitives.elementwise import exponential


def test_primitives_are_those_of_the_registry_under_their_names() -> None:
    named = {name: getattr(lax, name) for name in lax.__all__ if name.endswith("_p")}
    expected = {name: name.removesuffix("_p") for name in named}
    expected["linear_solve_p"] = "custom_linear_solve"
    assert {name: primitive.name for name, primitive in named.items()} == expected
    assert all(Primitive.registry[p.name] is p for p in named.values())


def test_every_primitive_has_its_operation_beside_it() -> None:
    renamed = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not"}
    renamed |= {"regularized_incomplete_beta": "betainc", "while": "while_loop"}
    renamed |= {"linear_solve": "custom_linear_solve", "reduce_scatter": "psum_scatter"}
    renamed |= {"sharding_constraint": "with_sharding_constraint", "approx_top_k": "approx_max_k"}
    # Made by other operations alone: moves, sorting, windows of a given function, derivatives.
    without = {"copy", "device_put", "eq_to", "le_to", "lt_to", "select_and_gather_add"}
    without |= {"reduce_window_max", "reduce_window_min", "reduce_window_sum"}
    without |= {"select_and_scatter", "select_and_scatter_add"}
    names = {name.removesuffix("_p") for name in lax.__all__ if name.endswith("_p")} - without
    missing = [name for name in names if not callable(getattr(lax, renamed.get(name, name), None))]
    assert missing == []


def test_facades_hand_on_the_same_objects() -> None:
    assert lax.exp is exponential.exp
    assert lax.scan is scanning.scan
    assert jx.lax is lax

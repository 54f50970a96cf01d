"""``saved_residuals``: what differentiation keeps, and where it was made."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.ad_checkpoint import checkpoint_name, print_saved_residuals, saved_residuals

X = np.ones(3, np.float32)


def f(x, scale):
    hidden = checkpoint_name(jnp.sin(x), "hidden")
    return jnp.cos(hidden) * scale


def texts(function, *args):
    return [
        f"{aval.short()} {text}".partition(" from /")[0]
        for aval, text in saved_residuals(function, *args)
    ]


def test_values_made_on_the_way_are_named_by_operation_and_line():
    found = saved_residuals(f, X, 2.0)
    line = f.__code__.co_firstlineno + 1
    cos = [text for _, text in found if text.startswith("output of cos")]
    assert any(f"{__file__}:{line}:" in text and text.endswith("(f)") for text in cos), found
    assert "f32[] from the argument scale" in texts(f, X, 2.0)


def test_arguments_come_first_and_then_what_is_made_in_order():
    kept = texts(lambda a, b, x: jnp.sin(b @ jnp.exp(a @ x)), np.eye(3), np.eye(3), X)
    names = [text.rpartition(" ")[2] for text in kept]
    assert names == ["a", "b", "x", "exp", "cos"]


def test_a_call_is_looked_into():
    assert sorted(texts(jx.jit(f), X, 2.0)) == sorted(texts(f, X, 2.0))


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        (None, ["f32[3] from the argument x", "f32[] from the argument scale"]),
        (
            jx.checkpoint_policies.save_only_these_names("hidden"),
            [
                "f32[3] from the argument x",
                "f32[] from the argument scale",
                "f32[3] named 'hidden'",
            ],
        ),
        (
            jx.checkpoint_policies.save_and_offload_only_these_names(
                names_which_can_be_saved=(),
                names_which_can_be_offloaded=("hidden",),
                offload_src="device",
                offload_dst="pinned_host",
            ),
            [
                "f32[3] from the argument x",
                "f32[] from the argument scale",
                "f32[3] named 'hidden'",
            ],
        ),
    ],
)
def test_what_a_policy_keeps(policy, kept):
    assert texts(jx.checkpoint(f, policy=policy), X, 2.0) == kept


def test_constants_and_keywords():
    weights = jnp.arange(3.0)
    assert texts(lambda x: (x * weights).sum(), X) == ["f32[3] from a constant"]
    assert any(t == "from the argument scale" for _, t in saved_residuals(f, X, scale=2.0))


def test_it_is_printed_a_line_each(capsys):
    print_saved_residuals(jx.checkpoint(f), X, 2.0)
    printed = capsys.readouterr().out
    assert printed == "f32[3] from the argument x\nf32[] from the argument scale\n"


def test_wrong_use_says_what_to_write_instead():
    with pytest.raises(TypeError, match="saved_residuals needs a callable as f, got 3"):
        saved_residuals(3, X)
    with pytest.raises(TypeError, match="saved_residuals was given 'a'"):
        saved_residuals(f, "a", 2.0)

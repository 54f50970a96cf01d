"""``%jx residuals`` in a real kernel."""

from tests.jupyter.kernels import running_kernel

DEFINE = """
@jx.jit
def loss(w, x):
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return jnp.sum(x)
w, x = jnp.ones((64, 64)), jnp.ones((128, 64))
"""


def test_residuals_are_told_by_line_with_advice():
    with running_kernel() as kernel:
        kernel.ok(DEFINE)
        told = kernel.ok("%jx residuals loss(w, x)")
        shown = (told.result or told.displays[0])["text/plain"]
        assert shown.startswith("Kept for the way back through loss(w, x): 164 KB"), shown
        assert "x = jnp.tanh(x @ w)" in shown
        assert "line 4" in shown
        assert "jx.checkpoint(loss) keeps 164 KB less, for 33% more work" in shown
        told = kernel.ok("%jx residuals (lambda v: jnp.sin(v).sum())(x)").result["text/plain"]
        assert "the call" in told
        assert "<expression" not in told
        assert "jx.checkpoint(f)" in told, "a lambda has no name"
        nothing = kernel.run("%jx residuals jnp.arange(3) + 1")
        assert "has no real or complex argument" in nothing.streams

"""Long chains of elementwise operations: where they are cut, and that results stay."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import config, lax
from jxkernel import numpy as jnp
from jxkernel._jaxlib import version
from jxkernel.lowering import lower_program
from jxkernel.observe import explain, format_ledger, ledger
from jxkernel.observe.recorder import Recorder

X = np.linspace(0.1, 1.0, 5, dtype=np.float32)


def sines(x, p):
    return jnp.sin(x) * p + jnp.cos(x)


def products(x, p):
    return x * p + x * x * 0.1


@jx.jit
def jitted(x, p):
    return x * p + x * x * 0.1


@jx.custom_jvp
def ruled(x, p):
    return x * p + x * x * 0.1


ruled.defjvp(lambda primals, tangents: jx.jvp(products, primals, tangents))


def checkpointed(x, p):
    return jx.checkpoint(products)(x, p)


def unrolled(layer, count):
    def loss(ps, x):
        for index in range(count):
            x = layer(x, ps[index])
        return jnp.sum(x)

    return loss, (np.full(count, 0.5, np.float32), X)


def lowered(fun, args, platform="cpu"):
    return lower_program(jx.make_jaxpr(fun)(*args), name="f", platform=platform)


def gradient(layer, count):
    loss, args = unrolled(layer, count)
    return jx.value_and_grad(loss), args


LAYERS = pytest.mark.parametrize("layer", [sines, products, jitted, ruled, checkpointed])


@LAYERS
def test_gradients_of_chains_store_values_in_proportion_to_the_length(layer):
    short, long = (lowered(*gradient(layer, count)).stored for count in (20, 40))
    assert 4 <= short < long <= 3 * short


def test_each_stored_value_is_a_barrier_of_the_module():
    program = lowered(*gradient(products, 20))
    assert program.text().count("optimization_barrier") == program.stored


@pytest.mark.skipif(
    version < (0, 11, 2), reason="before jaxlib 0.11.2 XLA took barriers out before it fused"
)
@pytest.mark.parametrize("layer", [products, jitted])
def test_what_xla_makes_grows_in_proportion_to_the_length(layer):
    sizes = []
    for count in (5, 10, 20):
        fun, args = gradient(layer, count)
        compiled = jx.jit(fun).lower(*args).compile()
        sizes.append(compiled.as_text().count(" = "))
    assert sizes[2] - sizes[1] < 2.5 * (sizes[1] - sizes[0])


@pytest.mark.parametrize(
    "fun",
    [
        unrolled(sines, 40)[0],
        lambda ps, x: jx.nn.selu(jx.nn.gelu(x)),
        lambda ps, x: (y := unrolled(sines, 40)[0](ps, x), y.max(), y.min(), y * y),
        lambda ps, x: jx.grad(lambda x: jnp.sum(jx.nn.selu(x)))(x),
        lambda ps, x: (lax.fori_loop(0, 40, lambda i, x: sines(x, ps[i]), x), jnp.sum(x)),
    ],
    ids=["one loop", "formula", "four results", "gradient of a formula", "loop"],
)
def test_what_few_loops_need_is_not_stored(fun):
    assert lowered(fun, unrolled(sines, 40)[1]).stored == 0


def test_scalars_and_elements_made_of_words_are_not_stored():
    fun, (ps, _) = gradient(products, 20)
    assert lowered(fun, (ps, np.float32(1))).stored == 0
    keys = jx.random.split(jx.random.key(0), 3)

    def reversed_often(keys):
        for _ in range(30):
            keys = keys[::-1]
        return jx.random.uniform(keys[0]), jx.random.key_data(keys), keys

    lowered(reversed_often, (keys,))


def test_the_setting_leaves_chains_whole():
    program = gradient(products, 20)
    with config.long_chains("whole"):
        assert lowered(*program).stored == 0
    assert lowered(*program).stored


def test_other_platforms_have_their_chains_whole():
    assert lowered(*gradient(products, 20), platform="cuda").stored == 0


@pytest.mark.parametrize("layer", [sines, jitted])
def test_results_are_the_same_to_rounding(layer):
    fun, args = gradient(layer, 12)
    cut = jx.jit(fun)(*args)
    with config.long_chains("whole"):
        whole = jx.jit(fun)(*args)
    for one, other in zip(jx.tree.leaves(cut), jx.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6)


def test_another_setting_compiles_anew_without_a_trace():
    fun, args = gradient(products, 10)
    traces = []

    @jx.jit
    def counted(*args):
        traces.append(1)
        return fun(*args)

    counted(*args)
    with Recorder() as recorder:
        counted(*args)
        with config.long_chains("whole"):
            counted(*args)
        counted(*args)
    assert len(traces) == 1
    rows = ledger(recorder, fun="counted")
    assert [row.stored for row in rows if row.compile_ns] == [0]


@pytest.mark.parametrize("wrong", ["fast", None, True, "Cut"])
def test_a_wrong_name_is_refused(wrong):
    with pytest.raises(ValueError, match="jax_long_chains takes one of 'cut', 'whole'; got"):
        config.update("jax_long_chains", wrong)


def test_the_ledger_tells_that_values_are_stored():
    fun, args = gradient(products, 20)

    def chain(*args):
        return fun(*args)

    with Recorder() as recorder:
        jx.jit(chain)(*args)
    [row] = ledger(recorder, fun="chain")
    assert row.stored == lowered(*gradient(products, 20)).stored
    note = f"note: {row.stored} values are stored, so that loops that read them do not"
    assert note in format_ledger([row])
    assert note in explain(chain, recorder)


def normalized(x):
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 0.1)


def residual(count, layer=normalized):
    def loss(ps, x):
        for index in range(count):
            x = x + jnp.tanh(layer(x) @ ps[index])
        return jnp.sum(x)

    return jx.value_and_grad(loss), (np.full((count, 4, 4), 0.1, np.float32), np.ones((3, 4), "f"))


def test_what_products_of_matrices_read_is_stored_for_the_other_loops():
    fun, args = residual(4)
    assert lowered(fun, args).stored >= 3
    args = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)

    def formula(x):
        return jnp.polyval(np.arange(8, dtype=np.float32), x, unroll=8)

    assert lowered(lambda x, w: (formula(x) @ w, formula(x) + 1), args).stored == 0
    assert lowered(lambda x, w: ((y := formula(x)) @ w, y + 1), args).stored == 1
    assert lowered(lambda x, w: ((y := x + 1) @ w, y + 1), args).stored == 0


def test_reductions_alone_store_nothing():
    def both(x):
        y = jnp.sin(x) * x + x * x
        return jnp.sum(y), jnp.max(y), y[::2], jnp.concatenate([y, y])

    assert lowered(both, (X,)).stored == 0


@pytest.mark.parametrize("count", [1, 4])
def test_results_of_residual_layers_are_the_same_to_rounding(count):
    fun, args = residual(count)
    cut = jx.jit(fun)(*args)
    with config.long_chains("whole"):
        whole = jx.jit(fun)(*args)
    for one, other in zip(jx.tree.leaves(cut), jx.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)

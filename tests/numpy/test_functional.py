"""Functions that take functions, give plans, or are indexed: none of them is a row of a table."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


def scaled(x, y, factor):
    return x * y + factor


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit])
def test_vectorize_broadcasts_a_function_of_numbers(wrap):
    x, y = np.arange(3.0, dtype=np.float32)[:, None], np.arange(2.0, dtype=np.float32)
    found = wrap(jnp.vectorize(lambda a, b: jnp.where(a > b, a, b)))(x, y)
    np.testing.assert_array_equal(found, np.vectorize(max)(x, y))


def test_vectorize_leaves_excluded_arguments_whole():
    given = []

    def function(x, table):
        given.append(table.shape)
        return table[0] * x

    found = jnp.vectorize(function, excluded={1})(np.arange(3), np.arange(5))
    np.testing.assert_array_equal(found, [0, 0, 0])
    assert given == [(5,)]


@pytest.mark.parametrize(
    ("function", "signature", "shapes", "wanted"),
    [
        (jnp.dot, "(n),(n)->()", [(2, 3), (3,)], (2,)),
        (jnp.matmul, "(m,n),(n,k)->(m,k)", [(5, 1, 2, 3), (4, 3, 2)], (5, 4, 2, 2)),
        (jnp.outer, "(m),(n)->(m,n)", [(2, 3), (2, 4)], (2, 3, 4)),
        (jnp.cumsum, "(n)->(n)", [(0, 3)], (0, 3)),
    ],
)
def test_vectorize_of_cores_is_what_numpy_makes_of_them(function, signature, shapes, wanted):
    arrays = [np.arange(float(np.prod(s))).reshape(s).astype(np.float32) for s in shapes]
    found = jnp.vectorize(function, signature=signature)(*arrays)
    assert found.shape == wanted
    if found.size:
        reference = np.vectorize(getattr(np, function.__name__), signature=signature)
        np.testing.assert_allclose(found, reference(*arrays))


@pytest.mark.parametrize(
    ("function", "signature", "shapes", "wanted"),
    [
        (lambda x, y: x + y.sum(), "(),(n)->()", [(3,), (2, 1, 4)], (2, 3)),
        (lambda y, x: x + y.sum(), "(n),()->()", [(2, 1, 4), (3,)], (2, 3)),
        (lambda x, y: (x, y, x), "(),(n)->(),(n),()", [(3,), (4,)], (3,)),
    ],
)
def test_vectorize_takes_numbers_first_and_last_in_a_signature(function, signature, shapes, wanted):
    found = jnp.vectorize(function, signature=signature)(*map(np.ones, shapes))
    assert (found[0] if isinstance(found, tuple) else found).shape == wanted


def test_vectorize_hands_none_through():
    def function(x, y):
        return x if y is None else x + y

    for signature in (None, "(n),()->(n)"):
        found = jnp.vectorize(function, signature=signature)(np.ones((2, 3)), None)
        assert found.tolist() == np.ones((2, 3)).tolist()


def test_vectorize_refuses_cores_that_do_not_agree():
    with pytest.raises(ValueError, match="n"):
        jnp.vectorize(jnp.dot, signature="(n),(n)->()")(np.ones(3), np.ones(4))


def test_vectorize_has_derivatives():
    x = np.float32([1, 2, 3])
    gradient = jx.grad(lambda x: jnp.sum(jnp.vectorize(scaled)(x, x, 1.0)))(x)
    np.testing.assert_allclose(gradient, 2 * x)


def test_mask_indices_are_those_of_numpy():
    for function, reference in ((jnp.triu, np.triu), (jnp.tril, np.tril)):
        found = jnp.mask_indices(3, function, 1)
        np.testing.assert_array_equal(found, np.mask_indices(3, reference, 1))


def test_einsum_path_contracts_every_operand_once():
    shapes = [(2, 30), (30, 4), (4, 50)]
    path, text = jnp.einsum_path("ab,bc,cd->ad", *map(np.ones, shapes))
    assert sum(len(step) - 1 for step in path) == len(shapes) - 1
    assert text


@pytest.mark.parametrize(
    "pick",
    [
        lambda m: m.mgrid[0:3, 1:5:2],
        lambda m: m.mgrid[0:1:5j],
        lambda m: m.ogrid[0:3, 1:5:2],
        lambda m: m.r_[1:4, 0, 7],
        lambda m: m.r_["0,2", np.arange(3), np.arange(3)],
        lambda m: m.c_[np.arange(3), np.arange(3)],
    ],
)
def test_grids_are_those_of_numpy(pick):
    found, wanted = pick(jnp), pick(np)
    found, wanted = [x if isinstance(x, (list, tuple)) else [x] for x in (found, wanted)]
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_arange_of_floats_counts_on_the_device_where_that_is_exact():
    counted = jx.make_jaxpr(lambda x: jnp.arange(4.0) + x)(np.float32(1))
    assert [eqn.primitive.name for eqn in counted.jaxpr.eqns] == ["iota", "add"]
    far = 2.0**24 + 5
    np.testing.assert_array_equal(jnp.arange(far)[-9:], np.arange(far, dtype=np.float32)[-9:])
    np.testing.assert_array_equal(jnp.arange(0.0, 0.9, 0.3), np.arange(0.0, 0.9, 0.3, np.float32))


@pytest.mark.parametrize(
    ("function", "args", "options", "shape"),
    [
        (jnp.cos, (np.float32(1),), {}, ()),
        (jnp.add, (1, np.ones(3, np.float32)), {}, (3,)),
        (jnp.diff, (np.ones((3, 4), np.float32),), {"n": 2, "axis": 0}, (1, 4)),
        (jnp.linalg.inv, (np.eye(2, dtype=np.float32),), {}, (2, 2)),
        (jx.nn.silu, (np.ones(3, np.float32),), {}, (3,)),
    ],
)
def test_compiled_functions_have_the_stages_of_jitted_ones(function, args, options, shape):
    expected = function(*args, **options)
    assert function.eval_shape(*args, **options) == jx.ShapeDtypeStruct(shape, jnp.float32)
    assert [aval.shape for aval in function.trace(*args, **options).jaxpr.out_avals] == [shape]
    lowered = function.lower(*args, **options)
    assert f"module @jit_{function.__name__}" in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(*args), expected)


def test_clearing_the_cache_of_a_compiled_function_makes_it_compile_anew():
    jnp.cosh(np.ones(7, np.float32))
    assert jnp.cosh._cache_size() > 0
    jnp.cosh.clear_cache()
    assert jnp.cosh._cache_size() == 0
    np.testing.assert_allclose(jnp.cosh(np.float32(0)), 1)

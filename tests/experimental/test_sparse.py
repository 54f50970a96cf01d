"""Sparse arrays against dense ones: every operation, layout and transform."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax, random
from jxkernel.experimental import sparse
from jxkernel.experimental.sparse import BCOO, BCSR

M = jnp.array([[0.0, 1.0, 0.0, 4.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, -1.0]])
W = jnp.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0], [2.0, 0.0]])
S = jnp.where(jnp.arange(24).reshape(2, 3, 4) % 3 == 0, jnp.arange(24.0).reshape(2, 3, 4) - 9, 0)


def stored(dense, **how):
    """Return a sparse array, with room for two elements more and one of them twice."""
    mat = BCOO.fromdense(dense, **how)
    room = BCOO.fromdense(dense, nse=mat.nse + 2, **how)
    return BCOO((room.data / 2, room.indices), shape=room.shape) + BCOO(
        (mat.data / 2, mat.indices), shape=mat.shape
    )


LAYOUTS = [
    (M, {}),
    (M, {"n_batch": 1}),
    (M, {"n_dense": 1}),
    (M, {"n_batch": 2}),
    (S, {}),
    (S, {"n_batch": 1}),
    (S, {"n_batch": 1, "n_dense": 1}),
    (S, {"n_dense": 2}),
    (M[0], {}),
    (M[:0], {}),
]
FEW_LAYOUTS = [(M, {}), (S, {"n_batch": 1, "n_dense": 1})]
layouts = pytest.mark.parametrize(("dense", "how"), LAYOUTS)


def same(found, wanted):
    np.testing.assert_allclose(sparse.todense(found), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(4)
@layouts
def test_elements_are_stored_and_put_back(dense, how):
    mat = BCOO.fromdense(dense, **how)
    assert (mat.shape, mat.dtype, mat.ndim, mat.size) == (
        dense.shape,
        dense.dtype,
        dense.ndim,
        dense.size,
    )
    same(mat, dense)
    same(stored(dense, **how), dense)
    same(jx.jit(lambda x: BCOO.fromdense(x, nse=9, **how).todense())(dense), dense)


def test_what_is_stored_is_in_order_and_beyond_the_end_is_nothing():
    mat = BCOO.fromdense(M, nse=6)
    assert mat.data.tolist() == [1, 4, 2, 3, -1, 0]
    assert mat.indices.tolist() == [[0, 1], [0, 3], [1, 0], [1, 2], [2, 3], [3, 4]]
    assert repr(mat) == "BCOO(float32[3, 4], nse=6)"
    assert repr(BCOO.fromdense(S, n_batch=1, n_dense=1)).endswith("n_batch=1, n_dense=1)")
    assert len(mat) == 3
    assert mat.block_until_ready() is mat
    with pytest.raises(ValueError, match="must be told nse"):
        jx.jit(BCOO.fromdense)(M)


MOVED = {
    "transposed": (lambda x: x.T, lambda x: x.T),
    "negative": (lambda x: -x, lambda x: -x),
    "absolute": (abs, abs),
    "positive": (lambda x: +x, lambda x: x),
    "doubled": (lambda x: 2 * x, lambda x: 2 * x),
    "halved": (lambda x: x / 2, lambda x: x / 2),
    "squared": (lambda x: x**2, lambda x: x**2),
    "with itself": (lambda x: x + x - x / 4, lambda x: 1.75 * x),
    "times itself": (lambda x: x * x, lambda x: x * x),
    "times dense": (lambda x: x * (1 + x.todense()), lambda x: x * (1 + x)),
    "plus dense": (lambda x: x + jnp.ones(x.shape), lambda x: x + 1),
    "minus dense": (lambda x: jnp.ones(x.shape) - x, lambda x: 1 - x),
    "half as exact": (lambda x: x.astype("float16"), lambda x: x.astype("float16")),
    "sum": (lambda x: x.sum(), lambda x: x.sum()),
    "sum of first": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "sum of last": (lambda x: x.sum(-1), lambda x: x.sum(-1)),
    "flat": (lambda x: x.reshape(-1), lambda x: x.reshape(-1)),
    "reshaped": (
        lambda x: x.reshape(*x.shape[:1], -1, 1),
        lambda x: x.reshape(*x.shape[:1], -1, 1),
    ),
    "first": (lambda x: x[:1], lambda x: x[:1]),
    "turned": (lambda x: x[..., ::-1], lambda x: x[..., ::-1]),
    "every other": (lambda x: x[..., 1::2], lambda x: x[..., 1::2]),
    "last one": (lambda x: x[..., -1], lambda x: x[..., -1]),
    "new axes": (lambda x: x[None, ..., None], lambda x: x[None, ..., None]),
    "sorted": (lambda x: x.sort_indices(), lambda x: x),
    "once": (lambda x: x.sum_duplicates(nse=12), lambda x: x),
    "sine": (sparse.sparsify(jnp.sin), jnp.sin),
    "joined": (
        lambda x: sparse.bcoo_concatenate([x, 2 * x], dimension=x.ndim - 1),
        lambda x: jnp.concatenate([x, 2 * x], -1),
    ),
    "extracted": (lambda x: sparse.bcoo_extract(x, x.todense()), lambda x: x),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize(("dense", "how"), FEW_LAYOUTS)
def test_operations_give_what_they_give_of_dense_arrays(name, dense, how):
    operation, of_dense = MOVED[name]
    if name == "transposed" and how and dense.ndim > 1:
        with pytest.raises(NotImplementedError, match="mixes batch, sparse and dense axes"):
            operation(stored(dense, **how))
        return
    same(operation(stored(dense, **how)), of_dense(dense))


@pytest.mark.sampled(2)
@layouts
def test_layouts_are_changed(dense, how):
    mat = stored(dense, **how)
    flat = mat.update_layout(n_batch=0, n_dense=0)
    assert (flat.n_batch, flat.n_sparse, flat.n_dense) == (0, dense.ndim, 0)
    same(flat, dense)
    back = flat.update_layout(**{"n_batch": 0, "n_dense": 0, **how}, on_inefficient=None)
    assert (back.n_batch, back.n_dense) == (how.get("n_batch", 0), how.get("n_dense", 0))
    same(back, dense)
    with pytest.raises(sparse.SparseEfficiencyError, match="stores many zeros"):
        flat.update_layout(n_batch=1)
    with pytest.raises(ValueError, match="has not 9 batch"):
        flat.update_layout(n_batch=9)


PRODUCTS = [
    (M, W),
    (M, W[:, 0]),
    (M[0], W),
    (M[0], W[:, 0]),
    (S, W),
    (S, jnp.moveaxis(S, 1, 2)),
    (W.T, S.reshape(4, 6)[:, :3]),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("which", ["first", "second", "both"])
@pytest.mark.parametrize("number", range(len(PRODUCTS)))
def test_products_are_those_of_dense_arrays(number, which):
    x, y = PRODUCTS[number]
    left = stored(x) if which != "second" else x
    right = stored(y) if which != "first" else y
    same(left @ right, x @ y)
    same(jx.jit(lambda a, b: a @ b)(left, right), x @ y)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "numbers",
    [
        (((1,), (1,)), ((), ())),
        (((1, 2), (1, 2)), ((), ())),
        (((2,), (2,)), ((0,), (0,))),
        (((), ()), ((0, 1), (0, 1))),
        (((0,), (0,)), ((2,), (2,))),
        (((0, 1, 2), (0, 1, 2)), ((), ())),
    ],
)
@pytest.mark.parametrize("how", [{}, {"n_batch": 1, "n_dense": 1}])
def test_products_sum_over_any_axes(numbers, how):
    wanted = lax.dot_general(S, S + 1, numbers)
    mat = stored(S, **how)
    same(sparse.bcoo_dot_general(mat, S + 1, dimension_numbers=numbers), wanted)
    swapped = tuple(pair[::-1] for pair in numbers)
    same(
        sparse.bcoo_dot_general(S + 1, mat, dimension_numbers=swapped),
        lax.dot_general(S + 1, S, swapped),
    )
    both = sparse.bcoo_dot_general(mat, stored(S), dimension_numbers=numbers)
    same(both, lax.dot_general(S, S, numbers))


def test_some_elements_of_a_product():
    places = jnp.array([[0, 1], [2, 0]])
    numbers = (((1,), (0,)), ((), ()))
    found = sparse.bcoo_dot_general_sampled(M, W, places, dimension_numbers=numbers)
    same(found, (M @ W)[(0, 2), (1, 0)])


def test_slices_may_begin_where_a_traced_number_says():
    part = jx.jit(lambda x, i: sparse.bcoo_dynamic_slice(x, (i, 1), (2, 2)))
    for start in (0, 1, 9, -1):
        same(part(stored(M), start), lax.dynamic_slice(M, (start, 1), (2, 2)))


def test_derivatives_are_those_of_stored_elements():
    mat = BCOO.fromdense(M)

    def loss(x, w):
        return jnp.sum(jnp.sin(x @ w))

    by_mat, by_w = sparse.grad(loss, (0, 1))(mat, W)
    dense_mat, dense_w = jx.grad(loss, (0, 1))(M, W)
    same(by_mat, jnp.where(M != 0, dense_mat, 0))
    same(by_w, dense_w)
    value, found = jx.jit(sparse.value_and_grad(loss))(mat, W)
    same(value, loss(M, W))
    same(found, by_mat.todense())
    found, aux = sparse.grad(lambda x: (x.sum(), "more"), has_aux=True)(mat)
    assert (found.data.tolist(), aux) == ([1] * 5, "more")


@pytest.mark.parametrize("transform", [sparse.jacfwd, sparse.jacrev])
def test_jacobians_are_those_of_stored_elements(transform):
    found = transform(lambda x: x @ W)(BCOO.fromdense(M))
    assert found.shape == (3, 2, 3, 4)
    same(found, jnp.where(M != 0, jx.jacrev(lambda x: x @ W)(M), 0))


def test_batches_are_mapped():
    mats = stored(S, n_batch=1)
    same(jx.vmap(lambda x: x @ W)(mats), S @ W)
    doubled = jx.vmap(lambda x: 2 * x.T)(mats)
    assert doubled.shape == (2, 4, 3)
    same(doubled, 2 * jnp.swapaxes(S, 1, 2))
    made = jx.vmap(lambda x: BCOO.fromdense(x, nse=4))(S)
    assert made.n_batch == 1
    same(made, S)
    with pytest.raises(ValueError, match="mapped over an axis that is no batch axis"):
        jx.vmap(lambda x: x.todense())(BCOO.fromdense(M[0]))


def test_loops_and_branches_take_sparse_arrays():
    mat = BCOO.fromdense(M)
    same(lax.scan(lambda x, _: (2 * x, None), mat, None, length=3)[0], 8 * M)
    same(lax.cond(True, lambda x: 3 * x, lambda x: x, mat), 3 * M)


PROGRAMS = {
    "chain": lambda x: jnp.sum(jnp.tanh(3 * x).T @ x, 0),
    "slices": lambda x: x[1:, ::-1] * 2.0,
    "joined": lambda x: jnp.concatenate([x, -x]),
    "stacked": lambda x: jnp.stack([x, x], 1),
    "jitted": lambda x: jx.jit(lambda y: y**2 / 2)(x),
    "einsum": lambda x: jnp.einsum("ij,kj->ik", x, x),
    "scan": lambda x: lax.scan(lambda c, _: (c * 2.0, None), x, None, length=2)[0],
    "while": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, -c[1]), (0, x))[1],
    "cond": lambda x: lax.cond(jnp.arange(2)[1] > 0, lambda y: y, lambda y: -y, x),
    "reshaped": lambda x: x.reshape(4, 3)[None],
    "checkpoint": jx.checkpoint(lambda x: jnp.sin(x) * 2.0),
    "dynamic": lambda x: lax.dynamic_slice(x, (1, 1), (2, 2)),
    "with dense": lambda x: x @ W + 1.0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_arrays_take_sparse_ones(name):
    program = PROGRAMS[name]
    same(sparse.sparsify(program)(stored(M)), program(M))


def test_programs_may_mix_sparse_and_dense_arguments_and_other_values():
    mixed = sparse.sparsify(lambda x, y, how: {"sum": x + y["z"], "how": x * 2 if how else x})
    found = mixed(BCOO.fromdense(M), {"z": M}, True)
    same(found["sum"], 2 * M)
    assert isinstance(found["how"], BCOO)
    inner = BCOO.fromdense(M)
    same(sparse.sparsify(lambda v: inner @ v)(W), M @ W)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda x: sparse.sparsify(jnp.cos)(x), NotImplementedError, "cos of a sparse array"),
        (lambda x: x + 1, NotImplementedError, "a sum with a number"),
        (lambda x: 1 / x, NotImplementedError, "dividing by a sparse array"),
        (lambda x: x**0, NotImplementedError, "the power 0"),
        (lambda x: x > 0, NotImplementedError, "a comparison of a sparse array"),
        (lambda x: x * jnp.ones((2, 3, 4)), NotImplementedError, "would have another shape"),
        (lambda x: x[jnp.array([0])], NotImplementedError, "indexed by integers, slices"),
        (lambda x: x[7], IndexError, "index 7 is out of range"),
        (lambda x: x[0, 0, 0], IndexError, "too many parts"),
        (lambda x: x @ 2.0, TypeError, "needs arrays with axes"),
        (lambda x: np.asarray(x), TypeError, r"x\.todense\(\) makes one"),
        (lambda x: x.reshape(5, 5), ValueError, "cannot have shape|cannot reshape"),
        (lambda x: BCOO((x.data, x.indices), shape=(3,)), ValueError, "the shape is"),
        (lambda x: BCOO((x.data[:2], x.indices), shape=x.shape), ValueError, "do not go with"),
        (lambda x: BCOO.fromdense(M, n_batch=3), ValueError, "has not 3 batch"),
        (lambda x: BCSR.from_bcoo(x.reshape(-1)), ValueError, "has two sparse axes"),
        (lambda x: sparse.bcoo_squeeze(x, dimensions=(0,)), ValueError, "not all of size 1"),
        (lambda x: sparse.eye(3, sparse_format="dia"), ValueError, "sparse_format is one of"),
    ],
)
def test_what_has_no_sparse_result_or_does_not_fit_says_so(call, error, said):
    with pytest.raises(error, match=said):
        call(BCOO.fromdense(M))


@pytest.mark.parametrize("kind", [BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_other_formats_hold_the_same_matrix(kind):
    mat = kind.fromdense(M)
    assert (mat.shape, mat.nse, mat.dtype) == (M.shape, 5, M.dtype)
    same(mat, M)
    same(mat @ W, M @ W)
    same(mat.to_bcoo(), M)
    same(jx.jit(lambda x: x @ W[:, 0])(mat), M @ W[:, 0])
    assert repr(mat).startswith(f"{kind.__name__}(float32[3, 4]")
    if kind is not BCSR:
        same(mat.T, M.T)


def test_rows_are_where_their_pointers_say():
    mat = BCSR.fromdense(M, nse=7)
    assert mat.indptr.tolist() == [0, 2, 4, 5]
    assert mat.indices[:5].tolist() == [1, 3, 0, 2, 3]
    same(mat, M)
    same(BCSR.fromdense(S, n_batch=1), S)
    same(M.T @ mat, M.T @ M)
    same(mat.sum_duplicates(), M)


def test_matrices_of_scipy_are_taken():
    theirs = csr_matrix(np.asarray(M))
    same(BCOO.from_scipy_sparse(theirs), M)
    same(BCSR.from_scipy_sparse(theirs), M)


@pytest.mark.parametrize("name", ["bcoo", "bcsr", "coo", "csr", "csc"])
def test_unit_and_empty_matrices(name):
    same(sparse.eye(3, 4, k=1, sparse_format=name), jnp.eye(3, 4, k=1))
    same(sparse.empty((3, 4), sparse_format=name), jnp.zeros((3, 4)))


def test_random_places_are_as_many_as_asked_for():
    mat = sparse.random_bcoo(jx.random.key(0), (4, 5), dtype="float32", nse=0.5)
    assert (mat.nse, mat.dtype) == (10, jnp.float32)
    assert int(jnp.sum(mat.todense() != 0)) == 10
    batch = sparse.random_bcoo(jx.random.key(0), (2, 4, 5), dtype="float32", nse=3, n_batch=1)
    assert batch.indices.shape == (2, 3, 2)


def test_older_functions_multiply_by_vectors_and_matrices():
    for kind, form in (("coo", sparse.COO), ("csr", sparse.CSR)):
        mat = getattr(sparse, f"{kind}_fromdense")(M)
        assert isinstance(mat, form)
        same(getattr(sparse, f"{kind}_todense")(mat), M)
        same(getattr(sparse, f"{kind}_matmat")(mat, W), M @ W)
        same(getattr(sparse, f"{kind}_matvec")(mat, W[:3, 0], transpose=True), M.T @ W[:3, 0])


def test_systems_are_solved():
    matrix = jnp.array([[4.0, 1.0, 0.0], [0.0, 3.0, 0.0], [1.0, 0.0, 2.0]])
    rows = sparse.CSR.fromdense(matrix)
    b = jnp.array([1.0, 2.0, 3.0])
    same(sparse.linalg.spsolve(rows.data, rows.indices, rows.indptr, b), np.linalg.solve(matrix, b))


def test_the_largest_eigenvalues_are_found():
    noise = jx.random.normal(jx.random.key(0), (30, 30))
    matrix = noise @ noise.T
    begin = jx.random.normal(jx.random.key(1), (30, 3))
    values, vectors, steps = sparse.linalg.lobpcg_standard(matrix, begin)
    np.testing.assert_allclose(values, jnp.linalg.eigvalsh(matrix)[::-1][:3], rtol=1e-4)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=0.05)
    assert 0 < int(steps) <= 100
    with pytest.raises(ValueError, match="5 k < n"):
        sparse.linalg.lobpcg_standard(matrix, matrix)


GATHERS = {
    "a row": ([1], (0,), (0,), (0,), (1, 4)),
    "rows": ([[1], [2]], (1,), (0,), (0,), (1, 4)),
    "a block": ([1, 1], (0, 1), (), (0, 1), (2, 2)),
    "a block that is moved inside": ([5, -3], (0, 1), (), (0, 1), (2, 2)),
    "an element": ([1, 2], (), (0, 1), (0, 1), (1, 1)),
}


@pytest.mark.parametrize("case", GATHERS.values(), ids=list(GATHERS))
def test_gathered_parts_are_those_of_the_dense_array(case):
    starts, offset, collapsed, axes, sizes = case
    numbers = lax.GatherDimensionNumbers(offset, collapsed, axes)
    starts = jnp.array(starts)
    found = sparse.bcoo_gather(stored(M), starts, numbers, sizes)
    same(found, lax.gather(M, starts, numbers, sizes, mode="clip"))
    with pytest.raises(NotImplementedError, match="fills nothing in"):
        sparse.bcoo_gather(stored(M), starts, numbers, sizes, mode="fill")


def test_axes_of_gathered_parts_are_the_last():
    numbers = lax.GatherDimensionNumbers((0,), (0,), (0,))
    with pytest.raises(NotImplementedError, match="batch axes are first and those of parts last"):
        sparse.bcoo_gather(stored(M), jnp.array([[1], [2]]), numbers, (1, 4))


@pytest.mark.parametrize("padding", [[(0, 0)], [(2, 1)], [(-1, 0)], "SAME", "VALID"])
def test_sequences_are_convolved(padding):
    x = jnp.array([0.0, 3.0, 0.0, 0.0, -1.0, 2.0]).reshape(1, 1, 6)
    kernel = jnp.array([1.0, 0.0, 4.0]).reshape(1, 1, 3)
    expected = lax.conv_general_dilated(x, kernel, (1,), padding)
    how = {"window_strides": (1,), "padding": padding}
    for factors in ((stored(x), stored(kernel)), (stored(x, n_batch=2), kernel)):
        found = sparse.bcoo_conv_general_dilated(*factors, **how)
        assert (found.shape, found.n_batch) == (expected.shape, 2)
        same(found, expected)
    with pytest.raises(NotImplementedError, match="sequences of one feature"):
        sparse.bcoo_conv_general_dilated(stored(x), kernel, window_strides=(2,), padding=padding)


def rows(dense, **how):
    """Return a sparse array by rows, with room for two elements more."""
    nse = BCSR.fromdense(dense, **how).nse
    return BCSR.fromdense(dense, nse=nse + 2, **how)


@pytest.mark.parametrize(
    ("dense", "how", "axes"),
    [
        (M, {}, (0, 1, -1)),
        (S, {"n_batch": 1}, (0, 1, 2)),
        (S, {"n_dense": 1}, (0, 1)),
    ],
)
def test_rows_are_joined_along_every_axis_but_dense_ones(dense, how, axes):
    for axis in axes:
        mats = [rows(dense, **how), rows(2 * dense, **how)]
        same(
            sparse.bcsr_concatenate(mats, dimension=axis), jnp.concatenate([dense, 2 * dense], axis)
        )
    fewer = BCSR.fromdense(jnp.where(S > 5, S, 0), n_batch=1)
    joined = sparse.bcsr_concatenate([rows(S, n_batch=1), fewer], dimension=0)
    same(joined, jnp.concatenate([S, jnp.where(S > 5, S, 0)]))


def test_rows_that_cannot_be_joined_are_refused():
    with pytest.raises(TypeError, match=r"bcsr_concatenate along axis 1 got BCSR\("):
        sparse.bcsr_concatenate([rows(M), rows(M[:2])], dimension=1)
    with pytest.raises(TypeError, match="along axis 2 got"):
        sparse.bcsr_concatenate([rows(M)], dimension=2)
    with pytest.raises(NotImplementedError, match="joins no dense axes"):
        sparse.bcsr_concatenate([rows(S, n_dense=1)], dimension=2)
    with pytest.raises(ValueError, match="needs sparse arrays"):
        sparse.bcsr_concatenate([], dimension=0)


def test_rows_repeat_along_new_batch_axes():
    mat = sparse.bcsr_broadcast_in_dim(rows(M), shape=(2, 3, 4), broadcast_dimensions=(1, 2))
    assert mat.n_batch == 1
    same(mat, jnp.broadcast_to(M, (2, 3, 4)))
    many = sparse.bcsr_broadcast_in_dim(
        rows(S, n_batch=1), shape=(2, 5, 3, 4), broadcast_dimensions=(0, 2, 3)
    )
    same(many, jnp.broadcast_to(S[:, None], (2, 5, 3, 4)))
    with pytest.raises(NotImplementedError, match="is not of batch axes alone"):
        sparse.bcsr_broadcast_in_dim(rows(M), shape=(3, 4, 2), broadcast_dimensions=(0, 1))


def test_elements_at_the_places_of_rows_are_extracted():
    mat = BCSR.fromdense(M)
    same(sparse.bcsr_extract(mat.indices, mat.indptr, 2 * M), 2 * mat.data)
    many = rows(S, n_batch=1)
    same(sparse.bcsr_extract(many.indices, many.indptr, S), many.data)
    deep = BCSR.fromdense(S, n_dense=1)
    same(sparse.bcsr_extract(deep.indices, deep.indptr, S), deep.data)
    slope = jx.grad(lambda x: jnp.sum(sparse.bcsr_extract(mat.indices, mat.indptr, x) ** 2))(M)
    same(slope, 2 * M)


FULL = M + 0.5
COO_MAT, CSR_MAT = sparse.coo_fromdense(M), sparse.csr_fromdense(M)
BCOO_MAT, BCSR_MAT = BCOO.fromdense(M), BCSR.fromdense(M)
ROW_PRODUCT = (((1,), (0,)), ((), ()))

NAMED = {
    "bcoo_fromdense": (lambda x: BCOO.fromdense(x, nse=12), FULL),
    "bcoo_todense": (lambda x: x.todense(), BCOO_MAT),
    "bcoo_extract": (lambda x: sparse.bcoo_extract(BCOO_MAT, x), M),
    "bcoo_sort_indices": (lambda x: x.sort_indices(), BCOO_MAT),
    "bcoo_sum_duplicates": (lambda x: x.sum_duplicates(nse=4), BCOO_MAT),
    "bcoo_transpose": (lambda x: x.T, BCOO_MAT),
    "bcoo_dot_general": (lambda x: x @ W, BCOO_MAT),
    "bcoo_spdot_general": (lambda x: x @ x.T, BCOO_MAT),
    "bcoo_dot_general_sampled": (
        lambda x: sparse.bcoo_dot_general_sampled(
            x, W, BCOO_MAT.indices % 2, dimension_numbers=ROW_PRODUCT
        ),
        M,
    ),
    "bcsr_fromdense": (lambda x: BCSR.fromdense(x, nse=12), FULL),
    "bcsr_todense": (lambda x: x.todense(), BCSR_MAT),
    "bcsr_extract": (lambda x: sparse.bcsr_extract(BCSR_MAT.indices, BCSR_MAT.indptr, x), M),
    "bcsr_dot_general": (lambda x: x @ W, BCSR_MAT),
    "coo_fromdense": (lambda x: sparse.coo_fromdense(x, nse=12), FULL),
    "coo_todense": (lambda x: x.todense(), COO_MAT),
    "coo_matvec": (lambda x: x @ W[:, 0], COO_MAT),
    "coo_matmat": (lambda x: x @ W, COO_MAT),
    "csr_fromdense": (lambda x: sparse.csr_fromdense(x, nse=12), FULL),
    "csr_todense": (sparse.csr_todense, CSR_MAT),
    "csr_matvec": (lambda x: sparse.csr_matvec(x, W[:3, 0], transpose=True), CSR_MAT),
    "csr_matmat": (lambda x: sparse.csr_matmat(x, W), CSR_MAT),
    "todense": (sparse.todense, BCSR_MAT),
}


def total(x):
    dense = x if isinstance(x, jx.Array) else x.todense()
    return jnp.sum(jnp.sin(dense))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMED)
def test_operations_stand_in_programs_by_name(name):
    function, x = NAMED[name]
    primitive = getattr(sparse, f"{name}_p")
    jaxpr = jx.make_jaxpr(function)(x)
    assert primitive in [eqn.primitive for eqn in jaxpr.eqns]
    same(total(jx.jit(function)(x)), total(function(x)))
    leaves, structure = jx.tree.flatten(x)

    def of_data(data):
        return total(function(structure.unflatten([data, *leaves[1:]])))

    jx.test_util.check_grads(of_data, (leaves[0],), 1, ["fwd", "rev"], atol=0.02, rtol=0.02)


def test_systems_stand_in_programs_by_name():
    rows = sparse.CSR.fromdense(jnp.array([[4.0, 1.0], [0.0, 3.0]]))
    solve = lambda b: sparse.linalg.spsolve(rows.data, rows.indices, rows.indptr, b)  # noqa: E731
    [eqn] = jx.make_jaxpr(solve)(jnp.ones(2)).eqns
    assert eqn.primitive is sparse.linalg.spsolve_p
    same(jx.jacrev(solve)(jnp.ones(2)), np.linalg.inv(rows.todense()))


def test_what_is_made_dense_inside_a_sparsified_function_is_dense():
    plus_one = sparse.sparsify(lambda x: sparse.todense(x) + 1.0)
    same(plus_one(BCOO_MAT), M + 1)
    same(plus_one(M), M + 1)


def test_older_matrices_multiply_vectors_and_matrices_alone():
    with pytest.raises(ValueError, match=r"times an array of shape \(\): no vector, no matrix"):
        COO_MAT @ jnp.array(2.0)
    same((COO_MAT @ CSR_MAT.transpose()).todense(), M @ M.T)
    same(BCSR_MAT @ W, M @ W)
    same((BCSR_MAT @ COO_MAT.transpose()).todense(), M @ M.T)


@pytest.mark.parametrize(
    ("places", "compared"),
    [([[0, 1], [2, 0]], False), ([[0, 1], [3, 2]], True), ([[0, -1], [2, 0]], True)],
    ids=["in bounds", "beyond", "negative"],
)
def test_places_closed_over_are_compared_only_where_one_is_out_of_bounds(places, compared):
    indices = jnp.array(places)

    def product(data, vector, indices):
        return sparse.BCOO((data, indices), shape=(3, 2)) @ vector

    closing = jx.jit(lambda data, vector: product(data, vector, indices))
    args = jnp.array([2.0, 5.0]), jnp.array([10.0, 100.0])
    assert ("compare" in closing.lower(*args).as_text()) == compared
    wanted = jx.jit(product)(*args, indices)
    np.testing.assert_array_equal(closing(*args), wanted)
    gradient = jx.jit(jx.jacrev(closing, (0, 1)))(*args)
    for found, known in zip(gradient, jx.jacrev(product, (0, 1))(*args, indices), strict=True):
        np.testing.assert_array_equal(found, known)


def test_sums_have_the_dtype_and_the_axes_of_sums_of_arrays():
    dense = (jnp.arange(12).reshape(3, 4) % 3).astype("int8")
    mat = sparse.BCOO.fromdense(dense)
    for axis, dtype, keepdims in (
        (1, None, False),
        (0, None, True),
        (None, None, True),
        (-1, "bfloat16", False),
        ((0, 1), "int16", False),
        ((), None, False),
        (np.int64(1), None, False),
    ):
        found = mat.sum(axis, dtype, keepdims=keepdims)
        found = found.todense() if isinstance(found, sparse.BCOO) else found
        wanted = jnp.sum(dense, axis, dtype, keepdims=keepdims)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_axes_that_are_not_there_are_refused():
    mat = sparse.BCOO.fromdense(jnp.eye(3))
    for call in (
        lambda: mat.sum(5),
        lambda: mat.sum((0, 0)),
        lambda: sparse.bcoo_reduce_sum(mat, axes=(2,)),
        lambda: sparse.bcoo_rev(mat, (2,)),
        lambda: sparse.bcoo_transpose(mat, permutation=(0, 3)),
        lambda: sparse.bcoo_squeeze(mat, dimensions=(2,)),
        lambda: sparse.bcoo_concatenate([mat, mat], dimension=2),
    ):
        with pytest.raises(ValueError, match=r"axis 2|axis 5|axis 3|once"):
            call()


@pytest.mark.parametrize("form", [sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_what_only_one_format_computes_is_refused_with_its_name(form):
    mat = form.fromdense(jnp.eye(3))
    for call in (mat.sum, lambda: mat[0], lambda: -mat, lambda: mat + mat, lambda: 2 * mat):
        with pytest.raises(NotImplementedError, match=f"a {form.__name__}: take its BCOO"):
            call()


def test_random_arrays_hold_the_numbers_that_programs_know():
    mat = sparse.random_bcoo(random.key(0), (3, 4), dtype="float32", nse=0.5)
    places = [[0, 0], [0, 3], [2, 1], [1, 1], [0, 1], [2, 0]]
    elements = [0.8423, 0.1824, 0.2272, 0.1207, 0.1918, 0.722]
    assert mat.indices.tolist() == places
    np.testing.assert_allclose(mat.data, elements, atol=1e-4)
    ordered = sparse.random_bcoo(
        random.key(0), (3, 4), dtype="float32", nse=0.5, sorted_indices=True
    )
    assert ordered.indices.tolist() == sorted(places)
    np.testing.assert_array_equal(ordered.todense(), mat.todense())
    batched = sparse.random_bcoo(random.key(0), (2, 3, 4), dtype="float32", nse=2, n_batch=1)
    assert batched.indices.tolist() == [[[0, 0], [0, 3]], [[1, 3], [1, 0]]]
    np.testing.assert_allclose(batched.data, np.reshape(elements[:4], (2, 2)), atol=1e-4)

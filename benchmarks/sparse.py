"""Products of sparse matrices: jitted, with and without the gradient, and eager."""

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]

ROWS, COLUMNS, STORED = 2000, 2000, 40_000


def _matrix(library: Library, kind: str) -> Any:
    """Return a sparse matrix of one percent elements, and the module that it is from."""
    random = np.random.default_rng(0)
    places = np.sort(random.choice(ROWS * COLUMNS, STORED, replace=False))
    indices = np.stack(np.divmod(places, COLUMNS), axis=1).astype(np.int32)
    sparse = import_module(f"{library.name}.experimental.sparse")
    data = library.array(random.standard_normal(STORED).astype(np.float32))
    matrix = sparse.BCOO(
        (data, library.array(indices)),
        shape=(ROWS, COLUMNS),
        indices_sorted=True,
        unique_indices=True,
    )
    return sparse.BCSR.from_bcoo(matrix) if kind == "BCSR" else matrix


def _dense(library: Library, *shape: int) -> Any:
    random = np.random.default_rng(1)
    return library.array(random.standard_normal(shape).astype(np.float32))


def _product(library: Library, kind: str, *shape: int) -> Work:
    matrix, other = _matrix(library, kind), _dense(library, *shape)
    function = library.api.jit(lambda a, b: a @ b)
    return Work(lambda: function(matrix, other))


def _eager(library: Library) -> Work:
    matrix, vector = _matrix(library, "BCOO"), _dense(library, COLUMNS)
    return Work(lambda: matrix @ vector)


def _gradient(library: Library, given: bool) -> Work:
    """Return the gradient of a product; where elements lie is an argument, or closed over.

    What is closed over is a constant, which real jax writes into the program: XLA then knows that
    each place is in bounds.
    """
    matrix, vector = _matrix(library, "BCOO"), _dense(library, COLUMNS)
    sparse = import_module(f"{library.name}.experimental.sparse")

    def loss(data: Any, vector: Any, indices: Any) -> Any:
        own = sparse.BCOO((data, indices if given else matrix.indices), shape=matrix.shape)
        return library.numpy.sum((own @ vector) ** 2)

    gradient = library.api.jit(library.api.grad(loss, (0, 1)))
    return Work(lambda: gradient(matrix.data, vector, matrix.indices))


METRICS = (
    Metric("sparse matrix (BCOO) times a vector", 1.10, lambda lib: _product(lib, "BCOO", COLUMNS)),
    Metric(
        "sparse matrix (BCOO) times 32 columns",
        1.10,
        lambda lib: _product(lib, "BCOO", COLUMNS, 32),
    ),
    Metric("sparse matrix (BCSR) times a vector", 1.10, lambda lib: _product(lib, "BCSR", COLUMNS)),
    Metric("sparse matrix times a vector, eager", 1.10, _eager),
    Metric("gradients of a sparse product", 1.10, lambda lib: _gradient(lib, given=True)),
    Metric(
        "gradients of a sparse product, places closed over",
        1.10,
        lambda lib: _gradient(lib, given=False),
    ),
)

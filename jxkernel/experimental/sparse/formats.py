"""Sparse arrays: the elements that are stored, and where each belongs.

``BCOO`` keeps an index of each stored element. Its axes are batch axes, then sparse ones, then
dense ones: ``indices`` has shape (batch, nse, n_sparse) and ``data`` (batch, nse, dense).  An index
beyond the end belongs to no place, so that arrays of one shape may store fewer elements; elements
with one index are added up.

A sparse array is a pytree of its arrays, so every transform takes it.  Its structure knows the
sizes of sparse and dense axes only; those of batch axes are its arrays' own, and ``vmap`` may take
one away or add one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel import tree
from jxkernel.api.transfer import block_until_ready
from jxkernel.dtypes import DTypeLike

__all__ = [
    "BCOO",
    "BCSR",
    "CuSparseEfficiencyWarning",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
]


class SparseEfficiencyError(ValueError):
    """An operation would store many more elements than its operand."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores many more elements than its operand."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A library of GPUs cannot do an operation well; never issued, for XLA does all of them."""


def _of_bcoo(what: str) -> Callable[..., Any]:
    """Return a method that only a ``BCOO`` has."""

    def method(self: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{what} a {type(self).__name__}: take its BCOO, x.to_bcoo()")

    return method


class JAXSparse:
    """What sparse arrays have in common.

    Attributes:
      data: the stored elements.
    """

    data: Any
    __array_priority__ = 100
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all axes."""
        raise NotImplementedError

    @property
    def nse(self) -> int:
        """How many elements are stored, in each batch."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return int(np.prod(self.shape))

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    def todense(self) -> Any:
        """Return an array of all elements."""
        raise NotImplementedError

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """Return the sparse array with its axes in another order; reversed where not given."""
        raise NotImplementedError(f"transpose of a {type(self).__name__}: take one of its BCOO")

    sum = _of_bcoo("the sum of")
    __getitem__ = _of_bcoo("a part of")
    __neg__ = _of_bcoo("the negative of")
    __add__ = __radd__ = __sub__ = __rsub__ = _of_bcoo("a sum with")
    __mul__ = __rmul__ = _of_bcoo("a product with")

    def block_until_ready(self) -> "JAXSparse":
        """Wait for the arrays, and return the sparse array."""
        return block_until_ready(self)

    def _kind(self) -> str:
        return f"{jnp.dtype(self.dtype).name}{list(self.shape)}, nse={self.nse}"

    def __repr__(self) -> str:
        try:
            return f"{type(self).__name__}({self._kind()})"
        except (AttributeError, TypeError, ValueError):
            return f"{type(self).__name__}(<no arrays>)"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a sparse array without axes")
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a sparse array is no array of all elements: x.todense() makes one")


def operator_of(name: str, swapped: bool = False) -> Callable[..., Any]:
    """Return a method that hands on to the operation set by ``install_operations``."""

    def method(self: Any, *others: Any) -> Any:
        operands = (*others, self) if swapped else (self, *others)
        return _operations[name](*operands)

    return method


_operations: dict[str, Callable[..., Any]] = {}


def install_operations(**operations: Callable[..., Any]) -> None:
    """Say what operators and methods of sparse arrays do; called once, by the package."""
    _operations.update(operations)


class BCOO(JAXSparse):
    """A sparse array that keeps the index of each stored element.

    Args:
      args: ``data`` and ``indices``.
      shape: the sizes of all axes.
      indices_sorted: whether the indices are in order.
      unique_indices: whether no index is there twice.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> m
    BCOO(float32[2, 2], nse=2)
    >>> (m @ jnp.array([1.0, 10.0])).tolist()
    [10.0, 2.0]
    """

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        self._sizes = tuple(shape)[self.n_batch :]
        self._check(tuple(shape))

    def _check(self, shape: tuple[int, ...]) -> None:
        data, indices = self.data.shape, self.indices.shape
        batch = shape[: self.n_batch]
        if len(shape) != self.n_batch + self.n_sparse + self.n_dense or self.n_dense < 0:
            raise ValueError(
                f"data of shape {data} and indices of shape {indices} have {self.n_batch} batch, "
                f"{self.n_sparse} sparse and {self.n_dense} dense axes, the shape is {shape}"
            )
        if indices[: self.n_batch] != batch or data[: self.n_batch] != batch:
            self.data = jnp.broadcast_to(self.data, (*batch, *data[self.n_batch :]))
            self.indices = jnp.broadcast_to(self.indices, (*batch, *indices[self.n_batch :]))
        if (
            data[self.n_batch] != indices[-2]
            or data[self.n_batch + 1 :] != (shape[len(shape) - self.n_dense :])
        ):
            raise ValueError(
                f"data of shape {data} do not go with indices of shape {indices} and a sparse "
                f"array of shape {shape}"
            )

    @property
    def n_batch(self) -> int:
        """How many leading axes are batch axes."""
        if self.indices.ndim < 2:
            raise ValueError(
                "a sparse array was mapped over an axis that is no batch axis: "
                "update_layout(n_batch=1) makes one"
            )
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """How many axes are sparse."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """How many trailing axes are dense."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all axes."""
        return (*self.indices.shape[:-2], *self._sizes)

    @property
    def nse(self) -> int:
        """How many elements are stored, in each batch."""
        return self.indices.shape[-2]

    def _kind(self) -> str:
        batch = f", n_batch={self.n_batch}" if self.n_batch else ""
        dense = f", n_dense={self.n_dense}" if self.n_dense else ""
        return f"{super()._kind()}{batch}{dense}"

    def parts(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the sizes of batch, sparse and dense axes."""
        batch, sparse = self.n_batch, self.n_batch + self.n_sparse
        return self.shape[:batch], self.shape[batch:sparse], self.shape[sparse:]

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCOO":
        """Return the sparse array that stores what is not zero: see ``bcoo_fromdense``."""
        return _operations["fromdense"](
            mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> "BCOO":
        """Return the sparse array of one of SciPy's."""
        if n_dense or n_batch:
            raise NotImplementedError("SciPy's sparse arrays have no dense and no batch axes")
        coo = mat.tocoo()
        indices = np.column_stack((coo.row, coo.col)).astype(index_dtype or np.int32)
        return cls((coo.data, indices), shape=mat.shape)

    def sort_indices(self) -> "BCOO":
        """Return the array with its indices in order."""
        return _operations["sort_indices"](self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> "BCOO":
        """Return the array with elements of one index added up: see ``bcoo_sum_duplicates``."""
        return _operations["sum_duplicates"](self, nse=nse)

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> "BCOO":
        """Return the array with other numbers of batch and dense axes."""
        return _operations["update_layout"](
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def todense(self) -> Any:
        """Return an array of all elements."""
        return _operations["todense"](self)

    def transpose(self, axes: Sequence[int] | None = None) -> "BCOO":
        """Return the array with its axes in another order; reversed where not given."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        return _operations["transpose"](self, permutation=order)

    def reshape(self, *shape: Any) -> "BCOO":
        """Return the array in another shape."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        whole = np.empty(self.shape, np.bool_) if -1 in sizes else None
        wanted = tuple(sizes) if whole is None else whole.reshape(sizes).shape
        return _operations["reshape"](self, new_sizes=wanted)

    def astype(self, dtype: Any) -> "BCOO":
        """Return the array with elements of another dtype."""
        return with_data(self, self.data.astype(dtype))

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        *,
        keepdims: bool = False,
    ) -> Any:
        """Return sums over axes: an array where all are summed over, else a sparse one.

        Args:
          axis: which are summed over, all where not given.
          dtype: of the sums, and of what is added; where not given, as for ``jnp.sum``.
          keepdims: whether these axes stay, with the size 1.
        """
        return _operations["sum"](self, axis, dtype, keepdims)

    def __getitem__(self, index: Any) -> "BCOO":
        return _operations["getitem"](self, index)

    def __iter__(self) -> Iterator["BCOO"]:
        return (self[i] for i in range(len(self)))

    __abs__ = operator_of("abs")
    __neg__ = operator_of("neg")
    __pos__ = operator_of("pos")
    __add__ = operator_of("add")
    __radd__ = operator_of("add", swapped=True)
    __sub__ = operator_of("sub")
    __rsub__ = operator_of("sub", swapped=True)
    __mul__ = operator_of("mul")
    __rmul__ = operator_of("mul", swapped=True)
    __truediv__ = operator_of("div")
    __rtruediv__ = operator_of("div", swapped=True)
    __pow__ = operator_of("pow")
    __matmul__ = operator_of("matmul")
    __rmatmul__ = operator_of("matmul", swapped=True)
    __eq__ = operator_of("compare")
    __ne__ = operator_of("compare")
    __lt__ = operator_of("compare")
    __le__ = operator_of("compare")
    __gt__ = operator_of("compare")
    __ge__ = operator_of("compare")
    __hash__ = None  # type: ignore[assignment]  # arrays are compared element by element


def with_data(mat: BCOO, data: Any, **flags: bool) -> BCOO:
    """Return an array with the same places and other elements."""
    return made(data, mat.indices, mat._sizes, **(flags or flags_of(mat)))


def flags_of(mat: BCOO) -> dict[str, bool]:
    """Return what is known of an array's indices."""
    return {"indices_sorted": mat.indices_sorted, "unique_indices": mat.unique_indices}


def made(
    data: Any,
    indices: Any,
    sizes: tuple[int, ...],
    indices_sorted: bool = False,
    unique_indices: bool = False,
) -> BCOO:
    """Return an array of its arrays, which may be anything, and the sizes of its other axes."""
    mat = object.__new__(BCOO)
    mat.data, mat.indices, mat._sizes = data, indices, tuple(sizes)
    mat.indices_sorted, mat.unique_indices = indices_sorted, unique_indices
    return mat


tree.register_pytree_with_keys(
    BCOO,
    lambda mat: (
        ((tree.GetAttrKey("data"), mat.data), (tree.GetAttrKey("indices"), mat.indices)),
        (mat._sizes, mat.indices_sorted, mat.unique_indices),
    ),
    lambda aux, children: made(*children, *aux),
)


class BCSR(JAXSparse):
    """A sparse array whose indices are those of columns, row by row.

    Args:
      args: ``data``, ``indices`` and ``indptr``: the elements of row ``i`` are those from
        ``indptr[i]`` to ``indptr[i + 1]``.
      shape: the sizes of all axes.
      indices_sorted: whether the indices of each row are in order.
      unique_indices: whether no index of a row is there twice.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> m, m.indptr.tolist()
    (BCSR(float32[2, 2], nse=2), [0, 1, 2])
    """

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        self._sizes = tuple(shape)[self.n_batch :]
        if self.shape != tuple(shape) or self.indptr.shape[-1] != self._sizes[0] + 1:
            raise ValueError(
                f"indices of shape {self.indices.shape} and indptr of shape {self.indptr.shape} do "
                f"not go with a sparse array of shape {tuple(shape)}"
            )

    n_sparse = 2

    @property
    def n_batch(self) -> int:
        """How many leading axes are batch axes."""
        return self.indices.ndim - 1

    @property
    def n_dense(self) -> int:
        """How many trailing axes are dense."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all axes."""
        return (*self.indices.shape[:-1], *self._sizes)

    @property
    def nse(self) -> int:
        """How many elements are stored, in each batch."""
        return self.indices.shape[-1]

    def _kind(self) -> str:
        batch = f", n_batch={self.n_batch}" if self.n_batch else ""
        dense = f", n_dense={self.n_dense}" if self.n_dense else ""
        return f"{super()._kind()}{batch}{dense}"

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCSR":
        """Return the sparse array that stores what is not zero."""
        return _operations["rows_fromdense"](
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> "BCSR":
        """Return the sparse array of one of SciPy's."""
        if n_dense or n_batch:
            raise NotImplementedError("SciPy's sparse arrays have no dense and no batch axes")
        csr, kind = mat.tocsr(), index_dtype or np.int32
        return cls((csr.data, csr.indices.astype(kind), csr.indptr.astype(kind)), shape=mat.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> "BCSR":
        """Return the sparse array of one that keeps whole indices, of which two are sparse."""
        return _operations["rows_of"](arr)

    def to_bcoo(self) -> BCOO:
        """Return the sparse array that keeps whole indices."""
        return _operations["places_of"](self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> "BCSR":
        """Return the array with elements of one index added up."""
        return self.from_bcoo(self.to_bcoo().sum_duplicates(nse))

    def todense(self) -> Any:
        """Return an array of all elements."""
        return _operations["rows_todense"](self)

    def __matmul__(self, other: Any) -> Any:
        return _operations["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo()


def made_rows(data: Any, indices: Any, indptr: Any, sizes: tuple[int, ...], *flags: bool) -> BCSR:
    """Return an array of its arrays, which may be anything, and the sizes of its other axes."""
    mat = object.__new__(BCSR)
    mat.data, mat.indices, mat.indptr, mat._sizes = data, indices, indptr, tuple(sizes)
    mat.indices_sorted, mat.unique_indices = flags
    return mat


tree.register_pytree_with_keys(
    BCSR,
    lambda mat: (
        tuple((tree.GetAttrKey(n), getattr(mat, n)) for n in ("data", "indices", "indptr")),
        (mat._sizes, mat.indices_sorted, mat.unique_indices),
    ),
    lambda aux, children: made_rows(*children, *aux),
)

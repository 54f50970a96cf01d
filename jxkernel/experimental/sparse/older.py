"""Sparse matrices by older names: coordinates, compressed rows, compressed columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel import tree
from jxkernel.experimental.sparse.formats import BCOO, BCSR, JAXSparse

__all__ = [
    "COO",
    "CSC",
    "CSR",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
]


class _Matrix(JAXSparse):
    """A sparse matrix of three arrays, which does what it does as a ``BCOO``."""

    names: tuple[str, str, str]
    _shape: tuple[int, int]

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int], **_: bool) -> None:
        for name, array in zip(self.names, args, strict=True):
            setattr(self, name, jnp.asarray(array))
        self._shape = (int(shape[0]), int(shape[1]))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of both axes."""
        return self._shape

    @property
    def nse(self) -> int:
        """How many elements are stored."""
        return self.data.shape[0]

    def parts(self) -> tuple[Any, ...]:
        """Return the arrays."""
        return tuple(getattr(self, name) for name in self.names)

    def to_bcoo(self) -> BCOO:
        """Return the sparse array that keeps whole indices."""
        raise NotImplementedError

    @classmethod
    def from_bcoo(cls, mat: BCOO) -> Any:
        """Return the matrix of one that keeps whole indices."""
        raise NotImplementedError

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> Any:
        """Return the sparse matrix that stores what is not zero."""
        return cls.from_bcoo(BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    def todense(self) -> Any:
        """Return an array of all elements."""
        return self.to_bcoo().todense()

    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ (other.to_bcoo() if isinstance(other, _Matrix) else other)


class COO(_Matrix):
    """A sparse matrix that keeps the row and the column of each element.

    Args:
      args: ``data``, ``row`` and ``col``.
      shape: the sizes of both axes.
    """

    names = ("data", "row", "col")
    row: Any
    col: Any

    def to_bcoo(self) -> BCOO:
        """Return the sparse array that keeps whole indices."""
        return BCOO((self.data, jnp.stack([self.row, self.col], -1)), shape=self.shape)

    @classmethod
    def from_bcoo(cls, mat: BCOO) -> "COO":
        """Return the matrix of one that keeps whole indices."""
        return cls((mat.data, mat.indices[:, 0], mat.indices[:, 1]), shape=mat.shape)

    def transpose(self, axes: Sequence[int] | None = None) -> "COO":
        """Return the transpose."""
        return COO((self.data, self.col, self.row), shape=self.shape[::-1])


class CSR(_Matrix):
    """A sparse matrix that keeps the column of each element, row by row.

    Args:
      args: ``data``, ``indices`` and ``indptr``.
      shape: the sizes of both axes.
    """

    names = ("data", "indices", "indptr")
    indices: Any
    indptr: Any

    def to_bcoo(self) -> BCOO:
        """Return the sparse array that keeps whole indices."""
        return BCSR(self.parts(), shape=self.shape).to_bcoo()

    @classmethod
    def from_bcoo(cls, mat: BCOO) -> "CSR":
        """Return the matrix of one that keeps whole indices."""
        rows = BCSR.from_bcoo(mat)
        return cls((rows.data, rows.indices, rows.indptr), shape=mat.shape)

    def transpose(self, axes: Sequence[int] | None = None) -> "CSC":
        """Return the transpose, which keeps columns."""
        return CSC(self.parts(), shape=self.shape[::-1])


class CSC(_Matrix):
    """A sparse matrix that keeps the row of each element, column by column.

    Args:
      args: ``data``, ``indices`` and ``indptr``.
      shape: the sizes of both axes.
    """

    names = ("data", "indices", "indptr")
    indices: Any
    indptr: Any

    def to_bcoo(self) -> BCOO:
        """Return the sparse array that keeps whole indices."""
        return self.transpose().to_bcoo().T

    @classmethod
    def from_bcoo(cls, mat: BCOO) -> "CSC":
        """Return the matrix of one that keeps whole indices."""
        return CSR.from_bcoo(mat.T).transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """Return the transpose, which keeps rows."""
        return CSR(self.parts(), shape=self.shape[::-1])


def _rebuilt(kind: type[_Matrix], shape: Any, children: Any) -> Any:
    mat = object.__new__(kind)
    for name, array in zip(kind.names, children, strict=True):
        setattr(mat, name, array)
    mat._shape = shape
    return mat


for _kind in (COO, CSR, CSC):
    tree.register_pytree_node(
        _kind,
        lambda mat: (mat.parts(), mat._shape),
        lambda shape, children, kind=_kind: _rebuilt(kind, shape, children),
    )


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """Return the ``COO`` that stores what is not zero."""
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """Return the ``CSR`` that stores what is not zero."""
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_todense(mat: COO) -> Any:
    """Return an array of all elements."""
    return mat.todense()


def csr_todense(mat: CSR) -> Any:
    """Return an array of all elements."""
    return mat.todense()


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """Return the product with a matrix, of the transpose if that is asked for."""
    return (mat.transpose() if transpose else mat) @ B


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """Return the product with a vector, of the transpose if that is asked for."""
    return (mat.transpose() if transpose else mat) @ v


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """Return the product with a matrix, of the transpose if that is asked for."""
    return (mat.transpose() if transpose else mat) @ B


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """Return the product with a vector, of the transpose if that is asked for."""
    return (mat.transpose() if transpose else mat) @ v

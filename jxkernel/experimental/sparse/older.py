"""Sparse matrices by older names: coordinates, compressed rows, compressed columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel import tree
from jxkernel.experimental.sparse.formats import BCOO, BCSR, JAXSparse
from jxkernel.experimental.sparse.storing import stored_count
from jxkernel.transforms.composed import Composed

__all__ = [
    "COO",
    "CSC",
    "CSR",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
    "csr_fromdense",
    "csr_fromdense_p",
    "csr_matmat",
    "csr_matmat_p",
    "csr_matvec",
    "csr_matvec_p",
    "csr_todense",
    "csr_todense_p",
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
        if isinstance(other, JAXSparse):
            return self.to_bcoo() @ (other.to_bcoo() if isinstance(other, _Matrix) else other)
        return self.times(jnp.asarray(other))

    def times(self, other: Any) -> Any:
        """Return the product with an array."""
        return self.to_bcoo() @ other


class _Named(_Matrix):
    """A matrix whose operations stand in programs by their own names."""

    operations: "_Operations"

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> Any:
        """Return the sparse matrix that stores what is not zero."""
        x = jnp.asarray(mat)
        count = stored_count(x, 0, 0) if nse is None else nse
        kind = np.dtype(index_dtype)
        parts = cls.operations.fromdense_p.bind(x, nse=count, index_dtype=kind)
        return cls(tuple(parts), shape=x.shape)

    def todense(self) -> Any:
        """Return an array of all elements."""
        return self.operations.todense_p.bind(*self.parts(), shape=self.shape)

    def times(self, other: Any, transpose: bool = False) -> Any:
        """Return the product with an array, of the transpose if that is asked for.

        Raises:
          ValueError: the array is no vector and no matrix.
        """
        if other.ndim not in (1, 2):
            raise ValueError(f"{self} times an array of shape {other.shape}: no vector, no matrix")
        product_p = self.operations.matvec_p if other.ndim == 1 else self.operations.matmat_p
        return product_p.bind(*self.parts(), other, shape=self.shape, transpose=transpose)


class _Operations:
    """The primitives of a format."""

    def __init__(self, name: str, form: type[_Named]) -> None:
        def made(parts: Sequence[Any], shape: tuple[int, int]) -> BCOO:
            return _rebuilt(form, shape, parts).to_bcoo()

        def todense(*parts: Any, shape: tuple[int, int]) -> Any:
            return made(parts, shape).todense()

        def fromdense(x: Any, *, nse: int, index_dtype: Any) -> tuple[Any, ...]:
            return form.from_bcoo(BCOO.fromdense(x, nse=nse, index_dtype=index_dtype)).parts()

        def times(*operands: Any, shape: tuple[int, int], transpose: bool) -> Any:
            *parts, other = operands
            mat = made(parts, shape)
            return (mat.T if transpose else mat) @ other

        self.todense_p = Composed(f"{name}_todense", todense, linear=(0,))
        self.fromdense_p = Composed(f"{name}_fromdense", fromdense, multiple_results=True)
        self.matvec_p = Composed(f"{name}_matvec", times, linear=(0, 3))
        self.matmat_p = Composed(f"{name}_matmat", times, linear=(0, 3))


class COO(_Named):
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


class CSR(_Named):
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


COO.operations = _Operations("coo", COO)
CSR.operations = _Operations("csr", CSR)

coo_todense_p, csr_todense_p = COO.operations.todense_p, CSR.operations.todense_p
coo_fromdense_p, csr_fromdense_p = COO.operations.fromdense_p, CSR.operations.fromdense_p
coo_matvec_p, csr_matvec_p = COO.operations.matvec_p, CSR.operations.matvec_p
coo_matmat_p, csr_matmat_p = COO.operations.matmat_p, CSR.operations.matmat_p


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
    return mat.times(jnp.asarray(B), transpose)


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """Return the product with a vector, of the transpose if that is asked for."""
    return mat.times(jnp.asarray(v), transpose)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """Return the product with a matrix, of the transpose if that is asked for."""
    return mat.times(jnp.asarray(B), transpose)


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """Return the product with a vector, of the transpose if that is asked for."""
    return mat.times(jnp.asarray(v), transpose)

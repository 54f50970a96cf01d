"""What NumPy itself does for arrays: printing, saving and loading, and names of abstract dtypes.

Arrays are NumPy arrays to NumPy (their data is copied to the host), so these are its functions.
What reads or writes files of its own or makes Python objects has no place on a device.
"""

from typing import Any

import numpy as np
from numpy import (
    array_repr,
    array_str,
    character,
    complexfloating,
    dtype,
    flexible,
    floating,
    generic,
    get_printoptions,
    inexact,
    integer,
    number,
    object_,
    printoptions,
    save,
    savez,
    set_printoptions,
    signedinteger,
    unsignedinteger,
)
from numpy.exceptions import ComplexWarning

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import asarray

__all__ = [
    "ComplexWarning",
    "array_repr",
    "array_str",
    "character",
    "complexfloating",
    "dtype",
    "flexible",
    "floating",
    "fromfile",
    "fromiter",
    "fromstring",
    "generic",
    "get_printoptions",
    "inexact",
    "integer",
    "load",
    "number",
    "object_",
    "printoptions",
    "save",
    "savez",
    "set_printoptions",
    "signedinteger",
    "unsignedinteger",
]


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the array in a file that ``save`` wrote; an archive's arrays stay NumPy's.

    Args:
      file: a path or an open file.
      *args: as for ``numpy.load``.
      **kwargs: as for ``numpy.load``.

    Returns:
      an array, or NumPy's view of an archive.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.array([1, 2]))
    >>> file.seek(0)
    0
    >>> jnp.load(file)
    Array([1, 2], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    if isinstance(found, np.ndarray) and found.dtype == "V2":
        # NumPy writes no more of bfloat16 than its size.
        found = found.view(dtypes.bfloat16)
    return asarray(found) if isinstance(found, np.ndarray) else found


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Any:
    """Return the numbers written in a string as an array.

    Args:
      string: the text.
      dtype: their dtype.
      count: how many to read; -1 for all.
      sep: what separates them.

    Raises:
      ValueError: the text holds something else.

    >>> jnp.fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int32)
    """
    return asarray(np.fromstring(string, dtype=dtype, count=count, sep=sep))


def fromfile(
    file: Any, dtype: DTypeLike = float, count: int = -1, sep: str = "", offset: int = 0
) -> Any:
    """Return the numbers of a file as an array.

    Args:
      file: a path, or an open file.
      dtype: the dtype of the numbers in it.
      count: how many to read; -1 for all.
      sep: what separates them in a text; of none the file holds the numbers' bytes.
      offset: how many bytes to leave out first.

    Raises:
      OSError: it cannot be read.

    In a function under ``jit`` it is read once, when the function is traced.

    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryFile() as file:
    ...     np.array([1, 2, 3], np.int16).tofile(file)
    ...     position = file.seek(0)
    ...     jnp.fromfile(file, jnp.int16, offset=2)
    Array([2, 3], dtype=int16)
    """
    return asarray(np.fromfile(file, dtypes.as_dtype(dtype), count, sep, offset))


def fromiter(iter: Any, dtype: DTypeLike, count: int = -1) -> Any:
    """Return what an iterator gives as an array.

    Args:
      iter: an iterable of numbers.
      dtype: their dtype.
      count: how many to take; -1 for all.

    Raises:
      ValueError: there are fewer; one is traced (``jnp.stack`` takes a list of such).

    In a function under ``jit`` it is asked once, when the function is traced.

    >>> jnp.fromiter((n * n for n in range(4)), int)
    Array([0, 1, 4, 9], dtype=int32)
    """
    return asarray(np.fromiter(iter, dtypes.as_dtype(dtype), count))

"""Where in the user's code something happened: cheap capture, late resolution.

An equation keeps a raw traceback (code objects and instruction offsets, taken in C++ in about
0.2 µs).  Only when it is printed, lowered or explained is it resolved to the user's frames:
those outside this package and outside the notebook's machinery.  This module must not know of
tracers or of the notebook; a notebook cell is just a file name to it.
"""

import functools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

from jxkernel._jaxlib import Traceback
from jxkernel.records import record

__all__ = [
    "Frame",
    "NameStack",
    "SourceInfo",
    "attributes_of",
    "called_by_user",
    "capture",
    "current_user_frame",
    "exclude",
    "hide_internal_frames",
    "is_internal",
    "is_library_file",
    "is_package_file",
    "is_user_code",
    "is_user_file",
    "runs_backwards",
    "scope_of",
    "scoped",
    "turned_back",
    "user_frame",
    "user_frames",
    "users_level",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_LIBRARIES = os.path.dirname(os.__file__), "site-packages", "dist-packages"
_MACHINERY = tuple(
    f"{os.sep}{name}{os.sep}"
    for name in ("IPython", "ipykernel", "tornado", "asyncio", "traitlets", "_pytest", "pluggy")
)

capture: Callable[[], Any] = Traceback.get_traceback
"""Return the current stack in raw form (code objects, offsets), innermost frame first."""


@record()
class Frame:
    """One line of the user's code, with 1-based lines and 0-based columns."""

    file: str
    function: str
    line: int
    end_line: int
    column: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column} ({self.function})"


_EXCLUDED: set[str] = set()


def exclude(path: str) -> None:
    """Count a file, or a folder of files, as none of the user's: messages name its callers.

    Args:
      path: the file's name, or the folder's.

    >>> from jxkernel.extend import source_info_util
    >>> source_info_util.register_exclusion("/srv/library/layers.py")
    """
    _EXCLUDED.add(path)
    _KNOWN.clear()


def is_user_code(code: CodeType) -> bool:
    """Say whether code is the user's: not this package's, NumPy's or the notebook's."""
    return is_user_file(code.co_filename)


def is_user_file(name: str) -> bool:
    """Say whether a file holds the user's code, by its name."""
    if name.startswith((_PACKAGE, _NUMPY, "<frozen ", *_EXCLUDED)):
        return False
    if name.startswith("<ipython-input"):
        return True
    return not any(part in name for part in _MACHINERY)


@functools.lru_cache(maxsize=4096)
def is_library_file(file: str) -> bool:
    """Say whether a file belongs to Python itself or to an installed package."""
    # What is compiled names the file that it was made of, by a path inside its package.
    return file.endswith(".pyx") or any(part in file for part in _LIBRARIES)


def is_internal(code: CodeType) -> bool:
    """Say whether code is this package's."""
    return code.co_filename.startswith(_PACKAGE)


def is_package_file(file: str) -> bool:
    """Say whether a file is this package's."""
    return file.startswith(_PACKAGE)


def called_by_user() -> bool:
    """Whether the function that asks was called by the user's code."""
    return is_user_code(sys._getframe(2).f_code)


class _Code:
    """What is known of one code object: whose it is, and its places as far as they were asked for.

    Decoding the table of positions costs time proportional to the code's length, so it is done
    once for a code object, not once for each place in it.
    """

    __slots__ = ("_positions", "code", "frames", "is_user")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.is_user = is_user_code(code)
        self.frames: dict[int, Frame] = {}
        self._positions: list[tuple[int | None, int | None, int | None, int | None]] = []

    def frame(self, offset: int) -> Frame:
        """Return the place of the instruction at a byte offset."""
        found = self.frames.get(offset)
        if found is None:
            found = self.frames[offset] = self._resolve(offset)
        return found

    def _resolve(self, offset: int) -> Frame:
        code = self.code
        if not self._positions:
            self._positions = list(code.co_positions())
        line, end_line, column, end_column = self._positions[max(offset, 0) // 2]
        line = line or code.co_firstlineno
        return Frame(
            code.co_filename, code.co_name, line, end_line or line, column or 0, end_column or 0
        )


_KNOWN: dict[int, _Code] = {}
"""By ``id``: code objects of equal content in two files are equal, and are not the same place.

Each entry holds its code object, so an id is not used again while the entry exists.
"""
_KNOWN_LIMIT = 2048


def _known(code: CodeType) -> _Code:
    found = _KNOWN.get(id(code))
    if found is None:
        if len(_KNOWN) >= _KNOWN_LIMIT:
            _KNOWN.clear()
        found = _KNOWN[id(code)] = _Code(code)
    return found


_NO_ATTRIBUTES: dict[str, str] = {}


class Scoped:
    """A captured stack, and the scopes that the code ran in, outermost first.

    A scope is a name, or a pair of texts: an attribute of all operations in it.
    ``backwards`` says whether it is the place of a line whose derivative is carried backwards.
    """

    __slots__ = ("backwards", "scope", "traceback")

    def __init__(self, traceback: Any, scope: tuple[Any, ...], backwards: bool = False) -> None:
        self.traceback = traceback
        self.scope = scope
        self.backwards = backwards

    def raw_frames(self) -> Any:
        """Return code objects and offsets, as a captured stack does."""
        return self.traceback.raw_frames()


def scoped(traceback: Any, scope: tuple[Any, ...]) -> Scoped:
    """Return a captured stack as one in a scope; what it is already known to be in stays."""
    if type(traceback) is not Scoped:
        return Scoped(traceback, scope)
    own = traceback.scope
    if own[: len(scope)] == scope:
        return traceback
    return Scoped(traceback.traceback, scope + own, traceback.backwards)


def turned_back(traceback: Any) -> Any:
    """Return a captured stack as that of an equation which carries a derivative backwards."""
    if traceback is None or runs_backwards(traceback):
        return traceback
    if type(traceback) is Scoped:
        return Scoped(traceback.traceback, traceback.scope, True)
    return Scoped(traceback, (), True)


def runs_backwards(traceback: Any) -> bool:
    """Whether a captured stack is of an equation that carries a derivative backwards."""
    return type(traceback) is Scoped and traceback.backwards


def scope_of(traceback: Any) -> tuple[str, ...]:
    """Return the names of the scopes of a captured stack, outermost first."""
    if type(traceback) is not Scoped:
        return ()
    return tuple([entry for entry in traceback.scope if type(entry) is str])


def attributes_of(traceback: Any) -> dict[str, str]:
    """Return the attributes that a captured stack's scopes give; the inner ones hold."""
    if type(traceback) is not Scoped:
        return _NO_ATTRIBUTES
    return dict(entry for entry in traceback.scope if type(entry) is tuple)


def place_of(traceback: Any) -> Any:
    """Return what is equal for captured stacks of one line that ran in the same scopes."""
    return (traceback.traceback, traceback.scope) if type(traceback) is Scoped else traceback


@record()
class NameStack:
    """The names of the scopes that an operation is in; as a text they are joined by ``/``.

    Attributes:
      stack: the names, outermost first.
    """

    stack: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "/".join(self.stack)

    def __bool__(self) -> bool:
        return bool(self.stack)

    def extend(self, name: str) -> "NameStack":
        """Return the stack with a name more, the innermost."""
        return NameStack((*self.stack, name))


@record()
class SourceInfo:
    """Where in the code an equation was made.

    Attributes:
      traceback: the stack, as it was captured; None where it is not known.
      name_stack: the names of ``named_scope`` that it is in.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> closed = jx.make_jaxpr(jx.named_call(jnp.sin, name="layer"))(1.0)
    >>> print(closed.eqns[0].source_info.name_stack)
    layer
    """

    traceback: Any
    name_stack: NameStack

    @staticmethod
    def of(traceback: Any) -> "SourceInfo":
        """Return what an equation's captured stack says."""
        plain = traceback.traceback if type(traceback) is Scoped else traceback
        return SourceInfo(plain, NameStack(scope_of(traceback)))


def user_frames(traceback: Any) -> list[Frame]:
    """Return the user's frames of a captured stack, innermost first."""
    if traceback is None:
        return []
    codes, offsets = traceback.raw_frames()
    known = [_known(code) for code in codes]
    return [k.frame(offset) for k, offset in zip(known, offsets, strict=True) if k.is_user]


def user_frame(traceback: Any) -> Frame | None:
    """Return the innermost user frame of a captured stack, or None where there is none."""
    if traceback is None:
        return None
    codes, offsets = traceback.raw_frames()
    # Some twenty frames are this package's own: two maps pass over them without entering Python.
    for index, found in enumerate(map(_KNOWN.get, map(id, codes))):
        known = found or _known(codes[index])
        if known.is_user:
            offset = offsets[index]
            return known.frames.get(offset) or known.frame(offset)
    return None


def users_level() -> int:
    """Return how many frames up the user's code is, as ``warnings.warn`` counts them."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and not is_user_code(frame.f_code):
        frame, level = frame.f_back, level + 1
    return level


def current_user_frame() -> Frame | None:
    """Return the innermost user frame of the running stack, or None where there is none."""
    return user_frame_from(sys._getframe(1))


def user_frame_from(frame: FrameType | None) -> Frame | None:
    """Return the innermost user frame of a stack, or None where there is none."""
    while frame is not None:
        known = _known(frame.f_code)
        if known.is_user:
            return known.frame(frame.f_lasti)
        frame = frame.f_back
    return None


def hide_internal_frames(error: BaseException) -> None:
    """Drop this package's own frames from an exception's traceback, keeping the user's.

    Frames are kept where dropping all would leave nothing to show.
    """
    kept: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(traceback)
        traceback = traceback.tb_next
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = chain

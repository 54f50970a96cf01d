"""A process of one library that runs programs and says what each gave.

``python -m tests.campaign.worker LIBRARY`` reads pickled lists of sources from its input and writes
one pickled answer for each.  It runs in either library's environment, so it needs only NumPy.
"""

import gc
import os
import pickle
import signal
import sys
import traceback
import warnings
from typing import Any

import numpy as np

from tests.campaign.answers import LENGTH, SECONDS, Answer, Leaf
from tests.compose.vocabulary import names

PROGRAM = "<program>"


class TooLong(BaseException):
    """A program took longer than its bound."""


def _too_long(*_: Any) -> None:
    raise TooLong


def _leaf(jax: Any, path: Any, x: Any) -> Leaf:
    where = jax.tree_util.keystr(path)
    if isinstance(x, jax.ShapeDtypeStruct):
        return Leaf(where, "shape", str(x.dtype), tuple(x.shape), bool(x.weak_type))
    if isinstance(x, jax.Array):
        weak = bool(x.weak_type)
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            return Leaf(where, "key", str(x.dtype), x.shape, weak)
        data = np.asarray(x)
        return Leaf(where, "array", data.dtype.name, data.shape, weak, data.tobytes())
    if isinstance(x, np.ndarray | np.generic):
        sort = "float0" if x.dtype == jax.dtypes.float0 else type(x).__name__
        return Leaf(where, sort, str(x.dtype), x.shape)
    return Leaf(where, type(x).__name__, repr(x) if isinstance(x, str | int | float) else "")


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def _frames_above(error: BaseException) -> list[str]:
    """Return the frames between the program's lines: what its reader did not write."""
    files = [f.filename for f in traceback.extract_tb(error.__traceback__)]
    programs = [n for n, file in enumerate(files) if file.startswith(PROGRAM)] or [0]
    between = files[programs[0] : programs[-1]]
    return [file for file in between if not file.startswith(PROGRAM)]


def _raised(error: BaseException) -> Answer:
    classes = tuple(c.__name__ for c in type(error).__mro__[:-2])
    frames = tuple(file for e in _chain(error) for file in _frames_above(e))
    return Answer(error=classes, message=str(error)[:4000], frames=frames)


def run(scope: dict[str, Any], source: str) -> Answer:
    """Run a program and return what it gave."""
    jax = scope["jax"]
    jax.config.update("jax_enable_x64", False)
    own = {**scope, "__name__": "__main__"}
    try:
        exec(compile(source, PROGRAM, "exec"), own)
        flat = jax.tree_util.tree_flatten_with_path(own["result"])[0]
        return Answer(tuple(_leaf(jax, path, x) for path, x in flat))
    except (Exception, TooLong) as error:
        return _raised(error)


def _in_time(scope: dict[str, Any], source: str) -> Answer:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return run(scope, source)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    """Answer until there are no more programs."""
    answers = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    signal.signal(signal.SIGPROF, _too_long)
    scope = names(sys.argv[1])
    gc.freeze()
    # What programs leave is looked through rarely: it was a fifth of their time.
    gc.set_threshold(100_000, 20, 100)
    while True:
        try:
            sources = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for source in sources:
            answer = pickle.dumps(_in_time(scope, source))
            answers.write(LENGTH.pack(len(answer)) + answer)
            answers.flush()


if __name__ == "__main__":
    main()

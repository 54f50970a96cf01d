"""The check that a random key is consumed once: in programs, and from call to call.

A key is known by the array of its key data.  Slices of an array of keys are known by the way they
were cut, so ``keys[0]`` and ``keys[1]`` are two keys and ``keys`` is both.  A program's *signature*
says which parts of its arguments it consumes and which it gives back; it is made once.  Reuse
inside a program is an error when the signature is made; reuse from call to call when the call is.

It reads the marks that ``random`` leaves (``key_use``) and must not know of generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import finalize

import numpy as np

from jxkernel._jaxlib import ArrayImpl
from jxkernel.config import key_reuse_hook
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Literal, Var, subjaxprs
from jxkernel.errors import KeyReuseError
from jxkernel.records import record
from jxkernel.source import current_user_frame, user_frame

__all__ = ["check_keys", "clear", "consume_key", "note_view"]

Path = tuple[Any, ...]

_VIEWS = frozenset(
    [
        "slice",
        "dynamic_slice",
        "squeeze",
        "reshape",
        "gather",
        "expand_dims",
        "broadcast_in_dim",
        "transpose",
    ]
)
_CALLS = frozenset(
    ["jit", "checkpoint", "custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "remat"]
)


@record()
class _Use:
    """One use of a key: of which part, by what, where."""

    path: Path
    by: str
    where: str

    def __str__(self) -> str:
        return f"{self.by} at {self.where}" if self.where else self.by


@record()
class _Signature:
    """What a program does to keys among its arguments.

    Attributes:
      uses: for each argument that is consumed, its uses.
      forwards: for each result that is (part of) an argument, which, and which part.
    """

    uses: dict[int, list[_Use]]
    forwards: dict[int, tuple[int, Path]]


def _overlap(first: Path, second: Path) -> bool:
    """Whether two parts of an array have something in common: one is cut from the other."""
    length = min(len(first), len(second))
    return first[:length] == second[:length]


def _add(uses: list[_Use], use: _Use) -> None:
    """Add a use of a key.

    Raises:
      KeyReuseError: it has been used before.
    """
    for before in uses:
        if _overlap(before.path, use.path):
            _refuse(KeyReuseError("a random key", str(before), str(use)))
            return
    uses.append(use)


def _refuse(error: KeyReuseError) -> None:
    """Raise an error, unless someone wants only to be told."""
    hook = key_reuse_hook.value
    if hook is None:
        raise error
    hook(error)


# ---------------------------------------------------------------- in a program


def _signature(closed: ClosedJaxpr) -> _Signature:
    return closed.remember(_read)


def _read(closed: ClosedJaxpr) -> _Signature:
    return _Reading(closed).signature()


class _Reading:
    """One pass over a program.

    Attributes:
      origins: for variables that are parts of others, which, and which part.
      uses: for each variable the uses of it and its parts.
    """

    __slots__ = ("closed", "origins", "uses")

    def __init__(self, closed: ClosedJaxpr) -> None:
        self.closed = closed
        self.origins: dict[Var, tuple[Var, Path]] = {}
        self.uses: dict[Var, list[_Use]] = {}

    def signature(self) -> _Signature:
        jaxpr = self.closed.jaxpr
        for eqn in jaxpr.eqns:
            self._read(eqn)
        places = {var: index for index, var in enumerate([*jaxpr.constvars, *jaxpr.invars])}
        uses = {places[var]: uses for var, uses in self.uses.items() if var in places}
        forwards: dict[int, tuple[int, Path]] = {}
        for index, atom in enumerate(jaxpr.outvars):
            if type(atom) is Var:
                root, path = self._origin(atom)
                if root in places:
                    forwards[index] = (places[root], path)
        return _Signature(uses, forwards)

    def _origin(self, var: Var) -> tuple[Var, Path]:
        return self.origins.get(var, (var, ()))

    def _consume(self, atom: Any, use: _Use) -> None:
        if type(atom) is Literal:
            return
        root, path = self._origin(atom)
        _add(self.uses.setdefault(root, []), _Use(path + use.path, use.by, use.where))

    def _read(self, eqn: Eqn) -> None:
        name = eqn.primitive.name
        if name == "key_use":
            self._consume(eqn.invars[0], _Use((), f"random.{eqn.params['by']}", _place(eqn)))
            self._derive(eqn.outvars[0], eqn.invars[0], ())
        elif name in _VIEWS and eqn.invars[0].aval.dtype == np.uint32:
            step = (name, str(sorted(eqn.params.items(), key=str)), *map(_operand, eqn.invars[1:]))
            self._derive(eqn.outvars[0], eqn.invars[0], (step,))
        elif name == "cond":
            self._read_cond(eqn)
        elif name == "scan":
            self._read_scan(eqn)
        elif name == "while":
            self._read_while(eqn)
        elif name in _CALLS:
            for program in subjaxprs(eqn.params):
                self._apply(eqn, _signature(program), eqn.invars)

    def _derive(self, result: Var, atom: Any, step: Path) -> None:
        if type(atom) is Var:
            root, path = self._origin(atom)
            self.origins[result] = (root, path + step)

    def _apply(self, eqn: Eqn, signature: _Signature, atoms: Sequence[Any]) -> None:
        for index, uses in signature.uses.items():
            for use in uses:
                self._consume(atoms[index], use)
        for result, (index, path) in signature.forwards.items():
            self._derive(eqn.outvars[result], atoms[index], path)

    def _read_cond(self, eqn: Eqn) -> None:
        """Only one branch runs: a key may be used in each."""
        joined: dict[int, list[_Use]] = {}
        for branch in eqn.params["branches"]:
            for index, uses in _signature(branch).uses.items():
                known = joined.setdefault(index, [])
                known.extend(
                    use for use in uses if not any(_overlap(use.path, k.path) for k in known)
                )
        self._apply(eqn, _Signature(joined, {}), eqn.invars[1:])

    def _read_scan(self, eqn: Eqn) -> None:
        params = eqn.params
        consts, carry = params["num_consts"], params["num_carry"]
        signature = _signature(params["jaxpr"])
        if params["length"] > 1:
            self._check_turns(eqn, signature, consts, carry)
        whole = {
            index: [_Use((), uses[0].by, uses[0].where)] if index >= consts + carry else uses
            for index, uses in signature.uses.items()
        }
        self._apply(eqn, _Signature(whole, {}), eqn.invars)

    def _read_while(self, eqn: Eqn) -> None:
        params = eqn.params
        first, second = params["cond_nconsts"], params["body_nconsts"]
        body, condition = _signature(params["body_jaxpr"]), _signature(params["cond_jaxpr"])
        self._check_turns(eqn, body, second, len(eqn.outvars))
        self._check_turns(eqn, condition, first, 0)
        self._apply(eqn, _Signature(body.uses, {}), eqn.invars[first:])

    def _check_turns(self, eqn: Eqn, signature: _Signature, consts: int, carry: int) -> None:
        """Raise where one turn of a loop uses a key that the next turn gets too."""
        for index, uses in signature.uses.items():
            again = index < consts
            if consts <= index < consts + carry:
                back = signature.forwards.get(index - consts)
                again = back is not None and back[0] == index
            if again:
                place = f"the next turn of {eqn.primitive.name} at {_place(eqn)}"
                _refuse(KeyReuseError("a random key", str(uses[0]), f"{uses[0]}, in {place}"))


def _operand(atom: Any) -> Any:
    return str(atom.val) if type(atom) is Literal else id(atom)


def _place(eqn: Eqn) -> str:
    frame = user_frame(eqn.source)
    return f"{frame.file}:{frame.line}" if frame else ""


# ---------------------------------------------------------------- from call to call


class _Known:
    """What is known of arrays of key data: uses of them, and what they were cut from."""

    __slots__ = ("cut_from", "uses")

    def __init__(self) -> None:
        self.uses: dict[int, list[_Use]] = {}
        self.cut_from: dict[int, tuple[Any, Path]] = {}

    def forget(self, key: int) -> None:
        """Forget an array that is gone."""
        self.uses.pop(key, None)
        self.cut_from.pop(key, None)


_KNOWN = _Known()


def note_view(key_data: Any, part: Any, step: Any) -> None:
    """Remember that an array of key data was cut from another.

    Args:
      key_data: the key data it was cut from.
      part: the key data that were cut.
      step: how, for comparison.
    """
    if type(key_data) is not ArrayImpl or type(part) is not ArrayImpl or part is key_data:
        return
    root, path = _KNOWN.cut_from.get(id(key_data), (key_data, ()))
    _KNOWN.cut_from[id(part)] = (root, (*path, step))
    finalize(part, _KNOWN.forget, id(part))


def consume_key(key_data: Any, by: str, path: Path = ()) -> None:
    """Remember that a key was used, on the user's line that is running.

    Args:
      key_data: its key data; only arrays on devices are remembered.
      by: what used it.
      path: which part of it.

    Raises:
      KeyReuseError: it was used before.
    """
    if type(key_data) is not ArrayImpl:
        return
    frame = current_user_frame()
    where = f"{frame.file}:{frame.line}" if frame else ""
    root, own = _KNOWN.cut_from.get(id(key_data), (key_data, ()))
    uses = _KNOWN.uses.get(id(root))
    if uses is None:
        uses = _KNOWN.uses[id(root)] = []
        finalize(root, _KNOWN.forget, id(root))
    _add(uses, _Use(own + path, by, where))


def check_keys(closed: ClosedJaxpr, args: Sequence[Any], name: str) -> None:
    """Check a program that is about to run, and remember the keys it uses.

    Args:
      closed: the program.
      args: its flat arguments.
      name: its name.

    Raises:
      KeyReuseError: it uses a key twice, or one that was used before.
    """
    values = [*closed.consts, *args]
    for index, uses in _signature(closed).uses.items():
        for use in uses:
            by = use.by if name == "key_use" else f"{use.by} in {name}"
            consume_key(values[index], by, use.path)


def clear() -> None:
    """Forget which keys have been used."""
    _KNOWN.uses.clear()
    _KNOWN.cut_from.clear()

"""The guard against ranks that run different programs, which would give wrong numbers unseen.

Before a program that exchanges with other processes runs, each rank tells the others which one it
is about to run, through the coordination service, and goes on when all have said the same.  What
it compares is the program as XLA gets it, and the order of all calls before.  Calls that C++
answers are written down only, in some tenths of a microsecond, and compared with the next that it
does not, and at the end of a section; to a strict guard C++ answers none.
"""

from __future__ import annotations

import json
import linecache
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import cycle, repeat, zip_longest
from typing import Any, NamedTuple

from jxkernel import source
from jxkernel.config import launch_hook
from jxkernel.core.jaxpr import Jaxpr, subjaxprs
from jxkernel.core.printing import Names, equation_text
from jxkernel.errors import DesyncError
from jxkernel.runtime import joined

__all__ = ["Guard", "guard", "order_difference"]

_ENTRY = "jxkernel/guard/{}/{}/{}"
_TEXT = "jxkernel/program/{}/{}/{}"
_ENDED = "jxkernel/ended/{}/{}"
_LOOK_MS = 200
_LIMIT = 200_000
_MOST_CALLS = 10_000
_MOST_NOTES = 4_096
_FACTOR, _MASK = 1_000_003, (1 << 61) - 1

Program = tuple[str, str, tuple[str, ...]]
"""A program's fingerprint, its name, and the kinds of its collectives."""

Note = tuple[object, Program, Any, int]
"""A call as it is written down: nothing, the program, the stack in raw form, and the moment."""

Naming = Callable[[str, int], str]
Rows = Sequence[Sequence[str]]


def _file_and_line(file: str, line: int) -> str:
    return f"{file}:{line}"


class Call(NamedTuple):
    """A call of a program.

    Attributes:
      fingerprint: what tells the program from others.
      name: its name.
      frame: the user's place.
      moment: when it was made, by the process's monotonic clock, in nanoseconds.
      collectives: the kinds of instructions by which it exchanges.
    """

    fingerprint: str
    name: str
    frame: source.Frame | None
    moment: int
    collectives: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.collectives)})" if self.collectives else self.name


class Guard:
    """Compares the programs that ranks run.

    Args:
      sees_all: whether every call is compared before it runs; else those that are new to C++.
      patience: how many seconds to wait for a rank that does not come; None waits on.
      naming: what a line of a file is called.
      tells_orders: whether ``order`` is kept after each call, until ``take_orders`` takes it.

    Attributes:
      section: the number of this section.
      waits_for: the ranks that have not come to where this one is.
    """

    def __init__(
        self,
        *,
        sees_all: bool = False,
        patience: float | None = None,
        naming: Naming = _file_and_line,
        tells_orders: bool = False,
    ) -> None:
        group = joined()
        assert group is not None
        self.sees_all = sees_all
        self.waits_for: tuple[int, ...] = ()
        self._patience = patience
        self._naming = naming
        self._client = group.client
        self._rank, self._size = group.rank, group.size
        self._tells_orders = tells_orders
        self._lock = threading.Lock()
        self._notes: deque[Note] = deque()
        # Each so many notes it reads them, else it does nothing.
        turns: list[Callable[[], object]] = [*[tuple] * _MOST_NOTES, self._read]
        self._room = map(operator.call, cycle(turns))
        self.begin(0)

    def renewed(self) -> Guard:
        """Return another of the kind; with it in place no call that C++ knows is answered there."""
        made = Guard(
            sees_all=self.sees_all,
            patience=self._patience,
            naming=self._naming,
            tells_orders=self._tells_orders,
        )
        launch_hook.set_global(made)
        return made

    def begin(self, section: int) -> None:
        """Begin a section, a cell, in which calls are counted from the first."""
        with self._lock:
            self._count, self._order = 0, 0
            self._latest: Note | None = None
            self._calls: list[Call] = []
            self._orders: list[int] = []
            self._notes.clear()
            self.section = section

    def end(self) -> None:
        """End the section: who waits for this rank learns that it will not come."""
        key = _ENDED.format(self.section, self._rank)
        self._client.key_value_set(key, str(self.count), allow_overwrite=True)

    def __call__(self, executable: Any, program: Any) -> None:
        """Write a call down, and wait until every rank is about to make it.

        Raises:
          DesyncError: another rank runs another program, or none.
        """
        next(self._noted(executable.identity))
        self._meet("", lambda: _listing(executable, program, self._naming))

    def notices(self, program: Program, answer: Any) -> Callable[[Any], Any]:
        """Return what writes down that a call is about to be made, and returns an answer.

        C++ waits for it at each call.  So nothing of it is Python but each 4,096th time, when what
        was written down is counted.

        Args:
          program: what is called.
          answer: what is returned, whatever the argument is.
        """
        return partial(next, map({None: answer}.__getitem__, self._noted(program)))

    def _noted(self, program: Program) -> Iterator[None]:
        """Return what writes a call of a program down at each step."""
        stacks = map(operator.call, repeat(source.capture))
        moments = map(operator.call, repeat(time.monotonic_ns))
        return map(self._notes.append, zip(self._room, repeat(program), stacks, moments))

    def _read(self) -> None:
        """Count the calls that were written down."""
        with self._lock:
            while self._notes:
                note = self._notes.popleft()
                self._count += 1
                self._order = (self._order * _FACTOR + _number(note[1][0])) & _MASK
                self._latest = note
                if self._tells_orders:
                    self._orders.append(self._order)
                if self._count <= _MOST_CALLS:
                    self._calls.append(_call_of(note))

    @property
    def count(self) -> int:
        """How many calls there were in this section."""
        return self._count + len(self._notes)

    @property
    def order(self) -> int:
        """A number that tells the calls of this section from others."""
        self._read()
        return self._order

    @property
    def latest(self) -> Call | None:
        """The latest call of this section."""
        self._read()
        return None if self._latest is None else _call_of(self._latest)

    def take_orders(self) -> list[int]:
        """Return ``order`` after each call of this section that was not taken yet."""
        self._read()
        with self._lock:
            taken, self._orders = self._orders, []
        return taken

    def exchange(self, said: str) -> dict[int, str]:
        """Return what every rank says at this point of its section, by rank.

        Raises:
          DesyncError: another rank does not come here.
        """
        next(self._noted(("exchange", "exchange", ())))
        entries = self._meet(said, lambda: [])
        return {rank: entry[-1] for rank, entry in entries.items()}

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of this section, the first some thousand."""
        self._read()
        return tuple(self._calls)

    def rows(self) -> list[list[str]]:
        """Return the calls of this section, each with its place, the first some thousand."""
        return [
            [
                f"call {number}, {one.name} #{one.fingerprint[:8]}",
                f"{self._place(one)}: {self._code(one)}",
            ]
            for number, one in enumerate(self.calls, 1)
        ]

    def _place(self, call: Call) -> str:
        return self._naming(call.frame.file, call.frame.line) if call.frame else ""

    @staticmethod
    def _code(call: Call) -> str:
        frame = call.frame
        return linecache.getline(frame.file, frame.line).strip() if frame else ""

    def _meet(self, said: str, listing: Callable[[], Rows]) -> dict[int, Any]:
        """Wait for the other ranks at this call, and compare what they are about to do."""
        call = self.latest
        assert call is not None
        place, code = self._place(call), self._code(call)
        own = [call.fingerprint, call.name, place, code, self.order, said]
        self._client.key_value_set(self._key(_ENTRY, self._rank), json.dumps(own))
        entries = self._gather(_ENTRY, own)
        if len({entry[0] for entry in entries.values()}) > 1:
            raise self._difference(entries, listing())
        if len({entry[4] for entry in entries.values()}) > 1:
            raise order_difference(self._gather_texts(self.rows()))
        return entries

    def _key(self, form: str, rank: int | str) -> str:
        return form.format(self.section, self.count, rank)

    def _gather(self, form: str, own: Any) -> dict[int, Any]:
        """Return what every rank says under a key, by rank."""
        said = {self._rank: own}
        try:
            while len(said) < self._size:
                # One message for all that are there, then one that waits for the next.
                for key, text in self._client.key_value_dir_get(self._key(form, "")):
                    said[int(key.rpartition("/")[2])] = json.loads(text)
                missing = next((one for one in range(self._size) if one not in said), None)
                if missing is not None:
                    self.waits_for = (missing,)
                    said[missing] = json.loads(self._await(self._key(form, missing), missing, own))
        finally:
            self.waits_for = ()
        return dict(sorted(said.items()))

    def _await(self, key: str, rank: int, own: Any) -> str:
        started = time.monotonic()
        while True:
            # In steps: between them an interrupt arrives.
            try:
                return self._client.blocking_key_value_get(key, _LOOK_MS)
            except Exception as error:
                if "DEADLINE_EXCEEDED" not in str(error):
                    raise
            count = self._ended(rank)
            if count is not None and count < self.count:
                raise self._absent(rank, own, f"has ended without it, after {_programs(count)}")
            waited = time.monotonic() - started
            if self._patience is not None and waited > self._patience:
                raise self._absent(rank, own, f"has not come within {self._patience:.0f} s")

    def _ended(self, rank: int) -> int | None:
        """Return after how many programs a rank has ended this section; None where it has not."""
        try:
            return int(self._client.key_value_try_get(_ENDED.format(self.section, rank)))
        except Exception as error:
            if "NOT_FOUND" not in str(error):
                raise
            return None

    def _absent(self, rank: int, own: Any, why: str) -> DesyncError:
        _, name, where, code, *_ = own
        return DesyncError(
            f"Rank {self._rank} is about to run a program that rank {rank} does not: rank {rank} "
            f"{why}.",
            details=(_told(f"rank {self._rank}", name, where, code),),
        )

    def _gather_texts(self, rows: Rows) -> dict[int, Rows]:
        self._client.key_value_set(self._key(_TEXT, self._rank), json.dumps(rows))
        return self._gather(_TEXT, rows)

    def _difference(self, entries: dict[int, Any], listing: Rows) -> DesyncError:
        groups: dict[str, list[int]] = {}
        for rank, entry in entries.items():
            groups.setdefault(entry[0], []).append(rank)
        listings = self._gather_texts(listing)
        details = []
        for ranks in groups.values():
            _, name, where, code, *_ = entries[ranks[0]]
            details.append(_told(_named(ranks), name, where, code))
        first, second = list(groups.values())[:2]
        details += _first_difference(
            _named(first), listings[first[0]], _named(second), listings[second[0]]
        )
        return DesyncError(
            "The ranks are about to run different programs, so none was run.", details=details
        )


def _call_of(note: Note) -> Call:
    _, (fingerprint, name, collectives), stack, moment = note
    return Call(fingerprint, name, source.user_frame(stack), moment, collectives)


def _programs(count: int) -> str:
    return f"{count} program{'' if count == 1 else 's'}"


def _named(ranks: list[int]) -> str:
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(map(str, ranks))}"


def _told(who: str, name: str, where: str, code: str) -> str:
    return f"  {who}: {name}, {where}{': ' if code else ''}{code}"


def _equations(jaxpr: Jaxpr, names: Names, naming: Naming) -> Iterator[list[str]]:
    """Yield each equation's text, and its place; of one with programs inside the first line."""
    for eqn in jaxpr.eqns:
        frame = source.user_frame(eqn.source)
        place = naming(frame.file, frame.line) if frame else ""
        yield [equation_text(eqn, names).partition("\n")[0], place]
        for inner in subjaxprs(eqn.params):
            yield from _equations(inner.jaxpr, names, naming)


def _listing(executable: Any, program: Any, naming: Naming) -> list[list[str]]:
    """Return a program's equations, each with its place, and then its module's lines."""
    listed, size = [], 0
    module = ([line, ""] for line in executable.lowered.text().splitlines())
    for rows in (_equations(program.jaxpr, Names(), naming), module):
        for row in rows:
            size += len(row[0])
            if size > _LIMIT:
                return listed
            listed.append(row)
    return listed


def order_difference(rows: Mapping[int, Rows]) -> DesyncError:
    """Return the error of ranks that made other calls, or in another order.

    Args:
      rows: the calls of each rank, see ``Guard.rows``.
    """
    first, *others = rows
    called = {rank: [text for text, _ in many] for rank, many in rows.items()}
    other = next((one for one in others if called[one] != called[first]), first)
    return DesyncError(
        "The ranks called their programs in different orders, so what they computed since the "
        "cell began is wrong.",
        details=_first_difference(_named([first]), rows[first], _named([other]), rows[other]),
        instead="call them in the same order on all ranks; %jx cluster strict on compares each "
        "call before it runs",
    )


def _first_difference(first: str, before: Rows, second: str, after: Rows) -> list[str]:
    for one, other in zip_longest(before, after, fillvalue=("nothing", "")):
        if one[0] != other[0]:
            return [
                "The first difference:",
                *(
                    f"  {who}: {text}{f'  ({place})' if place else ''}"
                    for who, (text, place) in ((first, one), (second, other))
                ),
            ]
    return []


def guard(*, strict: bool = False, patience: float = 120.0) -> Guard:
    """Compare programs with the other ranks from now on; ``leave`` ends it.

    Every rank calls it, at the same point of the program.

    Args:
      strict: whether to compare before every call, which then has no fast path; else before the
        first of each kind.
      patience: how many seconds to wait for a rank that does not come.

    Raises:
      DesyncError: from the call that would have run, where ranks differ.
    """
    made = Guard(sees_all=strict, patience=patience)
    before = launch_hook.value
    if before is not None:
        made.begin(before.section + 1)
    launch_hook.set_global(made)
    return made


@lru_cache(4_096)
def _number(fingerprint: str) -> int:
    """Return a number of a fingerprint, the same in all processes."""
    return int.from_bytes(fingerprint[:8].encode())

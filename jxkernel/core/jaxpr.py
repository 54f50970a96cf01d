"""The typed intermediate representation: variables, equations, jaxprs.

A jaxpr is a list of equations in single-assignment form: ``constvars`` and ``invars`` come in,
each equation applies one primitive, ``outvars`` go out.  Programs inside parameters (of ``jit``,
``scan`` ...) are ``ClosedJaxpr`` with no constants: constants are hoisted to the outermost
program, so that none is baked in twice.  A closed jaxpr remembers what was made from it (its JVP,
transpose, batched form, executables), which lives exactly as long as it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, TypeVarTuple, final

from jxkernel._lazy import late_function
from jxkernel.core.avals import ShapedArray
from jxkernel.core.key_data import numbers_of
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import state
from jxkernel.core.widths import at_width, may_be_mixed
from jxkernel.records import record
from jxkernel.source import SourceInfo

__all__ = [
    "NO_EFFECTS",
    "Atom",
    "ClosedJaxpr",
    "Eqn",
    "Jaxpr",
    "Literal",
    "ParamDict",
    "Value",
    "Var",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "likeness",
    "names_in",
    "nesting",
    "program_names",
    "subjaxprs",
]

NO_EFFECTS: frozenset[Any] = frozenset()

Value = Any
"""What flows through a program: an array, a number, or a tracer that stands for one."""

ParamDict = dict[str, Any]
"""The parameters of an equation by their names."""

MadeT = TypeVar("MadeT")
ArgTs = TypeVarTuple("ArgTs")

_NOTHING: Any = object()

_equation_text = late_function("jxkernel.core.printing", "equation_text")
_jaxpr_text = late_function("jxkernel.core.printing", "jaxpr_text")
_pretty_print = late_function("jxkernel.core.printing", "pretty_print")


@final
class Var:
    """A variable of a jaxpr; identity is its name."""

    __slots__ = ("__weakref__", "aval")

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.short()}"


@final
class Literal:
    """A scalar constant written into an equation.

    ``val`` reproduces ``aval`` when it is abstracted again: a Python number for a weak type, a
    NumPy scalar of the very dtype for a strong one.
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    def __repr__(self) -> str:
        return f"Literal({self.val!r}:{self.aval.short()})"


Atom = Var | Literal


class Eqn:
    """One application of a primitive: ``outvars = primitive[params] invars``."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: frozenset[Any] = NO_EFFECTS,
        source: Any = None,
    ) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source = source

    def __repr__(self) -> str:
        return _equation_text(self)

    @property
    def source_info(self) -> SourceInfo:
        """Where in the user's code it was made, and under which names."""
        return SourceInfo.of(self.source)

    def at_width(self) -> AbstractContextManager[Any]:
        """Return the block in which rules are applied to it: 64 bits are on where it has them."""
        return at_width([atom.aval for atom in (*self.invars, *self.outvars)])

    def replace(self, **parts: Any) -> Eqn:
        """Return this equation with the given parts replaced."""
        values = {name: parts.get(name, getattr(self, name)) for name in Eqn.__slots__}
        return Eqn(**values)


def likeness(eqn: Eqn, operands: Sequence[Any]) -> Any:
    """Return what is equal for equations that do the same with operands, or None.

    Args:
      eqn: the equation; None is for one that has effects, or a parameter that is a list or array.
      operands: what stands for its operands; a literal is its number, NaN and -0.0 told apart.
    """
    if eqn.effects:
        return None
    key = (
        eqn.primitive,
        *[(repr(one.val), one.aval) if type(one) is Literal else one for one in operands],
        # Zeros of both signs are equal, and their texts are not.
        *[(name, repr(x) if isinstance(x, float) else x) for name, x in sorted(eqn.params.items())],
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


@record()
class DebugInfo:
    """What is known of the function that a program was made of.

    Attributes:
      traced_for: what it was traced for.
      func_src_info: its name, and where it is, ``loss at model.py:40``; no more than the name of
        the programs that are made here.
      arg_names: what its arguments are called; None where that is not known.
      result_paths: where its results are in the tree that it gives; None likewise.
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None = None
    result_paths: tuple[str, ...] | None = None

    @property
    def func_name(self) -> str:
        """The name of the function."""
        return self.func_src_info.partition(" ")[0]


class Jaxpr:
    """A program: constants and arguments in, equations, results out."""

    __slots__ = ("__weakref__", "constvars", "effects", "eqns", "invars", "name", "outvars")

    pretty_print: Callable[..., str] = _pretty_print

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[Eqn],
        effects: frozenset[Any] = NO_EFFECTS,
        name: str = "",
        debug_info: DebugInfo | None = None,
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = effects
        self.name = name if debug_info is None else debug_info.func_name

    def __repr__(self) -> str:
        return _jaxpr_text(self)

    def replace(self, **parts: Any) -> Jaxpr:
        """Return this program with the given parts replaced."""
        names = ("constvars", "invars", "outvars", "eqns", "effects", "name")
        kept = {name: parts.get(name, getattr(self, name)) for name in names}
        return Jaxpr(**kept, debug_info=parts.get("debug_info"))

    @property
    def debug_info(self) -> DebugInfo:
        """What is known of the function."""
        return DebugInfo("jit", self.name)

    @property
    def num_consts(self) -> int:
        """The number of constants."""
        return len(self.constvars)

    @property
    def all_invars(self) -> list[Var]:
        """The variables of the constants, then those of the arguments."""
        return [*self.constvars, *self.invars]

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the arguments."""
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the results."""
        return [atom.aval for atom in self.outvars]


@final
class ClosedJaxpr:
    """A program with the values of its constants."""

    __slots__ = ("__weakref__", "_made", "consts", "jaxpr")

    pretty_print: Callable[..., str] = _pretty_print

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        assert len(jaxpr.constvars) == len(consts), "one value per constvar"
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self._made: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return _jaxpr_text(self.jaxpr)

    def remember(self, make: Callable[[ClosedJaxpr, *ArgTs], MadeT], *args: *ArgTs) -> MadeT:
        """Return what ``make(self, *args)`` gives, made once and kept as long as the program lives.

        Args:
          make: a function that gives the same for the same arguments.
          *args: its arguments after the program, hashable and without this program.
        """
        key = (make, *args)
        found = self._made.get(key, _NOTHING)
        if found is _NOTHING:
            found = self._made[key] = make(self, *args)
        return found

    def replace(
        self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        """Return this program with the given parts replaced."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    @property
    def literals(self) -> list[Any]:
        """An older name of ``consts``."""
        return self.consts

    @property
    def constvars(self) -> list[Var]:
        """The variables of the constants."""
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        """The variables of the arguments."""
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Atom]:
        """The results: variables and literals."""
        return self.jaxpr.outvars

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the arguments."""
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the results."""
        return self.jaxpr.out_avals

    @property
    def eqns(self) -> list[Eqn]:
        """The equations, in order."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[Any]:
        """The effects of all equations together."""
        return self.jaxpr.effects

    @property
    def debug_info(self) -> DebugInfo:
        """What is known of the function."""
        return self.jaxpr.debug_info

    @property
    def num_consts(self) -> int:
        """The number of constants."""
        return len(self.consts)

    @property
    def all_invars(self) -> list[Var]:
        """The variables of the constants, then those of the arguments."""
        return self.jaxpr.all_invars

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """Return the program that a function makes of this one, with the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def hoisted(self) -> ClosedJaxpr:
        """Return the program with its constants as leading arguments, made once."""
        return self.remember(_hoisted) if self.consts else self


def _hoisted(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars]))


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Apply a program under the current trace, keeping each equation's source location.

    A program takes and gives the key data of random keys; keys are taken as well.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, map(numbers_of, args), strict=True))
    outer = state.replayed_source
    mixed = may_be_mixed()
    try:
        for eqn in jaxpr.eqns:
            values = tuple([a.val if type(a) is Literal else env[a] for a in eqn.invars])
            state.replayed_source = eqn.source or outer
            if mixed:
                with eqn.at_width():
                    out = _applied(eqn, values)
            else:
                out = _applied(eqn, values)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out, strict=True))
            else:
                env[eqn.outvars[0]] = out
    finally:
        state.replayed_source = outer
    return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


def _applied(eqn: Eqn, values: tuple[Any, ...]) -> Any:
    """Apply the primitive of an equation under the current trace."""
    if eqn.primitive.performed is not None:
        return eqn.primitive.performed(*values, **eqn.params)
    return state.trace.process(eqn.primitive, values, eqn.params)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Any:
    """Return a function of flat arguments that applies a closed program."""

    def apply(*args: Any) -> list[Any]:
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)

    return apply


def subjaxprs(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    """Yield the programs held by an equation's parameters."""
    items: tuple[Any, ...]
    for value in params.values():
        if type(value) is ClosedJaxpr:
            yield value
        elif isinstance(items := value, tuple):
            for item in items:
                if type(item) is ClosedJaxpr:
                    yield item


_NO_NAMES: frozenset[Any] = frozenset()


def names_in(primitive: Primitive, params: dict[str, Any]) -> frozenset[Any]:
    """Return the axis names that an application of a primitive uses, at any depth."""
    if primitive.axis_names is not None:
        return frozenset(primitive.axis_names(params))
    return _NO_NAMES.union(*[program_names(closed) for closed in subjaxprs(params)])


def program_names(closed: ClosedJaxpr) -> frozenset[Any]:
    """Return the axis names that a program uses, at any depth."""
    return closed.remember(_program_names)


def _program_names(closed: ClosedJaxpr) -> frozenset[Any]:
    return _NO_NAMES.union(*[names_in(eqn.primitive, eqn.params) for eqn in closed.eqns])


def nesting(closed: ClosedJaxpr) -> int:
    """Return how deep programs lie inside one another: 0 for a program that holds none."""
    return closed.remember(_nesting)


def _nesting(closed: ClosedJaxpr) -> int:
    inner = [nesting(sub) for eqn in closed.eqns for sub in subjaxprs(eqn.params)]
    return 1 + max(inner) if inner else 0

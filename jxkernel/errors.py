"""Every exception class of jxkernel, with its built-in base in parentheses.

    JXError
    ├── JAXTypeError (TypeError)                       a traced value was used as a known one
    │   ├── ConcretizationTypeError                    a concrete value was needed of a tracer
    │   │   └── TracerBoolConversionError              ... by ``if``, ``while``, ``and``, ``bool``
    │   ├── TracerArrayConversionError                 ... by NumPy
    │   ├── TracerIntegerConversionError               ... as a Python index or count
    │   └── UnexpectedTracerError                      a tracer was used after its trace ended
    │       ├── ClosedOverTracerError                  ... or is unknown to a custom rule
    │       └── NondiffTracerError                     ... or is among its nondiff_argnums
    ├── JAXIndexError (IndexError)                     a traced value was used as a known index
    │   └── NonConcreteBooleanIndexError               a traced mask would give a traced shape
    ├── LeakError (RuntimeError)                       the leak checker found a tracer alive
    ├── JaxprTypeError (TypeError)                     a jaxpr is ill formed
    ├── UndefinedRuleError (NotImplementedError)       a primitive lacks a transform's rule
    ├── ArgumentTypeError (TypeError)                  an argument is no array, number or pytree
    ├── ByteOrderError (TypeError)                     an array of another machine's byte order
    ├── ShapeError (TypeError)                         a shape or rank that cannot be
    │   └── ShapeMismatchError (ValueError)            shapes do not fit each other
    ├── ComplexOrderError (TypeError, ValueError)      complex numbers where an order is needed
    ├── KeyTypeError (TypeError, ValueError)           random keys where numbers are needed
    ├── ShardingTypeError (TypeError)                  explicit mesh axes do not decide a result
    ├── CarryTypeError (TypeError)                     a loop's carry changes its type
    ├── RefError (ValueError)                          a reference is used as it cannot be
    ├── KernelError (ValueError)                       a kernel, its grid or its blocks do not fit
    ├── ReverseModeError (ValueError)                  a loop of unknown length was run backwards
    ├── ImmutableArrayError (TypeError)                ``x[i] = v`` on an array
    ├── AxisError (ValueError)                         ``in_axes``/``out_axes`` do not fit
    ├── IncompatibleDevicesError (ValueError)          arguments of one call lie on other devices
    ├── NoMeshError (RuntimeError, ValueError)         a spec is given, and no mesh is set
    ├── UnboundAxisError (NameError)                   a collective names an axis that is not there
    ├── NonHashableStaticArgumentError (ValueError)    a static argument cannot key a cache
    ├── TypePromotionError (ValueError)                two dtypes have no common one
    ├── InconclusiveDimensionOperation (TypeError)     a symbolic dimension cannot be decided
    ├── KeyReuseError (TypeError)                      a random key was used twice
    ├── DeletedArrayError (RuntimeError)               an array was donated or deleted
    ├── NonFiniteError (FloatingPointError)            NaN or infinity under ``debug_nans/infs``
    ├── CheckError (ValueError)                        a check of ``checkify`` failed
    ├── ClusterError (RuntimeError)                    a group of processes, or one of its ranks
    │   ├── DesyncError                                ranks are about to run different programs
    │   └── RankError                                  a cell failed on some ranks or all
    └── TraceLimitError (AssertionError)               more traces than the program allows

Every class below ``JXError`` takes as ``**parts`` what ``JXError`` takes besides ``what``; without
``instead`` it is the advice of its class.  Errors of the compiler and runtime themselves are
jaxlib's own ``JaxRuntimeError`` (RuntimeError).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel._jaxlib import JaxRuntimeError

__all__ = [
    "ArgumentTypeError",
    "AxisError",
    "ByteOrderError",
    "CarryTypeError",
    "CheckError",
    "ClosedOverTracerError",
    "ClusterError",
    "ComplexOrderError",
    "ConcretizationTypeError",
    "DeletedArrayError",
    "DesyncError",
    "ImmutableArrayError",
    "IncompatibleDevicesError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JXError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KernelError",
    "KeyReuseError",
    "KeyTypeError",
    "LeakError",
    "NoMeshError",
    "NonConcreteBooleanIndexError",
    "NonFiniteError",
    "NonHashableStaticArgumentError",
    "NondiffTracerError",
    "RankError",
    "RefError",
    "ReverseModeError",
    "ShapeError",
    "ShapeMismatchError",
    "ShardingTypeError",
    "TraceLimitError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnboundAxisError",
    "UndefinedRuleError",
    "UnexpectedTracerError",
]

_PART_LENGTH = 2000


class JXError(Exception):
    """The base of jxkernel's own errors: a message in parts.

    The parts are attributes, and ``str(error)`` is made of their present values, so a layer above
    that knows more (the notebook finds the very expression) may fill in ``where``, ``code`` and
    ``underline`` of an error that passes through it.

    Args:
      what: what happened, with the values concerned, as a sentence.
      details: further sentences.
      origin: the chain from the offending value back to an argument, nearest first.
      where: the place in the user's code, ``cell 3, line 2`` or ``model.py:40``.
      code: the source line there.
      underline: the columns of ``code`` to underline, start and end, 0-based.
      instead: what to write instead, one suggestion per entry.
    """

    def __init__(
        self,
        what: str = "",
        *,
        details: Sequence[str] = (),
        origin: Sequence[str] = (),
        where: str = "",
        code: str = "",
        underline: tuple[int, int] | None = None,
        instead: Sequence[str] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.details = tuple(details)
        self.origin = tuple(origin)
        self.where = where
        self.code = code
        self.underline = underline
        self.instead = _as_tuple(instead)

    def __str__(self) -> str:
        paragraphs = (
            [self.what, *self.details],
            _where_lines(self.where, self.code, self.underline),
            _titled_lines("Where the value comes from:", self.origin),
            _titled_lines("What to write instead:", self.instead),
        )
        return "\n\n".join(_paragraph(lines) for lines in paragraphs if lines)

    def __reduce__(self) -> tuple[Callable[..., JXError], tuple[Any, ...], dict[str, Any]]:
        """Pickle by state: the constructors of subclasses take other arguments than ``args``."""
        return (_rebuild, (type(self), self.args), self.__dict__)


class JAXTypeError(JXError, TypeError):
    """A traced value was used where Python, NumPy or a shape needs a known one."""


class JAXIndexError(JXError, IndexError):
    """A traced value was used as an index whose value must be known."""


_STATIC = (
    "or make the argument static, if it takes few values: "
    "jit(f, static_argnames=...) or %%jit --static NAME"
)
_AS_IT_IS = ("leave the conversion out: a traced value computes as an array does",)
_WITHOUT_VALUE = {
    "devices()": ("ask the array, outside of the function that is traced",),
    "int()": (
        "a whole number to compute with is made by .astype(int)",
        "a size or a count must be known while tracing",
    ),
    **dict.fromkeys(("float()", "complex()", "item()", "tolist()"), _AS_IT_IS),
}
_WITHOUT_ANY_VALUE = (
    "keep the value traced: choose between values with jnp.where, and between computations with "
    "lax.cond",
)


_FOR_INTEGERS = (
    "a list or NumPy array that is indexed by a traced value must be an array of jnp: "
    "jnp.asarray makes one",
    "a loop with a traced number of turns is a lax.fori_loop",
    "for a size or a count, make the argument static: jit(f, static_argnames=...)",
)


class ConcretizationTypeError(JAXTypeError):
    """A concrete value was needed where there is only a tracer.

    Args:
      tracer: the tracer in words, ``f32[8] traced by jit of f``.
      needed_by: what needed the value, ``float(x)``.
      why: why it cannot be had, where it is not that the value is traced.
      can_be_static: whether it is made of arguments that are single numbers.
    """

    def __init__(
        self,
        tracer: str,
        needed_by: str = "this operation",
        why: str = "",
        can_be_static: bool = True,
        **parts: Any,
    ) -> None:
        ideas = _WITHOUT_VALUE.get(needed_by, _WITHOUT_ANY_VALUE)
        parts.setdefault("instead", (*ideas, _STATIC) if can_be_static else ideas)
        super().__init__(
            why
            or f"{needed_by} needs a concrete value, and {tracer} has none while it is traced: "
            "only its shape and dtype are known.",
            **parts,
        )
        self.tracer = tracer
        self.needed_by = needed_by
        self.can_be_static = can_be_static


class TracerBoolConversionError(ConcretizationTypeError):
    """A tracer was asked for its truth value: by ``if``, ``while``, ``and``, ``or`` or ``bool``.

    Args:
      tracer: the tracer in words.
      needed_by: what needed the truth value.
      can_be_static: whether it is made of arguments that are single numbers.
    """

    def __init__(
        self,
        tracer: str,
        needed_by: str = "a condition (if, while, and, or, not, bool)",
        can_be_static: bool = True,
        **parts: Any,
    ) -> None:
        ideas = (
            "choose between values with jnp.where, and between computations with lax.cond",
            "a loop with a traced condition is a lax.while_loop",
            "combine conditions: & for and, | for or, ~ for not",
        )
        parts.setdefault("instead", (*ideas, _STATIC) if can_be_static else ideas)
        super().__init__(tracer, needed_by, can_be_static=can_be_static, **parts)


class TracerArrayConversionError(JAXTypeError):
    """A tracer was given to NumPy or to something else that needs an array's data.

    Args:
      tracer: the tracer in words.
      needed_by: what asked for the data.
      why: why it cannot be had, where it is not that the value is traced.
    """

    def __init__(self, tracer: str, needed_by: str = "NumPy", why: str = "", **parts: Any) -> None:
        advice = (
            "use the function of the same name from jxkernel.numpy (jnp) instead of numpy (np)",
            "code that must run on the host is called with jax.pure_callback",
        )
        parts.setdefault("instead", advice)
        super().__init__(
            why
            or f"{needed_by} asked for the data of {tracer}, which has none while it is traced.",
            **parts,
        )
        self.tracer = tracer
        self.needed_by = needed_by


class TracerIntegerConversionError(JAXTypeError):
    """A tracer was used where Python needs an integer: an index, a count, ``range``, a shape.

    Args:
      tracer: the tracer in words.
      needed_by: what needed the integer.
      can_be_static: whether it is made of arguments that are single numbers.
    """

    def __init__(
        self,
        tracer: str,
        needed_by: str = "indexing, range or a shape",
        can_be_static: bool = True,
        **parts: Any,
    ) -> None:
        parts.setdefault("instead", _FOR_INTEGERS if can_be_static else _FOR_INTEGERS[:-1])
        super().__init__(
            f"{needed_by} needs a Python integer, and {tracer} has no value while it is traced.",
            **parts,
        )
        self.tracer = tracer
        self.needed_by = needed_by
        self.can_be_static = can_be_static


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index: the result's shape would depend on its values.

    Args:
      mask: the mask in words.
    """

    def __init__(self, mask: str, **parts: Any) -> None:
        advice = (
            "keep the shape and blank out the rest: jnp.where(mask, x, 0)",
            "to update where a mask is true: x = jnp.where(mask, new, x)",
            "to reduce over a mask: jnp.sum(x, where=mask)",
            "for a result of fixed length: x[jnp.nonzero(mask, size=n, fill_value=0)]",
        )
        parts.setdefault("instead", advice)
        super().__init__(
            f"indexing with {mask} would give a shape that depends on its values, which are not "
            "known while it is traced.",
            **parts,
        )
        self.mask = mask


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after the trace that made it had ended.

    Args:
      tracer: the tracer in words.
      fun: the function whose trace made it.
      holder: the object that kept it, where known: ``the global variable log``.
    """

    def __init__(self, tracer: str, fun: str = "", holder: str = "", **parts: Any) -> None:
        parts.setdefault(
            "instead",
            (
                "return the value from the traced function and assign it outside",
                "to look at a value while the compiled function runs: jx.debug.print('{}', x)",
            ),
        )
        made = f", made while {fun} was traced," if fun else ""
        kept = f"; it was kept by {holder}" if holder else ""
        super().__init__(f"{tracer}{made} is used after its trace has ended{kept}.", **parts)
        self.tracer = tracer
        self.fun = fun
        self.holder = holder


class ClosedOverTracerError(UnexpectedTracerError):
    """A function with a rule of its own is differentiated by a value that the rule cannot know of.

    Args:
      kind: the decorator, ``custom_jvp`` or ``custom_vjp``.
      fun: the function.
    """

    def __init__(self, kind: str, fun: str, **parts: Any) -> None:
        parts.setdefault(
            "instead",
            (
                "pass the value as an argument of its own",
                "or stop its gradient: lax.stop_gradient(x)",
            ),
        )
        JAXTypeError.__init__(
            self,
            f"the {kind} function {fun} is differentiated with respect to a value that it closes "
            "over, or gets as an argument among nondiff_argnums; its rule only tells the "
            "derivative by the other arguments.",
            **parts,
        )
        self.tracer = ""
        self.fun = fun
        self.holder = ""


class NondiffTracerError(UnexpectedTracerError):
    """A traced value was given where a rule counts on one that is the same at every call.

    Args:
      fun: the function.
      parameter: its parameter, which is among ``nondiff_argnums``.
    """

    def __init__(self, fun: str, parameter: str, **parts: Any) -> None:
        parts.setdefault(
            "instead",
            (
                f"leave {parameter} out of nondiff_argnums: fwd keeps it among its residuals, "
                "and bwd returns None for it",
            ),
        )
        JAXTypeError.__init__(
            self,
            f"{fun} got a traced value as {parameter}, which is among its nondiff_argnums: these "
            "are functions, sizes, and arrays that are constant.",
            **parts,
        )
        self.tracer = ""
        self.fun = fun
        self.holder = ""


class LeakError(JXError, RuntimeError):
    """The leak checker found tracers alive after their trace had ended.

    Args:
      fun: the function whose trace made them.
      leaks: (tracer, holder) of each, in words.
    """

    def __init__(self, fun: str, leaks: Sequence[tuple[str, str]], **parts: Any) -> None:
        parts.setdefault(
            "details", tuple(f"  {tracer}, held by {holder}" for tracer, holder in leaks)
        )
        parts.setdefault(
            "instead", ("return the values from the traced function instead of storing them",)
        )
        count = "1 traced value is" if len(leaks) == 1 else f"{len(leaks)} traced values are"
        super().__init__(f"{count} still alive after the trace of {fun} has ended:", **parts)
        self.fun = fun
        self.leaks = tuple(leaks)


class JaxprTypeError(JXError, TypeError):
    """A jaxpr is ill formed: a variable unbound or bound twice, or a type that does not fit.

    Args:
      problem: what is wrong.
      equation: the equation concerned, printed.
    """

    def __init__(self, problem: str, equation: str = "", **parts: Any) -> None:
        parts.setdefault("details", (f"In the equation: {equation}",) if equation else ())
        super().__init__(f"ill-formed jaxpr: {problem}", **parts)
        self.problem = problem
        self.equation = equation


class UndefinedRuleError(JXError, NotImplementedError):
    """A primitive has no rule for what a transform asks of it.

    Args:
      primitive: the primitive's name.
      rule: the rule's name, ``transpose``.
      reason: why there is none; empty when nobody wrote one.
    """

    def __init__(self, primitive: str, rule: str, reason: str = "", **parts: Any) -> None:
        why = reason or f"nobody has declared one; declare it with @{primitive}_p.def_{rule}"
        super().__init__(f"the primitive '{primitive}' has no {rule} rule: {why}", **parts)
        self.primitive = primitive
        self.rule = rule
        self.reason = reason


class ArgumentTypeError(JXError, TypeError):
    """An argument is neither an array nor a number nor a pytree of these.

    Args:
      fun: the function that was called.
      path: the argument, or the leaf inside it: ``params['name']``.
      value: its value or type in words.
    """

    def __init__(self, fun: str, path: str, value: str, **parts: Any) -> None:
        parts.setdefault("instead", _for_arguments(fun if fun.isidentifier() else "f", path))
        super().__init__(
            f"{fun} was given {value} as {path}: traced arguments are arrays, numbers, or pytrees "
            "of these.",
            **parts,
        )
        self.fun = fun
        self.path = path
        self.value = value


class ByteOrderError(JXError, TypeError):
    """A NumPy array has its bytes in the order of another kind of machine.

    Args:
      dtype: the dtype, as NumPy writes it with its order, ``>f4``.
    """

    def __init__(self, dtype: str, **parts: Any) -> None:
        parts.setdefault("instead", ('x.astype(x.dtype.newbyteorder("="))',))
        super().__init__(
            f"An array of dtype {dtype!r} has its bytes in another order than this machine's.",
            **parts,
        )
        self.dtype = dtype


class ShapeError(JXError, TypeError, ValueError):
    """A shape, a size or an order of axes that an array cannot have, or the wrong rank.

    The field has two habits, ``TypeError`` in operations and ``ValueError`` in NumPy's functions;
    it is both.
    """


class ShapeMismatchError(ShapeError):
    """The shapes given to one operation do not fit each other.

    Args:
      operation: the operation's name.
      shapes: the shapes, in the order of the operands.
      rule: what the shapes have to satisfy.
    """

    def __init__(
        self, operation: str, shapes: Sequence[tuple[int, ...]], rule: str = "", **parts: Any
    ) -> None:
        listed = " and ".join(str(tuple(shape)) for shape in shapes)
        because = f": {rule}" if rule else ""
        several = f"shapes {listed} that do not fit"
        given = several if len(shapes) > 1 else f"shape {listed}, which does not fit"
        super().__init__(f"{operation} got {given}{because}.", **parts)
        self.operation = operation
        self.shapes = tuple(tuple(shape) for shape in shapes)
        self.rule = rule


class ComplexOrderError(JXError, TypeError, ValueError):
    """Complex numbers were given to an operation that needs an order, or a sign.

    It is a ``TypeError`` and a ``ValueError``, since the field's functions raise the one or the
    other.

    Args:
      operation: the operation's name.
      dtype: the name of the dtype it was given.
    """

    def __init__(self, operation: str, dtype: str, **parts: Any) -> None:
        super().__init__(
            f"{operation} does not accept dtype {dtype}: complex numbers have no order.", **parts
        )
        self.operation = operation
        self.dtype = dtype


class KeyTypeError(JXError, TypeError, ValueError):
    """Random keys were given to an operation on numbers, or keys of two kinds to one operation.

    It is a ``TypeError`` and a ``ValueError``, since the field's functions raise the one or the
    other.

    Args:
      operation: the operation's name.
      given: the types of its operands, ``key<fry>[3], f32[3]``.
    """

    def __init__(self, operation: str, given: str, **parts: Any) -> None:
        parts.setdefault(
            "instead",
            (
                "take the words of keys: jax.random.key_data(keys)",
                "draw numbers from a key: jax.random.normal(key), uniform, randint, ...",
            ),
        )
        super().__init__(
            f"{operation} got {given}: keys are no numbers, and only move among keys of their "
            "kind.",
            **parts,
        )
        self.operation = operation
        self.given = given


class ShardingTypeError(JXError, TypeError):
    """The types of operands do not decide how a result is divided over explicit mesh axes.

    Args:
      operation: the operation's name.
      operands: their types, ``f32[8@x,4], f32[4@x,2]``.
      why: what is not decided, or decided in two ways, as the end of a sentence.
    """

    def __init__(self, operation: str, operands: str, why: str, **parts: Any) -> None:
        super().__init__(f"{operation} got {operands}, {why}.", **parts)
        self.operation = operation
        self.operands = operands
        self.why = why


class NoMeshError(JXError, RuntimeError, ValueError):
    """A ``PartitionSpec`` is given where no mesh is set that it could refer to.

    Args:
      who: the function that got it, with the parameter.
      spec: the spec, as it prints.
    """

    def __init__(self, who: str, spec: str, **parts: Any) -> None:
        advice = (
            "call it under `with jxkernel.set_mesh(mesh):`",
            f"or give a sharding: NamedSharding(mesh, {spec})",
        )
        super().__init__(
            f"{who} requires a non-empty mesh in context: {spec} refers to no mesh.",
            **{"instead": advice, **parts},
        )
        self.who = who
        self.spec = spec


class CarryTypeError(JXError, TypeError):
    """The body of a loop returns a carry of another structure, shape or dtype than it got.

    Args:
      loop: ``scan``, ``while_loop``, ``fori_loop``.
      path: the leaf of the carry that differs.
      before: its type going in, ``f32[3]``.
      after: its type coming out.
    """

    def __init__(self, loop: str, path: str, before: str, after: str, **parts: Any) -> None:
        super().__init__(
            f"the body of {loop} must return a carry of the type it gets; {path} goes in as "
            f"{before} and comes out as {after}.",
            **parts,
        )
        self.loop = loop
        self.path = path
        self.before = before
        self.after = after


class RefError(JXError, ValueError):
    """A reference is used in a way that would lose what is written, or read what is not there."""


class KernelError(JXError, ValueError):
    """A kernel, its grid and the blocks of its arrays do not fit each other."""


class ReverseModeError(JXError, ValueError):
    """A loop whose number of turns is known only while it runs was differentiated backwards.

    Args:
      loop: ``while_loop``, or what the user called.
    """

    def __init__(self, loop: str, **parts: Any) -> None:
        advice = (
            "lax.scan, or lax.fori_loop with Python integers as bounds: their length is known",
            "a forward derivative, which needs nothing kept: jvp or jacfwd",
            "or give the loop a derivative of its own: custom_vjp, custom_jvp",
        )
        parts.setdefault("instead", advice)
        super().__init__(
            f"reverse-mode differentiation (grad, vjp, jacrev) does not work through {loop} (nor "
            "through fori_loop with traced bounds): how often it turns is known only while it "
            "runs, so there is no room to keep what the way back needs.",
            **parts,
        )
        self.loop = loop


class ImmutableArrayError(JXError, TypeError):
    """An array was assigned to in place.

    Args:
      name: the array's name in the user's code.
      index: the index as the user wrote it.
      value: the value as the user wrote it.
      operation: the ``.at`` method that does it, ``set`` or ``add``.
    """

    def __init__(
        self,
        name: str = "x",
        index: str = "index",
        value: str = "value",
        operation: str = "set",
        **parts: Any,
    ) -> None:
        parts.setdefault("instead", (f"{name} = {name}.at[{index}].{operation}({value})",))
        super().__init__("arrays cannot be changed in place; make a changed copy.", **parts)
        self.name = name
        self.index = index
        self.value = value
        self.operation = operation


class AxisError(JXError, ValueError):
    """Axes given to a transform do not fit its arguments or results.

    Args:
      parameter: the parameter concerned, ``in_axes``.
      problem: what is wrong, with the values.
    """

    def __init__(self, parameter: str, problem: str, **parts: Any) -> None:
        super().__init__(f"{parameter}: {problem}", **parts)
        self.parameter = parameter
        self.problem = problem


class IncompatibleDevicesError(JXError, ValueError):
    """Arguments (or shardings) of one call are bound to devices that cannot work together.

    Args:
      one: the argument's number (None: the call's own device or mesh), its type, and its place.
      other: the same of the one that does not fit.
      names: the arguments' names, where they are known.
      function: the function's name, where it is known.
    """

    def __init__(
        self,
        one: tuple[int | None, str, str],
        other: tuple[int | None, str, str],
        names: Sequence[str] = (),
        function: str = "",
        **parts: Any,
    ) -> None:
        self.sides = (one, other)
        first, second = (_side(side, names) for side in self.sides)
        of = f" {function}" if function else ""
        move = ("move them together: jxkernel.device_put(x, sharding)",)
        parts.setdefault("instead", () if one[0] is None and other[0] is None else move)
        super().__init__(
            f"Received incompatible devices for the computation{of}: {first}, and {second}",
            **parts,
        )

    def naming(self, names: Sequence[str], function: str) -> IncompatibleDevicesError:
        """Return the error with the names of the arguments and of the function."""
        return IncompatibleDevicesError(*self.sides, names, function)


def _side(side: tuple[int | None, str, str], names: Sequence[str]) -> str:
    number, kind, place = side
    if number is None:
        return f"the call is for {place}"
    name = names[number] if number < len(names) else str(number)
    return f"argument {name} of type {kind} is committed to {place}"


class UnboundAxisError(JXError, NameError):
    """A collective names an axis that nothing around it binds.

    Args:
      axis: the name.
      bound: the names bound there, outermost first.
    """

    def __init__(self, axis: Any, bound: Sequence[Any] = (), **parts: Any) -> None:
        known = ", ".join(repr(name) for name in dict.fromkeys(bound))
        have = f"the names bound here are {known}" if known else "no axis name is bound here"
        parts.setdefault(
            "instead",
            (f"call it in a function mapped by vmap, pmap or shard_map with the axis {axis!r}",),
        )
        super().__init__(f"Found an unbound axis name: {axis!r}; {have}.", **parts)
        self.axis = axis
        self.bound = tuple(bound)


class NonHashableStaticArgumentError(JXError, ValueError):
    """A static argument cannot be hashed or compared, so it cannot be part of a cache key.

    Args:
      fun: the function that was called.
      argument: the argument's name.
      type_name: the type of its value.
      position: its position, for one given by position.
      given: its value, in words.
      failure: what hashing or comparing it raised.
    """

    def __init__(
        self,
        fun: str,
        argument: str,
        type_name: str,
        *,
        position: int | None = None,
        given: str = "",
        failure: str = "",
        **parts: Any,
    ) -> None:
        values = {"Array": "an array", "ndarray": "an array", "Tracer": "a traced value"}
        hashable = {"list": "a tuple", "dict": "a tuple of pairs", "set": "a frozenset"}
        idea = (
            f"drop {argument} from static_argnums/static_argnames if it holds arrays, or make it a "
            f"dataclass(frozen=True), or give {type_name} __hash__ and __eq__ that go by content"
        )
        if type_name in values:
            idea = f"leave {argument} traced: take it out of static_argnums or static_argnames"
        elif type_name in hashable:
            idea = f"pass {hashable[type_name]} instead of a {type_name}"
        elif type_name == "tuple":
            idea = "pass a tuple of hashable values: nested lists as tuples too"
        parts.setdefault("instead", (idea,))
        place = "" if position is None else f" (position {position})"
        kind = values.get(type_name, f"a {type_name}") + (f", {given}," if given else "")
        super().__init__(
            f"{fun} was given {kind} as the static argument {argument}{place}; "
            "static arguments are part of the cache's key and must be hashable and comparable.",
            details=(failure,) if failure and type_name not in values else (),
            **parts,
        )
        self.fun = fun
        self.argument = argument
        self.type_name = type_name
        self.position = position
        self.given = given
        self.failure = failure


class TypePromotionError(JXError, ValueError):
    """Dtypes have no common dtype that implicit promotion may choose.

    Args:
      dtypes: the dtype names.
      mode: the promotion mode in force, ``standard`` or ``strict``.
    """

    def __init__(self, dtypes: Sequence[str], mode: str = "standard", **parts: Any) -> None:
        parts.setdefault("instead", (f"convert one of them: x.astype('{dtypes[-1]}')",))
        super().__init__(
            f"the dtypes {' and '.join(dtypes)} have no implicit promotion in {mode} mode.", **parts
        )
        self.dtypes = tuple(dtypes)
        self.mode = mode


class InconclusiveDimensionOperation(JXError, TypeError):
    """An operation on a symbolic dimension has no answer that holds for all its values.

    Args:
      operation: the operation, ``n == m``.
    """

    def __init__(self, operation: str, **parts: Any) -> None:
        parts.setdefault("instead", ("export with concrete shapes, or add a shape constraint",))
        super().__init__(
            f"{operation} cannot be decided for all values of its symbolic dimensions.", **parts
        )
        self.operation = operation


class KeyReuseError(JXError, TypeError):
    """A random key was consumed a second time, so the same bits would come again.

    Args:
      key: the key in words.
      first_use: where it was consumed before.
      second_use: where it is consumed now.
    """

    def __init__(self, key: str, first_use: str = "", second_use: str = "", **parts: Any) -> None:
        uses = (("First", first_use), ("Second", second_use))
        parts.setdefault("details", tuple(f"{order} use: {use}" for order, use in uses if use))
        parts.setdefault("instead", ("key, subkey = random.split(key), and use subkey once",))
        super().__init__(f"{key} has been used already; it would give the same bits.", **parts)
        self.key = key
        self.first_use = first_use
        self.second_use = second_use


class DeletedArrayError(JXError, RuntimeError):
    """An array was used after it had been donated or deleted.

    Args:
      array: the array in words, ``f32[8]``.
      donated_to: the function and argument that took its memory; empty when it was deleted.
    """

    def __init__(self, array: str, donated_to: str = "", **parts: Any) -> None:
        if donated_to:
            parts.setdefault(
                "instead", ("use the result instead of the donated argument, or do not donate it",)
            )
        fate = f"was donated to {donated_to}" if donated_to else "has been deleted"
        super().__init__(f"the array {array} {fate}; its data is gone.", **parts)
        self.array = array
        self.donated_to = donated_to


class NonFiniteError(JXError, FloatingPointError):
    """An equation gave NaN or infinity while ``debug_nans`` or ``debug_infs`` was on.

    Args:
      kind: ``nan`` or ``inf``.
      equation: the first equation that gave it, printed, or what was called.
      how: how it came to be there.
    """

    def __init__(self, kind: str, equation: str, how: str = "came out of", **parts: Any) -> None:
        super().__init__(f"{kind} {how}: {equation}", **parts)
        self.kind = kind
        self.equation = equation


class CheckError(JXError, ValueError):
    """A check failed: one that the user wrote, or one that ``checkify`` adds by itself.

    Args:
      message: what failed, with its values.
    """

    def __init__(self, message: str, **parts: Any) -> None:
        super().__init__(message, **parts)
        self.message = message


class ClusterError(JXError, RuntimeError):
    """A group of processes cannot be formed, or a rank of it is gone or does not answer.

    Args:
      what: what happened, with the ranks concerned.
    """


class DesyncError(ClusterError):
    """Ranks of a group are about to run different programs, or not all of them one."""


class RankError(ClusterError):
    """A cell failed on ranks of a cluster.

    Args:
      what: each error with the ranks that have it.
      traceback: the lines to show: the ranks' own, not those that brought them here.
    """

    def __init__(self, what: str = "", *, traceback: Sequence[str] = (), **parts: Any) -> None:
        super().__init__(what, **parts)
        self.traceback = tuple(traceback)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows."""
        return [*self.traceback] or [f"{type(self).__name__}: {self}"]


class TraceLimitError(JXError, AssertionError):
    """A function was traced more often than the program allows.

    Args:
      fun: the function's name, or what was watched.
      limit: how many traces were allowed.
      traces: how many there were.
      reasons: one line per trace that says why it happened.
    """

    def __init__(
        self, fun: str, limit: int, traces: int, reasons: Sequence[str] = (), **parts: Any
    ) -> None:
        parts.setdefault("details", tuple(f"  {reason}" for reason in reasons))
        times = "once" if traces == 1 else f"{traces} times"
        super().__init__(f"{fun} was traced {times}; at most {limit} allowed.", **parts)
        self.fun = fun
        self.limit = limit
        self.traces = traces
        self.reasons = tuple(reasons)


def _for_arguments(fun: str, path: str) -> tuple[str, ...]:
    pytree = "register own classes as pytrees: tree_util.register_dataclass"
    static = f"jit({fun}, static_argnames={path!r})"
    if path == "self":
        return f"{pytree}; their arrays are traced", f"or, if its arrays stay as they are: {static}"
    how = f"make the argument static, if it only steers the computation: {static}"
    if not path.isidentifier():
        how = f"pass {path} as a static argument of its own, if it only steers the computation"
    return how, f"convert data with jnp.asarray, and {pytree}"


def _rebuild(cls: type[JXError], args: tuple[Any, ...]) -> JXError:
    return cls.__new__(cls, *args)


def _as_tuple(lines: Sequence[str]) -> tuple[str, ...]:
    """One suggestion given as a plain string is one line, not a sequence of characters."""
    return (lines,) if isinstance(lines, str) else tuple(lines)


def _where_lines(where: str, code: str, underline: tuple[int, int] | None) -> list[str]:
    lines = [f"{where}:"] if where else []
    if code:
        code = code.rstrip()
        indentation = len(code) - len(code.lstrip())
        lines.append(f"    {code[indentation:]}")
        if underline is not None:
            start, end = (max(column - indentation, 0) for column in underline)
            lines.append("    " + " " * start + "^" * max(end - start, 1))
    return lines


def _titled_lines(title: str, lines: Sequence[str]) -> list[str]:
    return [title, *(f"    {line}" for line in lines)] if lines else []


def _paragraph(lines: Sequence[str]) -> str:
    return "\n".join(_capped(line) for line in lines)


def _capped(line: str) -> str:
    """A user's repr inside a message may be megabytes long."""
    return line if len(line) <= _PART_LENGTH else line[: _PART_LENGTH - 1] + "…"

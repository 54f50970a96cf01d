"""The stepper: a program run equation by equation, forward and back, into programs inside it.

``step(f)(*args)`` traces a function and stands before its first equation, with the values of the
arguments.  Programs inside equations (of ``jit``, a loop's turn, the branch taken) are entered by
the ``unfold`` rules of their primitives.  Because every variable is bound once, to have been
somewhere costs nothing: going back is to look at an earlier moment.

``text`` and ``payload`` show where the stepper stands; the latter is plain data, for widgets.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.api.arguments import Call as FunctionCall
from jxkernel.api.arguments import function_name, leaf_names, named_like
from jxkernel.api.jit import JitState, jit_state
from jxkernel.api.tracing import state_of
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Literal, Var, subjaxprs
from jxkernel.core.printing import Names, equation_text
from jxkernel.core.summaries import value_summary
from jxkernel.core.trace import evaluating
from jxkernel.core.unfolding import Call, Unfolding, operand_values, unfolding
from jxkernel.records import record
from jxkernel.source import Frame, user_frame

__all__ = ["Activation", "Moment", "Stepper", "step"]


class Activation:
    """One run of one program: of the function, of a nested function, of a loop's turn.

    Attributes:
      label: what it is: a function's name, ``turn 3``, ``true branch``.
      program: the program.
      parent: the run whose equation this one is in; None for the function itself.
      depth: how many runs it is in.
      turn: which turn of a loop it is; None outside of loops.
      values: the values of its variables, as far as they are known.
      index: how many of its equations have run.
    """

    __slots__ = ("calls", "depth", "index", "label", "parent", "program", "turn", "values")

    def __init__(self, call: Call, parent: "Activation | None" = None) -> None:
        self.label = call.label
        self.program = call.program
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.turn = call.turn
        jaxpr = call.program.jaxpr
        self.values: dict[Var, Any] = dict(zip(jaxpr.constvars, call.program.consts, strict=True))
        self.values.update(zip(jaxpr.invars, call.args, strict=True))
        self.index = 0
        self.calls: Unfolding | None = None

    @property
    def finished(self) -> bool:
        """Whether all its equations have run."""
        return self.index == len(self.program.eqns)

    def results(self) -> list[Any]:
        """Return its results, when it has finished."""
        atoms = self.program.jaxpr.outvars
        return [a.val if type(a) is Literal else self.values[a] for a in atoms]

    def bind(self, outs: Sequence[Any]) -> None:
        """Bind the results of the equation that has just run, and go on to the next."""
        self.values.update(zip(self.program.eqns[self.index].outvars, outs, strict=True))
        self.index += 1
        self.calls = None

    def known(self, index: int) -> dict[Var, Any]:
        """Return the values known before the equation of an index, in the order they came."""
        jaxpr = self.program.jaxpr
        made = [var for eqn in jaxpr.eqns[:index] for var in eqn.outvars]
        return {var: self.values[var] for var in [*jaxpr.constvars, *jaxpr.invars, *made]}


@record(eq=False)
class Moment:
    """Where one may stand: before an equation of a run, or at its end.

    Attributes:
      activation: the run.
      index: which of its equations comes next; their number at its end.
    """

    activation: Activation
    index: int


class Stepper:
    """A program under way: where it stands, what is known there, and how to go on.

    The methods that move return the stepper, so a cell that ends in one shows where it stands.

    Attributes:
      position: the number of the moment, 0 at the beginning.
    """

    def __init__(
        self,
        program: ClosedJaxpr,
        args: Sequence[Any],
        *,
        name: str = "",
        arguments: Sequence[str] = (),
        out_tree: Any = None,
    ) -> None:
        root = Activation(Call(name or program.jaxpr.name or "program", program, tuple(args)))
        self.position = 0
        self._history = [Moment(root, 0)]
        self._stack = [root]
        self._arguments = tuple(arguments)
        self._out_tree = out_tree
        self._names: dict[int, Names] = {}

    # ------------------------------------------------------------ where it stands

    @property
    def activation(self) -> Activation:
        """The run it stands in."""
        return self._history[self.position].activation

    @property
    def index(self) -> int:
        """Which equation of it comes next; their number at its end."""
        return self._history[self.position].index

    @property
    def stack(self) -> list[Activation]:
        """The runs it stands in, outermost first."""
        found: list[Activation] = []
        one: Activation | None = self.activation
        while one is not None:
            found.append(one)
            one = one.parent
        return found[::-1]

    @property
    def equation(self) -> Eqn | None:
        """The equation that comes next; None at the end of a run."""
        eqns = self.activation.program.eqns
        return eqns[self.index] if self.index < len(eqns) else None

    @property
    def done(self) -> bool:
        """Whether it stands at the end of the whole program."""
        return self.activation.parent is None and self.equation is None

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The operands of the equation that comes next."""
        eqn = self.equation
        return () if eqn is None else operand_values(eqn, self.activation.values)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The results of the equation before, in this run; empty at its beginning."""
        if self.index == 0:
            return ()
        eqn = self.activation.program.eqns[self.index - 1]
        return tuple([self.activation.values[var] for var in eqn.outvars])

    @property
    def environment(self) -> dict[str, Any]:
        """The values known here, by the names that the jaxpr prints."""
        names = self._names_of(self.activation.program)
        known = self.activation.known(self.index)
        return {names(var): value for var, value in known.items()}

    @property
    def source(self) -> Frame | None:
        """The user's line of the equation that comes next; at a run's end, of the one before."""
        eqns = self.activation.program.eqns
        if not eqns:
            return None
        return user_frame(eqns[min(self.index, len(eqns) - 1)].source)

    @property
    def result(self) -> Any:
        """What the function returns.

        Raises:
          ValueError: the program has not come to its end yet.
        """
        root = self._history[0].activation
        if not root.finished:
            raise ValueError("the program has not come to its end yet: run .finish() first")
        outs = root.results()
        return outs if self._out_tree is None else self._out_tree.unflatten(outs)

    # ------------------------------------------------------------ going on

    def step(self) -> "Stepper":
        """Go to the next moment: into the programs of an equation that holds some."""
        self._forward()
        return self

    def over(self) -> "Stepper":
        """Run the next equation whole; at the end of a run, leave it."""
        depth = self.activation.depth
        return self.run_until(lambda at: at.activation.depth <= depth)

    def out(self) -> "Stepper":
        """Run on until this run is left; the outermost one, to its end."""
        depth = self.activation.depth
        return self.run_until(lambda at: at.activation.depth < depth)

    def back(self) -> "Stepper":
        """Go to the moment before."""
        self.position = max(self.position - 1, 0)
        return self

    def back_over(self) -> "Stepper":
        """Go back by an equation whole; at the beginning of a run, to before it."""
        depth = self.activation.depth
        return self.run_until(lambda at: at.activation.depth <= depth, backward=True)

    def restart(self) -> "Stepper":
        """Go back to the beginning; nothing runs again."""
        return self.goto(0)

    def finish(self) -> "Stepper":
        """Run to the end."""
        return self.run_until(lambda at: False)

    def goto(self, position: int) -> "Stepper":
        """Go to a moment by its number, running on as far as that takes.

        Raises:
          ValueError: there is no such moment.
        """
        if position < 0:
            raise ValueError(f"moments are numbered from 0, got {position}")
        while len(self._history) <= position and self._advance():
            pass
        if position >= len(self._history):
            raise ValueError(f"there are {len(self._history)} moments, got {position}")
        self.position = position
        return self

    def run_until(
        self, predicate: Callable[["Stepper"], bool], *, backward: bool = False
    ) -> "Stepper":
        """Go on until a condition holds of the stepper, else to the end.

        Args:
          predicate: asked at each moment after this one.
          backward: whether to go back instead.
        """
        move = self._backward if backward else self._forward
        while move():
            if predicate(self):
                break
        return self

    def run_to(
        self,
        line: int | None = None,
        *,
        file: str | None = None,
        equation: Eqn | int | str | None = None,
        backward: bool = False,
    ) -> "Stepper":
        """Go on to the next equation of a line, of a kind, or of a number; else to the end.

        Args:
          line: a line of the user's code.
          file: the end of the name of its file.
          equation: an equation, the name of a primitive, or a number in the run it stands in.
          backward: whether to go back instead.
        """
        home = self.activation

        def reached(at: Stepper) -> bool:
            eqn = at.equation
            if eqn is None:
                return False
            frame = at.source
            if line is not None and (frame is None or frame.line != line):
                return False
            if file is not None and (frame is None or not frame.file.endswith(file)):
                return False
            if isinstance(equation, str):
                return eqn.primitive.name == equation
            if isinstance(equation, int):
                return at.activation is home and at.index == equation
            return equation is None or eqn is equation

        return self.run_until(reached, backward=backward)

    def _forward(self) -> bool:
        if self.position + 1 == len(self._history) and not self._advance():
            return False
        self.position += 1
        return True

    def _backward(self) -> bool:
        if self.position == 0:
            return False
        self.position -= 1
        return True

    def _advance(self) -> bool:
        """Run as far as the next moment; say whether there is one."""
        top = self._stack[-1]
        if not top.finished:
            self._run_equation(top)
        elif len(self._stack) > 1:
            results = top.results()
            self._resume(self._stack[-2], results)
            self._stack.remove(top)
        else:
            return False
        top = self._stack[-1]
        self._history.append(Moment(top, top.index))
        return True

    def _run_equation(self, top: Activation) -> None:
        eqn = top.program.eqns[top.index]
        values = operand_values(eqn, top.values)
        top.calls = unfolding(eqn, values)
        if top.calls is not None:
            self._resume(top, None)
            return
        out = eqn.primitive.bind(*values, **eqn.params)
        top.bind(out if eqn.primitive.multiple_results else (out,))

    def _resume(self, top: Activation, results: Sequence[Any] | None) -> None:
        """Send a nested run's results to the equation it is in, which asks for the next or ends."""
        assert top.calls is not None, "the equation is under way"
        try:
            call = next(top.calls) if results is None else top.calls.send(results)
        except StopIteration as end:
            top.bind(end.value)
        except BaseException:
            # An interrupt ends the generator: the equation begins anew when asked to go on.
            del self._stack[self._stack.index(top) + 1 :]
            raise
        else:
            self._stack.append(Activation(call, top))

    # ------------------------------------------------------------ showing

    def _names_of(self, program: ClosedJaxpr) -> Names:
        names = self._names.get(id(program))
        if names is None:
            names = self._names[id(program)] = Names()
            for var in [*program.jaxpr.constvars, *program.jaxpr.invars]:
                names(var)
            for eqn in program.eqns:
                for atom in [*eqn.invars, *eqn.outvars]:
                    if type(atom) is Var:
                        names(atom)
        return names

    def payload(self, *, window: int = 20) -> dict[str, Any]:
        """Return where it stands as plain data, which ``json`` can write.

        Args:
          window: how many equations to give before and after the next one.

        Returns:
          ``position``, ``known_moments``, ``done``; ``stack``: for each run ``label``, ``turn``,
          ``index`` and ``count`` of equations; ``equations``: ``index``, ``text``, ``primitive``,
          ``enters`` (whether there is something to step into), ``file``, ``line``; ``index``;
          ``environment``, ``inputs`` and ``outputs``: ``name`` and ``summary``; ``source``: file,
          lines and columns, or None; ``arguments``: the function's parameters by variable; and
          ``results``, the summaries of the function's results, or None before the end.
        """
        names = self._names_of(self.activation.program)
        eqns = self.activation.program.eqns
        first = max(self.index - window, 0)
        shown = range(first, min(self.index + window + 1, len(eqns)))
        before = [] if self.index == 0 else eqns[self.index - 1].outvars
        following = [] if self.equation is None else self.equation.invars
        root = self._history[0].activation
        root_names = self._names_of(root.program)
        pairs = zip(root.program.jaxpr.invars, self._arguments, strict=False)
        return {
            "position": self.position,
            "known_moments": len(self._history),
            "done": self.done,
            "stack": [self._run_data(one) for one in self.stack],
            "index": self.index,
            "equations": [_equation_data(i, eqns[i], names) for i in shown],
            "environment": [
                {"name": name, "summary": value_summary(value)}
                for name, value in self.environment.items()
            ],
            "inputs": _atoms_data(following, self.inputs, names),
            "outputs": _atoms_data(before, self.outputs, names),
            "source": _source_data(self.source),
            "arguments": {root_names(var): name for var, name in pairs},
            "results": [value_summary(x) for x in root.results()] if self.done else None,
        }

    def _run_data(self, one: Activation) -> dict[str, Any]:
        index = self.index if one is self.activation else self._index_in(one)
        return {
            "label": one.label,
            "turn": one.turn,
            "index": index,
            "count": len(one.program.eqns),
        }

    def _index_in(self, one: Activation) -> int:
        """Return which equation of an outer run it stands in."""
        for moment in reversed(self._history[: self.position]):
            if moment.activation is one:
                return moment.index
        return 0

    def text(self, *, window: int = 4) -> str:
        """Return where it stands as text.

        Args:
          window: how many equations to show before and after the next one.
        """
        data = self.payload(window=window)
        way = " > ".join(one["label"] for one in data["stack"])
        place = self.source
        lines = [f"{way}, moment {self.position}{f' · {place.file}:{place.line}' if place else ''}"]
        for row in data["equations"]:
            mark = "→" if row["index"] == self.index else " "
            lines.append(f"  {mark} {row['text']}")
        if self.equation is None:
            lines.append("  → (end)")
        shown = data["inputs"] or data["outputs"]
        lines += [f"      {one['name']} = {one['summary']}" for one in shown]
        if self.done:
            lines += [f"      result: {summary}" for summary in data["results"]]
        return "\n".join(lines)

    __repr__ = text


_LENGTH = 300


def _equation_data(index: int, eqn: Eqn, names: Names) -> dict[str, Any]:
    frame = user_frame(eqn.source)
    plain = {key: value for key, value in eqn.params.items() if not any(subjaxprs({key: value}))}
    text = equation_text(eqn.replace(params=plain), names)
    return {
        "index": index,
        "text": text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…",
        "primitive": eqn.primitive.name,
        "enters": eqn.primitive.unfold is not None,
        "file": frame.file if frame else "",
        "line": frame.line if frame else 0,
    }


def _atoms_data(atoms: Sequence[Any], values: Sequence[Any], names: Names) -> list[dict[str, str]]:
    return [
        {"name": names(atom), "summary": value_summary(value)}
        for atom, value in zip(atoms, values, strict=True)
        if type(atom) is Var
    ]


def _source_data(frame: Frame | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    parts = ("file", "function", "line", "end_line", "column", "end_column")
    return {part: getattr(frame, part) for part in parts}


def step(fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
    """Return a function that traces ``fun`` and stands before its first equation.

    Args:
      fun: a function of arrays; a transformed one, such as ``grad(f)``, is stepped through as it
        is transformed, each equation with the line it stems from.
      static_argnums: positions of arguments that are constants of the trace.

    Returns:
      a function of the same arguments that returns a ``Stepper``.

    Raises:
      TypeError: ``fun`` is not callable.
      RuntimeError: a function is being traced, so there are no values to step through.

    >>> import jxkernel as jx
    >>> at = jx.debug.step(lambda x: jx.numpy.sin(x) * x)(2.0)
    >>> at.equation
    b:f32[] = sin a
    >>> at.over().environment["b"]
    Array(0.9092974, dtype=float32, weak_type=True)
    """
    if not callable(fun):
        raise TypeError(f"step needs a callable, got {fun!r:.100}")
    state = jit_state(fun) or state_of(fun, static_argnums)

    def stepper(*args: Any, **kwargs: Any) -> Stepper:
        if not evaluating():
            raise RuntimeError(
                "debug.step was called while a function is traced, where there are no values yet: "
                "call it outside"
            )
        return _stepper(state, args, kwargs)

    named_like(stepper, fun)
    return stepper


def _stepper(state: JitState, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stepper:
    call, entry = state.trace_call(args, kwargs)
    shape = FunctionCall([], entry.call.in_tree, entry.call.static)
    return Stepper(
        entry.closed,
        call.flat,
        name=function_name(state.fun),
        arguments=leaf_names(state.fun, shape),
        out_tree=entry.out_tree,
    )

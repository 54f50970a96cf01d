"""Solvers whose derivative follows from what they solve: ``custom_linear_solve``, ``custom_root``.

By the implicit function theorem the derivative of a solution is that of the equation it solves;
how it was found does not matter.  This module handles functions and structures.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.api.arguments import function_name, named_like
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp, linearize
from jxkernel.api.traced import TracedFunction, check_callable, leaf_avals, trace_reading
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.linear_solve import linear_solve_p
from jxkernel.higher_order.programs import add_zero_results, vary_arguments
from jxkernel.primitives.collective.varying import agreeing
from jxkernel.primitives.elementwise.arithmetic import neg
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.transforms.transpose import transpose_program
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["custom_linear_solve", "custom_root"]

Function = Callable[..., Any]


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve the linear system ``matvec(x) = b`` by a solver whose inside is not differentiated.

    Args:
      matvec: a linear function from a tree like ``b`` to one of the same structure, shapes and
        dtypes.  It may close over what the solution depends on.
      b: a tree of arrays: the right-hand side.
      solve: the solver ``solve(matvec, b)``, which returns ``x``.
      transpose_solve: the solver ``transpose_solve(vecmat, b)`` of the transposed system, where
        ``vecmat`` is the transpose of ``matvec``.  Without it there is no derivative on the way
        back.
      symmetric: whether ``matvec`` is its own transpose; ``solve`` then serves both ways.
      has_aux: whether solvers return (x, anything else).

    Returns:
      ``x``, or (x, aux) if ``has_aux``; ``aux`` has no derivative.

    Raises:
      TypeError: a function is not callable, or gives another structure or types than ``b`` has.
      TypeError: later, on the way back without ``transpose_solve``.

    Derivatives by ``b`` and by what ``matvec`` closes over are one more solve with the same
    operator: ``A dx = db - dA x``.  What a solver closes over besides has none.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> def half(a):
    ...     return jx.lax.custom_linear_solve(
    ...         lambda x: a * x, 3.0, lambda mv, b: b / mv(1.0), symmetric=True)
    >>> float(half(2.0)), float(jx.grad(half)(2.0))
    (1.5, -0.75)
    """
    try:
        for name, function in (("matvec", matvec), ("solve", solve)):
            check_callable("custom_linear_solve", name, function)
        system = _System(matvec, b)
        programs = [system.operator, None, system.solver(solve, "solve", has_aux), None]
        if symmetric:
            programs[1], programs[3] = programs[0], programs[2]
        if transpose_solve is not None:
            check_callable("custom_linear_solve", "transpose_solve", transpose_solve)
            system = system.transposed()
            programs[1] = system.operator
            programs[3] = system.solver(transpose_solve, "transpose_solve", has_aux)
        return system.bind(programs, has_aux)
    except Exception as error:
        hide_internal_frames(error)
        raise


class _System:
    """A linear system: an operator as a program, and a right-hand side.

    Attributes:
      b: the leaves of the right-hand side.
      structure: their structure.
      operator: the operator.
    """

    def __init__(self, matvec: Function, b: Any, operator: TracedFunction | None = None) -> None:
        leaves, self.structure = physical.flatten(b)
        avals = leaf_avals("custom_linear_solve", "b", leaves, self.structure)
        self.avals: list[ShapedArray] = [aval.strip_weak_type() for aval in avals]
        self.b = [
            convert_element_type(leaf, aval.dtype) for leaf, aval in zip(leaves, avals, strict=True)
        ]
        self._matvec = matvec
        self._in_tree = physical.structure((b,))
        self.operator = operator or self._traced("matvec", matvec, matvec)

    def _traced(self, what: str, fun: Function, call: Function) -> TracedFunction:
        traced = trace_reading("custom_linear_solve", fun, call, self._in_tree, self.avals)
        self._check(what, fun, traced, traced.out_tree)
        return traced

    def _check(self, what: str, fun: Function, traced: TracedFunction, out_tree: Any) -> None:
        found = traced.out_avals[: len(self.avals)]
        same = [(a.shape, a.dtype) for a in found] == [(a.shape, a.dtype) for a in self.avals]
        if out_tree == self.structure and same:
            return
        raise TypeError(
            f"custom_linear_solve needs {what} ({function_name(fun)}) to return a tree like b, "
            f"{structure_text(self.structure)} of {' '.join(a.short() for a in self.avals)}, "
            f"got {structure_text(out_tree)} of "
            f"{' '.join(a.short() for a in found)}"
        )

    def solver(self, solve: Function, what: str, has_aux: bool) -> TracedFunction:
        """Return the program of a solver applied to the operator."""

        def solved(b: Any) -> Any:
            return solve(self.apply, b)

        named_like(solved, solve)
        traced = trace_reading("custom_linear_solve", solved, solved, self._in_tree, self.avals)
        out_tree = traced.out_tree
        if has_aux:
            node, parts = out_tree.node_data(), out_tree.children()
            if node is None or node[0] is not tuple or len(parts) != 2:
                raise TypeError(
                    f"custom_linear_solve with has_aux=True needs {what} ({function_name(solve)}) "
                    f"to return a pair (x, aux), got a result of structure "
                    f"{structure_text(out_tree)}"
                )
            out_tree = parts[0]
        self._check(what, solve, traced, out_tree)
        return traced

    def apply(self, x: Any) -> Any:
        """Apply the operator: what solvers get as their first argument."""
        leaves, structure = physical.flatten(x)
        if structure != self.structure:
            raise TypeError(
                f"the operator of custom_linear_solve takes a tree like b, "
                f"{structure_text(self.structure)}, got "
                f"{structure_text(structure)}"
            )
        strong = [
            convert_element_type(leaf, aval.dtype)
            for leaf, aval in zip(leaves, self.avals, strict=True)
        ]
        closed = self.operator.closed
        return structure.unflatten(eval_jaxpr(closed.jaxpr, closed.consts, *strong))

    def transposed(self) -> "_System":
        """Return the system with the transposed operator, which has the same constants."""
        closed = self.operator.closed
        size = len(self.avals)
        linear = (False,) * len(closed.consts) + (True,) * size
        program, produced = transpose_program(closed.hoisted(), linear, (True,) * size)
        full = add_zero_results(program, produced, (True,) * size, self.avals)
        # The program takes the constants as leading arguments; here they are its constants again.
        count = len(closed.consts)
        constvars, invars = full.jaxpr.invars[:count], full.jaxpr.invars[count:]
        jaxpr = full.jaxpr.replace(constvars=[*full.jaxpr.constvars, *constvars], invars=invars)
        operator = TracedFunction(
            ClosedJaxpr(jaxpr, [*full.consts, *closed.consts]), self.structure
        )
        return _System(self._matvec, self.structure.unflatten(self.b), operator)

    def bind(self, traced: Sequence[TracedFunction | None], has_aux: bool) -> Any:
        """Solve the system and return the solution as the solver does."""
        consts = [one.closed.consts if one else [] for one in traced]
        solver = traced[2]
        assert solver is not None, "always given"
        programs = [one.closed.hoisted() if one else None for one in traced]
        operands = agreeing([*[const for part in consts for const in part], *self.b])
        axes = frozenset[Any]().union(*[abstractify(value).vma for value in operands])
        if axes:
            programs = [vary_arguments(program, axes) if program else None for program in programs]
        outs = linear_solve_p.bind(
            *operands, programs=tuple(programs), counts=tuple(map(len, consts))
        )
        return solver.out_tree.unflatten(outs)


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Find a root of a function by a solver whose inside is not differentiated.

    Args:
      f: a function from a tree of arrays to one of the same structure, shapes and dtypes.  It may
        close over what the root depends on.
      initial_guess: a tree of arrays: where the search begins.
      solve: the solver ``solve(f, initial_guess)``, which returns ``x`` with ``f(x) = 0``.
      tangent_solve: the solver of linear systems ``tangent_solve(g, y)``, which returns ``x`` with
        ``g(x) = y`` for a linear function ``g`` and is linear in ``y``: ``y / g(1.0)`` for a
        number, ``jnp.linalg.solve(jacobian(g)(y), y)`` for a vector.
      has_aux: whether ``solve`` returns (x, anything else).

    Returns:
      ``x``, or (x, aux) if ``has_aux``; ``aux`` has no derivative.

    Raises:
      TypeError: a function is not callable, or gives another structure or types than the guess.

    Derivatives by what ``f`` closes over follow from ``f(x(a), a) = 0``: the derivative of ``x``
    is ``-(df/dx)^-1 df/da``.  The guess, and what the solvers close over, have none.

    >>> import jxkernel as jx
    >>> def newton(f, x):
    ...     return jx.lax.fori_loop(0, 10, lambda _, x: x - f(x) / jx.grad(f)(x), x)
    >>> def root(a):
    ...     return jx.lax.custom_root(
    ...         lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> float(root(4.0)), float(jx.grad(root)(4.0))
    (2.0, 0.25)
    """
    try:
        for name, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
            check_callable("custom_root", name, function)
        flat, structure = physical.flatten(initial_guess)
        avals = [
            aval.strip_weak_type()
            for aval in leaf_avals("custom_root", "initial_guess", flat, structure)
        ]
        guess = [
            convert_element_type(leaf, aval.dtype) for leaf, aval in zip(flat, avals, strict=True)
        ]
        in_tree = physical.structure((initial_guess,))
        equation = trace_reading("custom_root", f, f, in_tree, avals)
        _check_like("f", f, equation.out_avals, equation.out_tree, avals, structure)
        return _root(_Equation(equation, structure), guess, solve, tangent_solve, has_aux)
    except Exception as error:
        hide_internal_frames(error)
        raise


class _Equation:
    """A function as a program, with its constants as an argument."""

    def __init__(self, traced: TracedFunction, structure: Any) -> None:
        self.consts: list[Any] = traced.closed.consts
        self.structure = structure
        self._jaxpr = traced.closed.jaxpr
        self.avals = traced.closed.in_avals

    def at(self, consts: Sequence[Any]) -> Function:
        """Return the function with the given constants."""

        def f(x: Any) -> Any:
            leaves, structure = physical.flatten(x)
            if structure != self.structure:
                raise TypeError(
                    f"the function of custom_root takes a tree like the guess, "
                    f"{structure_text(self.structure)}, "
                    f"got {structure_text(structure)}"
                )
            strong = [
                convert_element_type(leaf, aval.dtype)
                for leaf, aval in zip(leaves, self.avals, strict=True)
            ]
            return structure.unflatten(eval_jaxpr(self._jaxpr, consts, *strong))

        return f


def _root(
    equation: _Equation, guess: list[Any], solve: Function, tangent_solve: Function, has_aux: bool
) -> Any:
    structure = equation.structure

    def solved(consts: list[Any], start: list[Any]) -> Any:
        return solve(equation.at(consts), structure.unflatten(start))

    def pushed(consts: list[Any], x: Any, right: Any) -> Any:
        _, linear = linearize(equation.at(consts), x)
        return physical.map(neg, tangent_solve(linear, right))

    solver = _traced(named_like(solved, solve), (equation.consts, guess))
    x_avals = _solution_avals(solve, solver, equation, has_aux)
    x_like = structure.unflatten([ShapeDtypeStruct(a.shape, a.dtype) for a in x_avals])
    mover = _traced(named_like(pushed, tangent_solve), (equation.consts, x_like, x_like))
    _check_like("tangent_solve", tangent_solve, mover.out_avals, mover.out_tree, x_avals, structure)

    def root(consts: list[Any], start: list[Any], hidden: list[Any], _: list[Any]) -> Any:
        leaves = physical.leaves((consts, start))
        outs = eval_jaxpr(solver.closed.jaxpr, hidden, *leaves)
        result = solver.out_tree.unflatten(outs)
        return result if has_aux else (result, None)

    custom = custom_jvp(root)

    def root_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        consts, _, _, hidden = primals
        x, aux = custom(*primals)
        _, right = jvp(lambda c: equation.at(c)(x), (consts,), (tangents[0],))
        leaves = physical.leaves((consts, x, right))
        moved = mover.out_tree.unflatten(eval_jaxpr(mover.closed.jaxpr, hidden, *leaves))
        return (x, aux), (moved, physical.map(Zero.tangent_of, aux))

    custom.defjvp(root_jvp)
    # Neither the guess nor what the solvers close over has influence on where the root lies.
    x, aux = custom(
        equation.consts,
        stop_gradient(guess),
        stop_gradient(solver.closed.consts),
        stop_gradient(mover.closed.consts),
    )
    return (x, aux) if has_aux else x


def _traced(fun: Function, args: tuple[Any, ...]) -> TracedFunction:
    leaves, in_tree = physical.flatten(args)
    return trace_reading(
        "custom_root", fun, fun, in_tree, leaf_avals("custom_root", "args", leaves, in_tree)
    )


def _solution_avals(
    solve: Function, solver: TracedFunction, equation: _Equation, has_aux: bool
) -> list[ShapedArray]:
    """Return the types of the root that a solver gives, checked against the guess."""
    out_tree = solver.out_tree
    if has_aux:
        node, parts = out_tree.node_data(), out_tree.children()
        if node is None or node[0] is not tuple or len(parts) != 2:
            raise TypeError(
                f"custom_root with has_aux=True needs solve ({function_name(solve)}) to return a "
                f"pair (x, aux), got a result of structure {structure_text(out_tree)}"
            )
        out_tree = parts[0]
    avals = solver.out_avals[: out_tree.num_leaves]
    _check_like("solve", solve, avals, out_tree, equation.avals, equation.structure)
    return [aval.strip_weak_type() for aval in avals]


def _check_like(
    what: str,
    fun: Function,
    found: Sequence[ShapedArray],
    out_tree: Any,
    avals: Sequence[ShapedArray],
    structure: Any,
) -> None:
    same = [(a.shape, a.dtype) for a in found] == [(a.shape, a.dtype) for a in avals]
    if out_tree != structure or not same:
        raise TypeError(
            f"custom_root needs {what} ({function_name(fun)}) to return a tree like the guess, "
            f"{structure_text(structure)} of {' '.join(a.short() for a in avals)}, got "
            f"{structure_text(out_tree)} of "
            f"{' '.join(a.short() for a in found)}"
        )

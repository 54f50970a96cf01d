"""Functions whose batch rule the user gives: ``custom_vmap`` and ``sequential_vmap``."""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import tree
from jxkernel.api.arguments import function_name, named_like
from jxkernel.api.control_flow.scanning import map
from jxkernel.api.custom.calls import closes_over_tracers, positional_arguments
from jxkernel.api.jit import check_result
from jxkernel.api.memo import Carrier
from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words, rank_of
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.trace import Tracer, evaluating
from jxkernel.higher_order.custom_vmap import BatchRule, bind_custom_vmap
from jxkernel.runtime import as_device_array
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap(Carrier):
    """Decorate a function with a batch rule of its own, which ``vmap`` takes.

    Args:
      fun: the function, of arrays and pytrees of them.

    Raises:
      TypeError: ``fun`` is not callable.

    ``@f.def_vmap`` then gives the rule ``rule(axis_size, in_batched, *args)``.  ``in_batched`` is
    a list like ``args`` with a boolean for each array: whether it has the batch axis, in front.
    The rule returns ``(result, out_batched)``: a result of the structure that the function gives,
    and a tree of booleans of that structure.  The rule is not asked where nothing is mapped over.

    Derivatives exist both ways.  ``vmap`` of a forward derivative takes the derivative of the
    rule.  Where it maps over points or over directions, and no argument has both, the rule is
    differentiated at one example at a time, with no argument in ``in_batched``.  On the way back
    the rule serves for values, and the derivative's program is batched operation by operation.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> @jx.custom_batching.custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, x, y):
    ...     print(axis_size, in_batched)
    ...     return x + y, True
    >>> jx.vmap(f, (0, None))(jnp.arange(3), 1)
    3 [True, False]
    Array([1, 2, 3], dtype=int32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable("custom_vmap", "fun", fun)
        named_like(self, fun)
        self.fun = fun
        self.name = function_name(fun)
        self.vmap_rule: Callable[..., Any] | None = None
        self._entered: set[int] = set()

    def __repr__(self) -> str:
        return f"<custom_vmap function {self.name}>"

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule, from (axis_size, in_batched, *args), and return it.

        Raises:
          TypeError: it is not callable.
        """
        check_callable("def_vmap", "vmap_rule", vmap_rule)
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; under ``vmap`` its rule runs instead.

        Raises:
          AttributeError: no rule has been given.
          TypeError: the arguments do not fit the function, or its rule does not.
        """
        if self.vmap_rule is None:
            raise AttributeError(
                f"the custom_vmap function {self.name} has no rule yet: give it one with "
                f"{self.name}.def_vmap(...)"
            )
        try:
            given = positional_arguments("custom_vmap", self.fun, args, kwargs)
            flat, in_tree = physical.flatten(given)
            if evaluating():
                return self.fun(*in_tree.unflatten([_as_array(x) for x in flat]))
            who = f"the custom_vmap function {self.name}"
            avals = leaf_avals(who, "args", flat, in_tree)
            results: list[Any] = []

            def fun(*leaves: Any) -> list[Any]:
                out = self.fun(*in_tree.unflatten([_as_array(x) for x in leaves]))
                flat_out, structure = physical.flatten(out)
                for index, leaf in enumerate(flat_out):
                    check_result(self.name, structure, index, leaf)
                results[:] = [structure]
                return flat_out

            rule = BatchRule(self._flat_rule(in_tree, avals, results), self.name, self._entered)
            outs = bind_custom_vmap(fun, rule, flat, captures=closes_over_tracers(self.fun))
            return results[0].unflatten(outs)
        except Exception as error:
            hide_internal_frames(error)
            raise

    def _flat_rule(
        self, in_tree: Any, avals: Sequence[ShapedArray], results: list[Any]
    ) -> Callable[..., tuple[list[Any], list[bool]]]:
        def traced(*args: Any) -> Any:
            return self.fun(*args)

        def flat(
            size: int, batched: Sequence[bool], args: Sequence[Any]
        ) -> tuple[list[Any], list[bool]]:
            rule = self.vmap_rule
            assert rule is not None, "checked by the call"
            function = trace_function("custom_vmap", self.fun, traced, in_tree, avals)
            results[:] = [function.out_tree]
            flags = list(physical.logical(in_tree).unflatten(batched))
            pair = rule(size, flags, *in_tree.unflatten([_as_array(x) for x in args]))
            what = f"the vmap rule {function_name(rule)} of {self.name}"
            leaves, out_flags = _checked(what, self.name, function.out_tree, pair)
            ranks = [aval.ndim for aval in function.out_avals]
            if not any(batched):
                # Nothing is mapped over, so what is marked has the axis if the rule has made one.
                out_flags = [
                    flag and rank_of(leaf) > rank
                    for leaf, flag, rank in zip(leaves, out_flags, ranks, strict=True)
                ]
            _check_axis(what, size, function.out_tree, leaves, out_flags)
            return leaves, out_flags

        return flat


def _as_array(value: Any) -> Any:
    """Return an argument as functions that are traced get it: numbers too are arrays."""
    return value if isinstance(value, Tracer) else as_device_array(value)


def _checked(what: str, name: str, expected: Any, pair: Any) -> tuple[list[Any], list[bool]]:
    """Return the flat results of a rule, and which of them are batched.

    Args:
      what: the rule, for messages.
      name: the function's.
      expected: the structure of what the function returns.
      pair: what the rule returned.

    Raises:
      TypeError: it is no pair, or a result is no array.
      ValueError: structures differ.
    """
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(
            f"{what} must return a pair (result, out_batched), got {kind_in_words(pair)}"
        )
    leaves, structure = physical.flatten(pair[0])
    flags, flag_structure = tree.flatten(pair[1])
    if structure != expected:
        raise ValueError(
            f"{what} must return a result of the structure that {name} returns, "
            f"{structure_text(expected)}, and "
            f"returned {structure_text(structure)}"
        )
    if physical.logical(structure) != flag_structure:
        raise ValueError(
            f"{what} must return a boolean for each array of its result: the result has structure "
            f"{structure_text(structure)}, and out_batched {structure_text(flag_structure)}"
        )
    for index, leaf in enumerate(leaves):
        check_result(what, structure, index, leaf)
    return leaves, [bool(flag) for flag in flags]


def _check_axis(
    what: str, size: int, structure: Any, leaves: Sequence[Any], flags: Sequence[bool]
) -> None:
    """Check that results that are marked as batched have the batch axis in front.

    Raises:
      ValueError: one has not.
    """
    for path, leaf, flag in zip(physical.leaf_paths(structure), leaves, flags, strict=True):
        aval = abstractify(leaf)
        if flag and aval.shape[:1] != (size,):
            raise ValueError(
                f"{what} marks result{tree.keystr(path)} of type {aval.short()} as batched, and "
                f"its leading axis does not have the batch size {size}"
            )


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Decorate a function so that ``vmap`` runs it on one example after the other.

    It suits functions that cannot be vectorized, or whose examples together need too much memory.

    Args:
      f: a function of arrays and pytrees of them.

    Returns:
      a ``custom_vmap`` whose rule is ``lax.map``.

    Raises:
      TypeError: ``f`` is not callable.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> f = jx.custom_batching.sequential_vmap(lambda x, y: x * y)
    >>> jx.vmap(f, (0, None))(jnp.arange(3), 2)
    Array([0, 2, 4], dtype=int32)
    """
    function = custom_vmap(f)

    def one_by_one(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, structure = physical.flatten(args)
        flags = physical.leaves(in_batched)
        if not any(flags):
            out = function(*args)
            return out, physical.map(lambda _: False, out)

        def one(batched: list[Any]) -> Any:
            given = iter(batched)
            each = [next(given) if flag else x for x, flag in zip(leaves, flags, strict=True)]
            return function(*structure.unflatten(each))

        out = map(one, [x for x, flag in zip(leaves, flags, strict=True) if flag])
        return out, physical.map(lambda _: True, out)

    function.def_vmap(one_by_one)
    return function

"""Functions wrapped in generators that change their arguments and results.

Public as ``jxkernel.extend.linear_util``, ``jxkernel.api_util`` and
``jxkernel.interpreters.partial_eval``, for packages that write transformations in that style.
Transformations of this system do not: see ``transforms``.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial, update_wrapper
from typing import Any

from jxkernel import tree
from jxkernel._reprs import with_type
from jxkernel.compile.shape_dtype import standing
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.jaxpr import Jaxpr
from jxkernel.transforms import dce
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

__all__ = [
    "StoreException",
    "WrappedFun",
    "argnums_partial",
    "cache",
    "dce_jaxpr",
    "debug_info",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "merge_linear_aux",
    "safe_map",
    "trace_to_jaxpr_dynamic",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]


class StoreException(Exception):
    """What was to be kept beside a result is not there yet, or is there already."""


class _Store:
    """Holds what a transformation gives beside its result."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self) -> Any:
        if not self.values:
            raise StoreException("the function has not been called: there is nothing beside it yet")
        return self.values[-1]


class WrappedFun:
    """A function with transformations around it.

    Attributes:
      f: the innermost function.
      call_wrapped: calls it with all of them applied, the last one outermost.
      params: the keyword arguments of the innermost function.
    """

    def __init__(self, f: Callable[..., Any], call: Callable[..., Any], params: Any = None) -> None:
        self.f = f
        self.call_wrapped = call
        self.params = params or {}
        self.in_type = None
        self.debug_info: Any = None

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed function>")

    def around(self, call: Callable[..., Any]) -> "WrappedFun":
        """Return the same function with another outermost call."""
        made = WrappedFun(self.f, call, self.params)
        made.debug_info = self.debug_info
        return made


def wrap_init(f: Callable[..., Any], params: Any = None, *, debug_info: Any = None) -> WrappedFun:
    """Return a function ready to be transformed.

    Args:
      f: the function.
      params: its keyword arguments.
      debug_info: what to say about it; kept as it is.

    >>> from jxkernel.extend import linear_util
    >>> linear_util.wrap_init(lambda x: x + 1).call_wrapped(2)
    3
    """
    made = WrappedFun(f, partial(f, **(params or {})), params)
    made.debug_info = debug_info
    return made


def _driven(generator: Any, inner: Callable[..., Any]) -> Any:
    """Run a generator that yields arguments, is sent the result, and yields its own."""
    args, kwargs = next(generator)
    result = generator.send(inner(*args, **kwargs))
    generator.close()
    return result


def transformation(gen: Callable[..., Any], *fixed: Any) -> Any:
    """Return a transformation: a function from a ``WrappedFun`` and other values to another.

    Args:
      gen: a generator: it yields the arguments of the function inside, as a tuple and a dict, gets
        its result and yields its own.
      fixed: a ``WrappedFun`` and the first arguments of ``gen``, to transform at once.

    >>> from jxkernel.extend import linear_util
    >>> @linear_util.transformation
    ... def doubled(factor, x):
    ...     y = yield (factor * x,), {}
    ...     yield factor * y
    >>> doubled(linear_util.wrap_init(lambda x: x + 1), 10).call_wrapped(2)
    210
    """
    if not fixed:
        return update_wrapper(partial(_transformed, gen), gen)
    return _transformed(gen, *fixed)


def _transformed(gen: Callable[..., Any], fun: WrappedFun, *fixed: Any) -> WrappedFun:
    inner = fun.call_wrapped
    return fun.around(lambda *args, **kwargs: _driven(gen(*fixed, *args, **kwargs), inner))


def transformation2(gen: Callable[..., Any], *fixed: Any) -> Any:
    """Return a transformation like ``transformation``, of a function that calls what is inside.

    Args:
      gen: a function of the function inside, the fixed values and the arguments.
      fixed: a ``WrappedFun`` and the fixed values, to transform at once.

    >>> from jxkernel.extend import linear_util
    >>> @linear_util.transformation2
    ... def doubled(f, x):
    ...     return 2 * f(x)
    >>> doubled(linear_util.wrap_init(lambda x: x + 1)).call_wrapped(2)
    6
    """
    if not fixed:
        return update_wrapper(partial(_transformed2, gen), gen)
    return _transformed2(gen, *fixed)


def _transformed2(gen: Callable[..., Any], fun: WrappedFun, *fixed: Any) -> WrappedFun:
    return fun.around(partial(gen, fun.call_wrapped, *fixed))


def transformation_with_aux(gen: Callable[..., Any], *fixed: Any, **_: Any) -> Any:
    """Return a transformation whose generator yields a pair: the result, and what is kept.

    It gives the function and one without arguments, which returns what was kept.

    >>> from jxkernel.extend import linear_util
    >>> @linear_util.transformation_with_aux
    ... def counted(*args):
    ...     y = yield args, {}
    ...     yield y, len(args)
    >>> fun, count = counted(linear_util.wrap_init(lambda x, y: x + y))
    >>> fun.call_wrapped(2, 3), count()
    (5, 2)
    """
    if not fixed:
        return update_wrapper(partial(_transformed_with_aux, gen), gen)
    return _transformed_with_aux(gen, *fixed)


def _transformed_with_aux(
    gen: Callable[..., Any], fun: WrappedFun, *fixed: Any, **_: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    inner, store = fun.call_wrapped, _Store()

    def call(*args: Any, **kwargs: Any) -> Any:
        result, kept = _driven(gen(*fixed, *args, **kwargs), inner)
        store.values.append(kept)
        return result

    return fun.around(call), store


def transformation_with_aux2(gen: Callable[..., Any], *fixed: Any, **_: Any) -> Any:
    """Return a transformation like ``transformation2``, whose function also gets a store.

    Args:
      gen: a function of the function inside, an object whose ``store(value)`` keeps a value, the
        fixed values and the arguments.
      fixed: a ``WrappedFun`` and the fixed values, to transform at once.

    >>> from jxkernel.extend import linear_util
    >>> @linear_util.transformation_with_aux2
    ... def counted(f, store, *args):
    ...     store.store(len(args))
    ...     return f(*args)
    >>> fun, count = counted(linear_util.wrap_init(lambda x, y: x + y))
    >>> fun.call_wrapped(2, 3), count()
    (5, 2)
    """
    if not fixed:
        return update_wrapper(partial(_transformed_with_aux2, gen), gen)
    return _transformed_with_aux2(gen, *fixed)


class _Keeper(_Store):
    def store(self, value: Any) -> None:
        """Keep a value."""
        self.values.append(value)


def _transformed_with_aux2(
    gen: Callable[..., Any], fun: WrappedFun, *fixed: Any, **_: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    store = _Keeper()
    return fun.around(partial(gen, fun.call_wrapped, store, *fixed)), store


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return which of two stores was filled, and what it holds.

    Raises:
      StoreException: none is, or both are.

    >>> from jxkernel.extend import linear_util
    >>> linear_util.merge_linear_aux(lambda: 3, linear_util.transformation_with_aux(
    ...     lambda x: iter(()), linear_util.wrap_init(abs))[1])
    (True, 3)
    """
    found = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((first, aux()))
        except StoreException:
            continue
    if len(found) != 1:
        raise StoreException("one of two stores must be filled, and not both")
    return found[0]


def cache(call: Callable[..., Any], *, explain: Any = None) -> Callable[..., Any]:
    """Return a function of a ``WrappedFun`` and other values.

    Its results are not kept: each wrapped function is new, and ``jit`` keeps programs by itself.

    >>> from jxkernel.extend import linear_util
    >>> double = linear_util.cache(lambda fun, x: 2 * fun.call_wrapped(x))
    >>> double(linear_util.wrap_init(abs), -2)
    4
    """
    return update_wrapper(partial(call), call)


# ---------------------------------------------------------------- of flat arguments, and traced


@transformation_with_aux
def _of_leaves(in_tree: Any, *leaves: Any) -> Any:
    result = yield tree.unflatten(in_tree, leaves), {}
    yield tree.flatten(result)


@transformation_with_aux
def _of_leaves_and_keywords(in_tree: Any, *leaves: Any) -> Any:
    result = yield tree.unflatten(in_tree, leaves)
    yield tree.flatten(result)


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: Any, **_: Any) -> Any:
    """Return a function of leaves that gives leaves, and what tells its results' structure.

    Args:
      fun: the function.
      in_tree: the structure of the tuple of its arguments.

    >>> import jxkernel as jx
    >>> from jxkernel import api_util
    >>> from jxkernel.extend import linear_util
    >>> leaves, structure = jx.tree.flatten((1, {"k": 2}))
    >>> fun, out = api_util.flatten_fun_nokwargs(
    ...     linear_util.wrap_init(lambda x, d: {"sum": x + d["k"]}), structure)
    >>> fun.call_wrapped(*leaves), out()
    ([3], PyTreeDef({'sum': *}))
    """
    return _of_leaves(fun, in_tree)


def flatten_fun(fun: WrappedFun, in_tree: Any, **_: Any) -> Any:
    """Return a function of leaves like ``flatten_fun_nokwargs``.

    Args:
      fun: the function.
      in_tree: the structure of the pair of its arguments and its keyword arguments.

    >>> import jxkernel as jx
    >>> from jxkernel import api_util
    >>> from jxkernel.extend import linear_util
    >>> leaves, structure = jx.tree.flatten(((1,), {"y": 2}))
    >>> fun, out = api_util.flatten_fun(linear_util.wrap_init(lambda x, y: x + y), structure)
    >>> fun.call_wrapped(*leaves), out()
    ([3], PyTreeDef(*))
    """
    return _of_leaves_and_keywords(fun, in_tree)


def argnums_partial(
    f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any], **how: bool
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Return a function of some positional arguments, the others fixed, and these arguments.

    Args:
      f: the function.
      dyn_argnums: the positions of the arguments that it is still to take.
      args: all arguments.
      **how: ``require_static_args_hashable=False`` lets those fixed be anything.

    Raises:
      ValueError: an argument that is fixed is not hashable.

    >>> from jxkernel import api_util
    >>> from jxkernel.extend import linear_util
    >>> fun = linear_util.wrap_init(lambda x, y: (x, y))
    >>> partly, given = api_util.argnums_partial(fun, 0, (1, "fixed"))
    >>> partly.call_wrapped(10), given
    ((10, 'fixed'), (1,))
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    places = [number % len(args) for number in numbers]
    fixed = {i: arg for i, arg in enumerate(args) if i not in places}
    if how.get("require_static_args_hashable", True):
        for i, arg in fixed.items():
            if not isinstance(arg, Hashable):
                raise ValueError(
                    f"argument {i} of {f.__name__} is fixed, so it must be hashable, got "
                    f"{with_type(arg)}"
                )
    inner = f.call_wrapped

    def call(*given: Any, **kwargs: Any) -> Any:
        full = {**fixed, **dict(zip(places, given, strict=True))}
        return inner(*[full[i] for i in range(len(args))], **kwargs)

    return f.around(call), tuple(args[i] for i in places)


def flatten_axes(name: str, treedef: Any, axis_tree: Any, **_: Any) -> list[Any]:
    """Return the axis of each leaf of a structure, from a tree that is a prefix of it.

    Args:
      name: what the axes are, for the error.
      treedef: the structure.
      axis_tree: axes, or None, for parts of it.

    Raises:
      ValueError: it is no prefix.

    >>> import jxkernel as jx
    >>> from jxkernel import api_util
    >>> api_util.flatten_axes("in_axes", jx.tree.structure(({"a": 1, "b": 2}, 3)), (0, None))
    [0, 0, None]
    """
    whole = treedef.unflatten([0] * treedef.num_leaves)
    try:
        full = tree.tree_broadcast_prefix(axis_tree, whole, is_leaf=_is_none)
    except ValueError as error:
        raise ValueError(f"{name} is no prefix of the structure: {error}") from None
    return tree.leaves(full, is_leaf=_is_none)


def _is_none(value: Any) -> bool:
    return value is None


def safe_map(f: Callable[..., Any], *args: Sequence[Any]) -> list[Any]:
    """Return a function's results for elements of sequences of one length.

    Raises:
      ValueError: the lengths differ.

    >>> from jxkernel import api_util
    >>> api_util.safe_map(max, [1, 4], [3, 2])
    [3, 4]
    """
    return [f(*each) for each in zip(*args, strict=True)]


def debug_info(traced_for: str, fun: Callable[..., Any], args: Any, kwargs: Any, **_: Any) -> str:
    """Return what names a function that is traced, for ``wrap_init``.

    Args:
      traced_for: the transformation.
      fun: the function.
      args: its arguments.
      kwargs: its keyword arguments.

    >>> from jxkernel import api_util
    >>> api_util.debug_info("scan", abs, (1,), {})
    'abs, traced for scan'
    """
    return f"{getattr(fun, '__name__', fun)}, traced for {traced_for}"


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ShapedArray], **_: Any
) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """Return a function's program, its results' types and the constants that it reads.

    Args:
      fun: a function of flat arguments that gives flat results.
      in_avals: the types of its arguments; a key is its key data in the program.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import linear_util
    >>> from jxkernel.interpreters import partial_eval
    >>> fun = linear_util.wrap_init(lambda x: [jx.numpy.sin(x)])
    >>> partial_eval.trace_to_jaxpr_dynamic(fun, [jx.typeof(1.0)])[0]
    { lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
    """
    leaves, structure = physical.flatten([standing(aval) for aval in in_avals])

    def of_key_data(*args: Any) -> Any:
        return physical.leaves(fun.call_wrapped(*structure.unflatten(args)))

    closed = trace_flat(of_key_data, list(map(abstractify, leaves)), name=fun.__name__)
    return closed.jaxpr, list(closed.out_avals), list(closed.consts)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Return a program without what its wanted results do not need, and which arguments it reads.

    Args:
      jaxpr: the program; its constants stay.
      used_outputs: for each result whether it is wanted.
      instantiate: whether unread arguments stay.

    >>> import jxkernel as jx
    >>> from jxkernel.interpreters import partial_eval
    >>> jaxpr = jx.make_jaxpr(lambda x, y: (x + 1, y))(1.0, 2.0).jaxpr
    >>> partial_eval.dce_jaxpr(jaxpr, [False, True])
    ({ lambda ; a:f32[]. let  in (a,) }, [False, True])
    """
    kept, used = dce.dce_jaxpr(jaxpr, used_outputs, keep_invars=instantiate)
    return kept, used[len(jaxpr.constvars) :]

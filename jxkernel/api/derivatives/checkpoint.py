"""``checkpoint`` (also ``remat``): time spent to save memory on the way back, and policies."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import Any

from jxkernel._reprs import with_type
from jxkernel.api.arguments import (
    Call,
    Parameters,
    check_choice,
    function_name,
    named_like,
    rebuild,
    split_call,
)
from jxkernel.api.traced import check_callable, check_function, leaf_avals, trace_function
from jxkernel.config import disable_jit
from jxkernel.core.avals import canonical_value
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.trace import evaluating
from jxkernel.higher_order.checkpoint import (
    Offloadable,
    Policy,
    PreventCse,
    bind_checkpoint,
    name_p,
)
from jxkernel.higher_order.references import CapturedReferences, Ref, Taken
from jxkernel.primitives.contraction.dot_general import dot_general_p
from jxkernel.tree import physical

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]

_VALUES = "the values of references"


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: Any = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[..., Any]:
    """Make the way back through a function compute its values again instead of keeping them.

    Args:
      fun: a function of arrays, numbers and pytrees of them.  Where only options are given, a
        decorator is returned.
      prevent_cse: whether to keep the compiler from finding that both computations are the same;
        inside ``scan`` it cannot, and False lets it optimize more.  A tuple with an entry per
        positional argument (a bool, or a tree of them) says so for each.
      policy: which values are kept all the same, one of ``checkpoint_policies``; None for none
        but the arguments.
      static_argnums: positions of arguments that are no arrays.
      static_argnames: their names.

    Returns:
      a function of the same values and derivatives.

    Raises:
      TypeError: ``fun`` or ``policy`` is not callable, nothing is given at all, static parameters
        are no numbers and names, or ``prevent_cse`` holds no bools; later, an argument is no array.

    The function is traced once per kind of arguments, as by ``jit``.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> f = jx.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> jx.grad(f)(0.0).item()
    1.0
    """
    options: dict[str, Any] = {
        "prevent_cse": prevent_cse,
        "policy": policy,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
    }
    if fun is None:
        return _of_one_to_come(**options)
    check_function("checkpoint", fun)
    if policy is not None:
        check_callable("checkpoint", "policy", policy)
    static = Parameters.of(fun, static_argnums, static_argnames, "static")
    name = function_name(fun)
    _check_flags(prevent_cse)

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        try:
            call = split_call(args, kwargs, static)
            if disable_jit.value and evaluating():
                return fun(*args, **kwargs)
            if any(isinstance(leaf, Ref) for leaf in call.flat):
                return _closing_over(fun, call, policy, _flags(prevent_cse, call.in_tree))
            avals = leaf_avals(f"checkpoint of {name}", "args", call.flat, call.in_tree)

            key = call.static_key()
            traced = trace_function(
                *("checkpoint", fun, _of_dynamic(fun, call), call.in_tree, avals),
                key=key,
                remember=_is_hashable(key),
            )
            operands = [canonical_value(x, aval) for x, aval in zip(call.flat, avals, strict=True)]
            how = {"policy": policy, "prevent_cse": _flags(prevent_cse, call.in_tree)}
            outs = bind_checkpoint(traced.closed, operands, name=name, **how)
            return traced.out_tree.unflatten(outs)
        except CapturedReferences as found:
            taken = Taken(found)
        except Exception as error:
            hide_internal_frames(error)
            raise

        return _take_along(taken, fun, partial(checkpoint, **options), args, kwargs)

    return named_like(checkpointed, fun)


def _of_dynamic(fun: Callable[..., Any], call: Call) -> Callable[..., Any]:
    """Return a function of the arguments of a call that are not static."""

    def apply(positional: Any, named: dict[str, Any]) -> Any:
        leaves = physical.leaves((positional, named))
        given, keywords = rebuild(call.in_tree, call.static, leaves)
        return fun(*given, **keywords)

    return apply


def _closing_over(fun: Callable[..., Any], call: Call, policy: Any, prevent_cse: PreventCse) -> Any:
    """Call a function with references among its arguments, checkpointed as one that has them."""

    @wraps(fun)
    def run(*rest: Any) -> Any:
        others = iter(rest)
        leaves = [leaf if isinstance(leaf, Ref) else next(others) for leaf in call.flat]
        given, keywords = rebuild(call.in_tree, call.static, leaves)
        return fun(*given, **keywords)

    rest = [i for i, leaf in enumerate(call.flat) if not isinstance(leaf, Ref)]
    flags = prevent_cse if isinstance(prevent_cse, bool) else tuple([prevent_cse[i] for i in rest])
    again = checkpoint(run, policy=policy, prevent_cse=flags)
    return again(*[call.flat[i] for i in rest])


def _take_along(
    taken: Taken,
    fun: Callable[..., Any],
    again: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function that takes the values of references along, made a checkpointed one."""

    @wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        return taken.run(kwargs.pop(_VALUES), partial(fun, *args, **kwargs))

    result, values = again(run)(*args, **kwargs, **{_VALUES: taken.values()})
    taken.write(values)
    return result


def _of_one_to_come(**options: Any) -> Callable[..., Any]:
    """Return what decorates a function with options.

    Raises:
      TypeError: all are as where nothing is given, or static parameters are no numbers and names.
    """
    if list(options.values()) == [True, None, (), ()]:
        raise TypeError("checkpoint needs a function, or the options of one to come: policy=...")
    check_choice(options["static_argnums"], options["static_argnames"], "static")
    return partial(checkpoint, **options)


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _check_flags(prevent_cse: Any) -> None:
    if isinstance(prevent_cse, bool):
        return
    if isinstance(prevent_cse, (tuple, list)):
        others = [leaf for leaf in physical.leaves(prevent_cse) if not isinstance(leaf, bool)]
        if not others:
            return
        prevent_cse = others[0]
    raise TypeError(
        "checkpoint prevent_cse must be a bool, or a tuple with an entry per positional argument "
        f"of bools or trees of them; got {with_type(prevent_cse)}"
    )


def _flags(prevent_cse: Any, in_tree: Any) -> PreventCse:
    """Return which leaves of a call are kept apart: those of keyword arguments are.

    Raises:
      ValueError: the flags are no prefix of the positional arguments.
    """
    if isinstance(prevent_cse, bool):
        return prevent_cse
    positional, named = in_tree.unflatten([True] * in_tree.num_leaves)
    try:
        flags = physical.leaves(physical.broadcast_prefix(tuple(prevent_cse), positional))
    except ValueError as error:
        raise ValueError(
            "checkpoint prevent_cse must have the structure of the positional arguments that are "
            f"not static, or of a prefix: {error}"
        ) from None
    return (*flags, *physical.leaves(named))


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """Return a tree of arrays unchanged, by whose name a policy may keep them.

    Args:
      x: a tree of arrays.
      name: the name.

    Linear: the derivative is the identity.
    """
    return physical.map(lambda leaf: name_p.bind(leaf, name=name), x)


def _everything_saveable(*_: Any, **__: Any) -> bool:
    return True


def _nothing_saveable(*_: Any, **__: Any) -> bool:
    return False


def _dots_saveable(primitive: Any, *_: Any, **__: Any) -> bool:
    return primitive is dot_general_p


def _dots_with_no_batch_dims_saveable(primitive: Any, *_: Any, **params: Any) -> bool:
    if primitive is not dot_general_p:
        return False
    _, (left, right) = params["dimension_numbers"]
    return not left and not right


class Policies:
    """What ``checkpoint`` may keep: functions of a primitive, operand types and parameters."""

    everything_saveable = staticmethod(_everything_saveable)
    nothing_saveable = staticmethod(_nothing_saveable)
    dots_saveable = staticmethod(_dots_saveable)
    checkpoint_dots = staticmethod(_dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(_dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = staticmethod(_dots_with_no_batch_dims_saveable)

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Return the policy that keeps what ``checkpoint_name`` has named so."""
        return _named(lambda name: name in names)

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        """Return the policy that keeps all that is named otherwise."""
        return _named(lambda name: name not in names)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Return the policy that keeps everything, save what is named so."""

        def policy(primitive: Any, *_: Any, **params: Any) -> bool:
            return primitive is not name_p or params["name"] not in names

        return policy

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Return the policy that keeps what either of two keeps."""

        def policy(primitive: Any, *avals: Any, **params: Any) -> Any:
            return first(primitive, *avals, **params) or second(primitive, *avals, **params)

        return policy

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
        """Return the policy that keeps products without batch dimensions, in another memory.

        Args:
          offload_src: the memory they are made in, such as ``"device"``.
          offload_dst: the memory to keep them in, such as ``"pinned_host"``.

        See ``Offloadable`` for what that is on a CPU.
        """

        def policy(primitive: Any, *avals: Any, **params: Any) -> Any:
            keeps = _dots_with_no_batch_dims_saveable(primitive, *avals, **params)
            return Offloadable(offload_src, offload_dst) if keeps else False

        return policy

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str,
        offload_dst: str,
    ) -> Policy:
        """Return the policy that keeps what has some names, and in another memory what has others.

        Args:
          names_which_can_be_saved: names of values that stay where they are made.
          names_which_can_be_offloaded: names of values to keep in another memory.
          offload_src: the memory they are made in, such as ``"device"``.
          offload_dst: the memory to keep them in, such as ``"pinned_host"``.

        Raises:
          ValueError: a name is in both lists.

        See ``Offloadable`` for what that is on a CPU.
        """
        saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
        if saved & offloaded:
            both = ", ".join(sorted(saved & offloaded))
            raise ValueError(f"a value is either saved or offloaded, got both for the names {both}")

        def policy(primitive: Any, *_: Any, **params: Any) -> Any:
            if primitive is name_p and params["name"] in offloaded:
                return Offloadable(offload_src, offload_dst)
            return primitive is name_p and params["name"] in saved

        return policy


checkpoint_policies = Policies()
"""What ``checkpoint`` may keep: see ``Policies``."""


def _named(keeps: Callable[[str], bool]) -> Policy:
    def policy(primitive: Any, *_: Any, **params: Any) -> bool:
        return primitive is name_p and keeps(params["name"])

    return policy

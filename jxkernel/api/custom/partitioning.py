"""``custom_partitioning``: functions whose division over devices the user decides."""

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.core.effects import effect_names
from jxkernel.core.filtering import filtered
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import Tracer
from jxkernel.higher_order.custom_partitioning import UserPartitioning, custom_partitioning_p
from jxkernel.sharding.rules import SdyShardingRule, parse_rule
from jxkernel.tree import physical

__all__ = ["custom_partitioning"]


class custom_partitioning:  # the name that users know
    """A function whose division over the devices of a mesh the user decides.

    XLA's partitioner knows how to divide the operations it has, and gathers the operands of all
    others (callbacks, foreign kernels) on every device.  Such a function is told, by
    ``def_partition``, how its operands and results are divided together, and what each device does
    with its pieces.  Where nothing is divided, and inside ``shard_map``, it is the function itself.

    Args:
      fun: a function of trees of arrays.
      static_argnums: the positions of arguments that are no arrays; they are hashable.

    Raises:
      TypeError: ``fun`` is not callable.

    Derivatives and ``vmap`` are errors; give the function around it rules with ``custom_vjp``,
    ``custom_jvp`` or ``custom_vmap``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def f(x):
    ...     return jnp.sort(x, axis=-1)
    >>> def partition(mesh, arg_shapes, result_shape):
    ...     rows = jx.NamedSharding(mesh, jx.P(arg_shapes[0].sharding.spec[0], None))
    ...     return mesh, lambda x: jnp.sort(x, axis=-1), rows, (rows,)
    >>> f.def_partition(partition, sharding_rule="i j -> i j", need_replication_factors=("j",))
    >>> f(jnp.array([[3.0, 1.0]])).tolist()
    [[1.0, 3.0]]
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> None:
        check_callable("custom_partitioning", "fun", fun)
        self.fun = fun
        given = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        self.static_argnums = given
        self._partition: Callable[..., Any] | None = None
        self._rule: Any = None
        update_wrapper(self, fun)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: str | SdyShardingRule | Callable[..., Any] | None = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        """Say how calls are divided.

        Args:
          partition: a function of (mesh, arguments, result), after the values of static arguments.
            Its trees hold for each array a ``ShapeDtypeStruct`` with the sharding that XLA would
            have.  It returns (mesh, a function of pieces that returns a piece, the shardings of the
            result, those of the arguments).  The function may communicate along the mesh's axes.
          infer_sharding_from_operands: accepted; the rule says it.
          propagate_user_sharding: accepted; the rule says it.
          decode_shardings: accepted; shardings are over the mesh.
          sharding_rule: which axes are divided together: a text like ``"... i j, j k -> ... i k"``,
            an ``SdyShardingRule``, or a function of (mesh, the arguments' types, the results'
            types), after the values of static arguments, that returns either.
          reduction_factors: factors of a text that the result is a sum over.
          need_replication_factors: factors of a text that must be whole on each device.
          permutation_factors: factors of a text along which devices exchange.
          **factor_sizes: the sizes of factors of a text that are no axis by themselves.

        Raises:
          TypeError: ``partition`` is not callable, or the rule is none of these.
          ValueError: the text is no rule, or options are given that are for texts.
        """
        check_callable("def_partition", "partition", partition)
        special = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
        }
        options = {name: given for name, given in special.items() if given} | factor_sizes
        rule = sharding_rule
        if isinstance(rule, str):
            rule = parse_rule(rule, **options)
        elif options:
            raise ValueError(f"{', '.join(options)}: these are for a sharding_rule that is a text")
        elif not (rule is None or isinstance(rule, SdyShardingRule) or callable(rule)):
            raise TypeError(
                f"sharding_rule is a text, an SdyShardingRule or a function, got {rule!r:.60}"
            )
        self._partition = partition
        self._rule = rule

    @filtered
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
          TypeError: an argument is no array, or the function has effects or closes over values that
            are being traced.
          ValueError: ``def_partition`` was not called.
        """
        name = function_name(self.fun)
        if self._partition is None:
            raise ValueError(
                f"custom_partitioning of {name} does not know how to divide it: call "
                "def_partition first"
            )
        if kwargs:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        chosen = {number % len(args) for number in self.static_argnums}
        static = tuple([arg for index, arg in enumerate(args) if index in chosen])
        dynamic = tuple([arg for index, arg in enumerate(args) if index not in chosen])
        flat, in_tree = physical.flatten(dynamic)
        avals = leaf_avals("custom_partitioning", "args", flat, in_tree)

        def call(*operands: Any) -> Any:
            left, fixed = iter(operands), iter(static)
            given = [next(fixed if index in chosen else left) for index in range(len(args))]
            return self.fun(*given)

        key = (static, tuple(sorted(chosen)))
        traced = trace_function("custom_partitioning", self.fun, call, in_tree, avals, key=key)
        closed = traced.closed
        if closed.effects:
            raise TypeError(
                f"custom_partitioning of {name} has the effect {effect_names(closed.effects)}: "
                "keep callbacks with effects outside of it"
            )
        if any(isinstance(const, Tracer) for const in closed.consts):
            raise TypeError(
                f"custom_partitioning of {name} closes over values that are being traced, of which "
                "the partitioner knows nothing: pass them as arguments"
            )
        said = (self._partition, self._rule, static, (in_tree, traced.out_tree))
        partitioning = closed.remember(_partitioning, name, *said)
        outs = custom_partitioning_p.bind(*flat, jaxpr=closed, partitioning=partitioning)
        return traced.out_tree.unflatten(outs)


def _partitioning(closed: ClosedJaxpr, name: str, *said: Any) -> UserPartitioning:
    return UserPartitioning(name, *said)

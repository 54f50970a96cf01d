"""Where and when the compiler computes a function: ``compute_on``, groups, an order.

Where and in which group are frontend attributes, which passes of the compilers of accelerators look
for; an order is made of barriers, which every compiler keeps.
"""

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any

from jxkernel.api.jit import jit
from jxkernel.api.marking import set_xla_metadata, xla_metadata_call
from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.api.transfer import device_put
from jxkernel.core.filtering import filtered
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Var, jaxpr_as_fun
from jxkernel.primitives.elementwise.identity import optimization_barrier_p
from jxkernel.sharding.space import Space
from jxkernel.tree import physical

__all__ = ["compute_on", "program_order", "scheduling_group"]

_PLACES = {
    "device": {"_xla_compute_type": "dense"},
    "device_host": {"_xla_compute_type": "host"},
    "tpu_sparsecore": {"_xla_compute_type": "sparseoffload"},
}
_STREAM = "gpu_stream:"


def _attributes(compute_type: Any) -> dict[str, Any]:
    if isinstance(compute_type, str):
        if compute_type in _PLACES:
            return _PLACES[compute_type]
        if compute_type.startswith(_STREAM):
            stream = compute_type.removeprefix(_STREAM)
            return {"_xla_stream_annotation": stream, "inlineable": False}
    known = ", ".join(map(repr, _PLACES))
    raise ValueError(
        f"compute_on got compute_type={compute_type!r:.60}: there are {known}, and 'gpu_stream:N' "
        "with the number of a stream"
    )


def compute_on(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: None = None,
) -> Any:
    """Return a function that the compiler computes somewhere else than what is around it.

    Args:
      f: a function of trees of arrays; left out, for a decorator.
      compute_type: ``"device_host"`` for the host of a device, ``"device"`` for the device itself,
        ``"tpu_sparsecore"``, or ``"gpu_stream:N"``.  Compilers that have no such place, that of
        CPUs among them, compute where they always do.
      out_memory_spaces: a ``memory.Space`` for the results, or a tree of these that is a prefix of
        the result's.  Inside a program it says nothing, as in ``device_put``.
      compiler_options: None; options are given to ``jit``.

    Raises:
      TypeError: ``f`` is not callable.
      ValueError: ``compute_type`` is another, or the spaces do not fit the result.
      NotImplementedError: ``compiler_options`` are given.

    Results and derivatives are those of ``f``.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental.compute_on import compute_on
    >>> @compute_on(compute_type="device_host", out_memory_spaces=jx.memory.Space.Device)
    ... def double(x):
    ...     return x * 2.0
    >>> float(double(3.0))
    6.0
    """
    if f is None:
        return partial(
            compute_on,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    check_callable("compute_on", "f", f)
    if compiler_options is not None:
        raise NotImplementedError(
            "compute_on passes no compiler_options on: give them to the program, "
            "jit(..., compiler_options=...)"
        )
    marked = set_xla_metadata(**_attributes(compute_type))(jit(f))

    @filtered
    def computed(*args: Any, **kwargs: Any) -> Any:
        result = marked(*args, **kwargs)
        spaces = physical.broadcast_prefix(out_memory_spaces, result)
        leaves, structure = physical.flatten(result)
        for space in spaces:
            if not isinstance(space, Space):
                raise ValueError(
                    f"compute_on got {space!r:.60} in out_memory_spaces: give a memory.Space"
                )
        return structure.unflatten(
            [device_put(leaf, space) for leaf, space in zip(leaves, spaces, strict=True)]
        )

    return update_wrapper(computed, f)


def scheduling_group(name: str | int) -> Any:
    """Return a decorator of functions whose operations a scheduler keeps together.

    It is ``xla_metadata_call(scheduling_group=name)``; compilers that know no groups ignore it.

    Args:
      name: the group's name, a text or a number.

    Raises:
      TypeError: the name is neither.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.scheduling_groups import scheduling_group
    >>> f = scheduling_group("first")(jnp.sin)
    >>> '{scheduling_group = "first"}' in jx.jit(f).lower(1.0).as_text()
    True
    """
    return xla_metadata_call(scheduling_group=name)


def program_order(
    f: Callable[..., Any] | None = None,
    *,
    enforce: bool,
    strict_in_out: bool | tuple[bool, bool] = False,
    exclude_argnames: str | Sequence[str] | None = None,
) -> Any:
    """Return a function whose operations are computed in the order in which they are written.

    Args:
      f: a function of trees of arrays; left out, for a decorator.
      enforce: whether to keep the order; with False the function is as it was.
      strict_in_out: whether nothing begins before all arguments are there, and whether no result
        leaves before all are: one answer for both, or two.
      exclude_argnames: accepted where the order is not kept.

    Raises:
      TypeError: ``f`` is not callable.
      ValueError: ``strict_in_out`` is given where the order is not kept, or ``exclude_argnames``
        where it is.

    A barrier stands between operations: what one gives, and what the next one takes, passes it
    together.  Derivatives pass barriers of their own.  StableHLO ``optimization_barrier``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.overlap import program_order
    >>> f = program_order(lambda x: jnp.sin(x) * 2.0, enforce=True)
    >>> jx.make_jaxpr(f)(1.0)
    { lambda ; a:f32[]. let
        b:f32[] = sin a
        c:f32[] = optimization_barrier b
        d:f32[] = mul c 2.0:f32[]
      in (d,) }
    """
    if f is None:
        return partial(
            program_order,
            enforce=enforce,
            strict_in_out=strict_in_out,
            exclude_argnames=exclude_argnames,
        )
    check_callable("program_order", "f", f)
    both = isinstance(strict_in_out, tuple)
    first, last = strict_in_out if both else (strict_in_out, strict_in_out)
    if not enforce:
        if first or last:
            raise ValueError("program_order got strict_in_out and enforce=False: keep the order")
        return f
    if exclude_argnames is not None:
        raise ValueError("program_order got exclude_argnames and enforce=True: leave the names out")

    @filtered
    def ordered(*args: Any, **kwargs: Any) -> Any:
        flat, in_tree = physical.flatten((args, kwargs))
        avals = leaf_avals("program_order", "arguments", flat, in_tree)

        def call(args: Any, kwargs: Any) -> Any:
            return f(*args, **kwargs)

        traced = trace_function("program_order", f, call, in_tree, avals)
        program = traced.closed.remember(_in_order, first, last)
        return traced.out_tree.unflatten(jaxpr_as_fun(program)(*flat))

    return update_wrapper(ordered, f)


def _in_order(closed: ClosedJaxpr, first: bool, last: bool) -> ClosedJaxpr:
    """Return a program with a barrier between each two of its equations."""
    jaxpr = closed.jaxpr
    now: dict[Var, Var] = {}
    eqns: list[Eqn] = []

    def renamed(atoms: Sequence[Any]) -> list[Any]:
        return [now.get(atom, atom) if type(atom) is Var else atom for atom in atoms]

    def meet(atoms: Sequence[Any], source: Any) -> None:
        together = list(dict.fromkeys([atom for atom in atoms if type(atom) is Var]))
        passed = [Var(var.aval) for var in together]
        if together:
            eqns.append(Eqn(renamed(together), passed, optimization_barrier_p, {}, source=source))
            now.update(zip(together, passed, strict=True))

    before: Sequence[Any] = jaxpr.invars if first else ()
    for eqn in jaxpr.eqns:
        if before:
            meet([*before, *eqn.invars], eqn.source)
        eqns.append(eqn.replace(invars=renamed(eqn.invars)))
        before = eqn.outvars
    if last:
        meet(jaxpr.outvars, None)
    return ClosedJaxpr(jaxpr.replace(eqns=eqns, outvars=renamed(jaxpr.outvars)), closed.consts)

"""The carry of a loop: of one structure and type at every turn.

A first carry that began as a Python number has a weak type and yields: it is converted to what
the body makes of it, and the body is traced again.  Any other difference is the user's to mend,
and the error names the leaf, both types and the cast.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import dtypes, tree
from jxkernel.core.avals import ShapedArray
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.trace import place_in_source
from jxkernel.errors import CarryTypeError
from jxkernel.primitives.collective.varying import vary
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.sharding.constraints import reshard_like
from jxkernel.records import record
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

__all__ = ["LoopBody", "check_carry_structure", "convert_to", "converting", "settle_carry"]


@record()
class LoopBody:
    """A body as its loop sees it.

    Attributes:
      loop: what the user called.
      carry: what the carry is called in messages.
      fun: the user's function.
      turn: what is traced: the function, or one that calls it.
      skipped: how many keys lead from the loop's carry to the user's.
    """

    loop: str
    carry: str
    fun: Callable[..., Any]
    turn: Callable[..., Any]
    skipped: int = 0

    def path(self, keys: Sequence[Any]) -> str:
        """Name a part of the carry."""
        return self.carry + tree.keystr(tuple(keys[self.skipped :]))


def convert_to(value: Any, before: ShapedArray, after: ShapedArray) -> Any:
    """Return a value of one type converted to another of the same shape."""
    if before is after:
        return value
    if (before.dtype, before.weak_type) != (after.dtype, after.weak_type):
        value = convert_element_type(value, after.dtype, weak_type=after.weak_type)
    return reshard_like(vary(value, after.vma), after)


def converting(closed: ClosedJaxpr, wanted: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return a program whose results are converted to the given types."""
    same = closed.out_avals == list(wanted)
    return closed if same else closed.remember(_converting, tuple(wanted))


def _converting(closed: ClosedJaxpr, wanted: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    def run(*args: Any) -> list[Any]:
        outs = eval_jaxpr(closed.jaxpr, closed.jaxpr.constvars and args[:count], *args[count:])
        return [
            convert_to(out, before, after)
            for out, before, after in zip(outs, closed.out_avals, wanted, strict=True)
        ]

    count = len(closed.consts)
    const_avals = [var.aval for var in closed.jaxpr.constvars]

    program = trace_flat(run, [*const_avals, *closed.in_avals], name=closed.jaxpr.name)
    assert not program.consts, "the constants are arguments here"
    invars = program.jaxpr.invars
    return ClosedJaxpr(
        program.jaxpr.replace(constvars=invars[:count], invars=invars[count:]), closed.consts
    )


def yielding(before: ShapedArray, after: ShapedArray) -> ShapedArray | None:
    """Return the type that a carry is to begin with, or None where none will do."""
    explicit_sharding = before.explicit_sharding or after.explicit_sharding
    if before.shape != after.shape or after.explicit_sharding not in (None, explicit_sharding):
        return None
    vma = before.vma | after.vma
    before = before.update(explicit_sharding=explicit_sharding)
    if before.dtype == after.dtype:
        return before.update(weak_type=before.weak_type and after.weak_type, vma=vma)
    if not before.weak_type:
        return None
    dtype, _ = dtypes.lattice_result_type(
        (before.dtype, before.weak_type), (after.dtype, after.weak_type)
    )
    return before.update(dtype=dtype, weak_type=False, vma=vma) if dtype == after.dtype else None


def settle_carry(
    body: LoopBody,
    structure: Any,
    avals: Sequence[ShapedArray],
    results: Callable[[list[ShapedArray]], Sequence[ShapedArray]],
) -> list[ShapedArray]:
    """Return the types of a carry that the body gives back as it gets them.

    Args:
      body: the loop's body.
      structure: the structure of the carry.
      avals: the types of the first carry.
      results: traces the body for given carry types and returns those that come out.

    Raises:
      CarryTypeError: a leaf comes out as another type.
    """
    current = list(avals)
    while True:
        after = results(current)
        settled = [yielding(a, b) for a, b in zip(current, after, strict=True)]
        # What does not fit may fit once another leaf, which it is made of, has another type.
        nearer = [new or old for new, old in zip(settled, current, strict=True)]
        if nearer == current:
            break
        current = nearer
    for leaf, aval in enumerate(settled):
        if aval is None:
            path = body.path(physical.leaf_paths(structure)[leaf])
            raise _type_error(body.loop, path, current[leaf], after[leaf])
    return current


def _type_error(loop: str, path: str, before: ShapedArray, after: ShapedArray) -> CarryTypeError:
    if before.ndim == after.ndim and before.shape != after.shape:
        instead = (
            "a carry has one shape in all turns: begin with room for all that it will hold, and "
            "write a part of it in each turn with .at[i].set(...)",
            "or return the parts as results of their own: scan stacks them"
            if loop == "scan"
            else f"or return shape {before.shape} from the body",
        )
    elif before.shape != after.shape:
        fits = after.shape[len(after.shape) - before.ndim :] == before.shape
        begin = f": jnp.broadcast_to({path}, {after.shape})" if fits else ""
        instead = (
            f"begin with shape {after.shape}{begin}",
            f"or return shape {before.shape} from the body",
        )
    elif before.explicit_sharding != after.explicit_sharding and before.dtype == after.dtype:
        spec = before.sharding.spec
        instead = (
            f"divide it as it came before returning it: jxkernel.sharding.reshard({path}, {spec})",
        )
    else:
        instead = (
            f"convert what the body returns: {path}.astype('{before.dtype.name}')",
            f"or begin with that type: jnp.asarray({path}, '{after.dtype.name}')",
        )
    return CarryTypeError(
        loop, path, before.short(), after.short(), instead=instead, **place_in_source()
    )


def check_carry_structure(body: LoopBody, expected: Any, found: Any) -> None:
    """Check that the body gives back a carry of the structure it gets.

    Args:
      body: the loop's body.
      expected: the structure of the first carry.
      found: the structure of what the body returned.

    Raises:
      CarryTypeError: they differ; the message says where.
    """
    if expected == found:
        return
    mismatch = physical.structure_mismatch(expected, found)
    before, after = (
        "one value" if kind == "a leaf" else kind for kind in (mismatch.expected, mismatch.found)
    )
    raise CarryTypeError(
        body.loop,
        body.path(mismatch.path),
        before,
        after,
        instead=(
            f"return {before} from the body: what it got, each part with its new value",
            *([] if after == "None" else [f"or begin with {after}"]),
        ),
        **place_in_source(),
    )

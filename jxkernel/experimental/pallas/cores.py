"""``kernel``: a function of references, run on each core of a mesh of cores.

Cores are taken one after the other here, as the steps of a grid are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Protocol

from jxkernel import tree
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import extend_axes
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import place_in_source
from jxkernel.errors import KernelError
from jxkernel.experimental.pallas.bodies import run_scoped
from jxkernel.experimental.pallas.grids import program_id
from jxkernel.experimental.pallas.kernels import pallas_call
from jxkernel.higher_order.references import Ref
from jxkernel.records import record

__all__ = ["kernel"]


class Mesh(Protocol):
    """Cores, along axes that have names."""

    @property
    def shape(self) -> Mapping[str, int]:
        """The sizes of the axes, by their names."""
        ...


@filtered
def kernel(
    body: Callable[..., None] | Sequence[Callable[..., None]] | None = None,
    out_type: Any = (),
    *,
    mesh: Mesh | Sequence[Mesh],
    scratch_types: Any = (),
    compiler_params: Any = None,
    interpret: Any = False,
    cost_estimate: Any = None,
    debug: bool = False,
    name: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Any:
    """Return a function of arrays that runs a function of references on each core of a mesh.

    Args:
      body: gets references to the whole arguments, to the results, then to scratch memory, and
        returns None; ``lax.axis_index(name)`` says on which core it is.  Without it a decorator is
        returned.  Several, with as many meshes, run one after the other.
      out_type: a tree of what has a shape and a dtype: the results.  Of a tuple or list the body
        gets one argument for each entry.
      mesh: the cores, such as ``pltpu.TensorCoreMesh(axis_name="core", num_cores=2)``.
      scratch_types: types of memory that each core has for itself: a tree of them, or a dict of the
        body's keywords.
      compiler_params: taken and not used.
      interpret: taken as true.
      cost_estimate: taken and not used.
      debug: whether to print the program.
      name: what jaxprs call it; the body's name where not given.
      metadata: taken and not used.

    Returns:
      a function of arrays and references (positional, trees of them) that returns arrays like
      ``out_type``.  To a reference the body may write.  Elements that no core writes are undefined:
      NaN, the least integer, or False.  Derivatives are those of what was computed.

    Raises:
      KernelError: there are not as many meshes as bodies; a body returns something or closes over
        arrays.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental import pallas as pl
    >>> from jxkernel.experimental.pallas import tpu as pltpu
    >>> x = jnp.arange(4.0)
    >>> @pl.kernel(out_type=x, mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=2))
    ... def doubled(x_ref, o_ref):
    ...     half = pl.ds(jx.lax.axis_index("core") * 2, 2)
    ...     o_ref[half] = x_ref[half] * 2
    >>> doubled(x).tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    if body is None:
        given = {"out_type": out_type, "mesh": mesh, "scratch_types": scratch_types}
        return partial(kernel, **given, debug=debug, name=name)
    bodies: list[Any] = list(body) if isinstance(body, list | tuple) else [body]
    meshes: list[Any] = list(mesh) if isinstance(mesh, list | tuple) else [mesh]
    if len(bodies) != len(meshes):
        raise KernelError(
            f"kernel got {len(bodies)} bodies and {len(meshes)} meshes: each body has its mesh.",
            **place_in_source(),
        )
    for one in bodies:
        check_callable("kernel", "body", one)
    runs = [
        _Run(_on_cores(one, cores, scratch_types), cores, name or function_name(one), debug)
        for one, cores in zip(bodies, meshes, strict=True)
    ]

    known: dict[_Layout, list[Any]] = {}

    @wraps(bodies[0])
    @filtered
    def wrapped(*args: Any) -> Any:
        return _run_all(runs, known, args, out_type)

    return wrapped


def _on_cores(body: Callable[..., None], mesh: Mesh, scratch_types: Any) -> Callable[..., None]:
    """Return a body as a kernel of a grid whose axes are those of a mesh."""
    axes: list[tuple[Hashable, int]] = list(mesh.shape.items())
    named = scratch_types if isinstance(scratch_types, dict) else {}
    listed = () if named else scratch_types
    rest = tuple(listed) if isinstance(listed, list | tuple) else (listed,)

    @wraps(body)
    def on_core(*refs: Any) -> Any:
        indices: dict[Hashable, Any] = {
            name: partial(program_id, at) for at, (name, _) in enumerate(axes)
        }
        with extend_axes(axes, indices=indices):
            return run_scoped(partial(body, *refs), *rest, **named)

    return on_core


@record(eq=False)
class _Run:
    """A body on the cores of a mesh.

    Attributes:
      body: the body, as a kernel of a grid.
      mesh: the mesh.
      name: what it is called.
      debug: whether to print its program.
    """

    body: Callable[..., None]
    mesh: Mesh
    name: str
    debug: bool

    def call(self, layout: _Layout, begun: int) -> Callable[..., Any]:
        """Return what takes arrays, and those that results begin as, and returns the results.

        Args:
          layout: how the references are arranged for the body.
          begun: how many results begin as arrays.
        """
        count = layout.structure.num_leaves - len(layout.refs)

        @wraps(self.body)
        def flat(*given: Any) -> None:
            arrays, written = iter(given[:count]), given[count + begun :]
            lent = iter(written)
            ins = [
                next(lent if at in layout.refs else arrays)
                for at in range(layout.structure.num_leaves)
            ]
            outs = layout.out_tree.unflatten(written[len(layout.refs) :])
            outs = outs if isinstance(outs, tuple) else (outs,)
            return self.body(*layout.structure.unflatten(ins), *outs)

        return pallas_call(
            flat,
            layout.types,
            grid=tuple(self.mesh.shape.values()),
            input_output_aliases={count + at: at for at in range(begun)},
            debug=self.debug,
            name=self.name,
        )


@record()
class _Layout:
    """How the references are arranged that a body gets.

    Attributes:
      structure: of the arguments.
      out_tree: of the results.
      refs: which leaves of the arguments are references themselves.
      types: of what is written: of those references, then of the results.
    """

    structure: Any
    out_tree: Any
    refs: tuple[int, ...]
    types: tuple[ShapedArray, ...]


def _run_all(
    runs: Sequence[_Run], known: dict[_Layout, list[Any]], args: tuple[Any, ...], out_type: Any
) -> Any:
    """Run bodies one after the other, and write to the references among the arguments.

    Args:
      runs: the bodies.
      known: what was made for layouts.
      args: the arguments.
      out_type: the types of the results.
    """
    leaves, structure = tree.flatten(args)
    refs = tuple([at for at, leaf in enumerate(leaves) if isinstance(leaf, Ref)])
    arrays = [leaf for leaf in leaves if not isinstance(leaf, Ref)]
    outs, out_tree = tree.flatten(_listed(out_type), is_leaf=_has_type)
    begun = [leaves[at].read() for at in refs]
    types = tuple([ShapedArray(tuple(x.shape), x.dtype) for x in [*begun, *outs]])
    layout = _Layout(structure, out_tree, refs, types)
    calls = known.get(layout)
    if calls is None:
        counts = [len(refs), *[len(types)] * (len(runs) - 1)]
        calls = [run.call(layout, count) for run, count in zip(runs, counts, strict=True)]
        known[layout] = calls
    for call in calls:
        begun = call(*arrays, *begun)
    for at, value in zip(refs, begun, strict=False):
        leaves[at].write(value)
    return out_tree.unflatten(begun[len(refs) :])


def _listed(out_type: Any) -> Any:
    return tuple(out_type) if isinstance(out_type, list) else out_type


def _has_type(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")

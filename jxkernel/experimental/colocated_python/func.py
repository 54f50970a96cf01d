"""Functions and objects beside devices.

A process here holds the devices that it computes on, so beside them is where it is: a function is
called as it is, once its arguments are known to be arrays on devices of one kind of call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from jxkernel import runtime, tree
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable
from jxkernel.compile.shape_dtype import ShapeDtypeStruct
from jxkernel.config import default_device
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import Tracer
from jxkernel.records import record
from jxkernel.runtime import Array
from jxkernel.sharding import Mesh

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]


@filtered
def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """Return the CPU devices beside devices, in their order, or a mesh of them.

    Args:
      devices_or_mesh: devices of this process, or a ``Mesh`` of them.  Those of CPUs are their own.

    Raises:
      ValueError: one is of another process, or there are fewer CPU devices than accelerators.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental import colocated_python as beside
    >>> beside.colocated_cpu_devices(jx.devices("cpu")) == jx.devices("cpu")
    True
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        found = [_beside(device) for device in mesh.devices.flat]
        arranged = mesh.devices.copy()
        arranged.flat = found
        return Mesh(arranged, mesh.axis_names, axis_types=mesh.axis_types)
    return type(devices_or_mesh)([_beside(device) for device in devices_or_mesh])


def _beside(device: Any) -> Any:
    if device.platform == "cpu":
        return device
    if device.process_index != runtime.process_index():
        raise ValueError(
            f"colocated_cpu_devices got {device} of process {device.process_index}, which has CPU "
            "devices of its own: ask there"
        )
    own = runtime.local_devices(backend="cpu")
    place = runtime.local_devices(backend=device.platform).index(device)
    if place >= len(own):
        raise ValueError(
            f"colocated_cpu_devices got {device}, and there are {len(own)} CPU devices: "
            f"config.update('jax_num_cpu_devices', {place + 1}) before the first array"
        )
    return own[place]


@record(eq=False)
class _Specialization:
    """What a function is to be called with.

    Attributes:
      in_specs: the types of ``(args, kwargs)``, a tree; None for any.
      out_specs_fn: from such trees, as arguments, to the types of results; None for any.
      devices: where the arguments lie; None for anywhere.
    """

    in_specs: Any = None
    out_specs_fn: Callable[..., Any] | None = None
    devices: tuple[Any, ...] | None = None

    def check_arguments(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Check the arguments, and return the device that is the default while they are used.

        Raises:
          TypeError: one is no array.
          ValueError: one has another type or lies elsewhere, or nothing says where to run.
        """
        leaves = tree.leaves((args, kwargs))
        for path, leaf in tree.leaves_with_path((args, kwargs)):
            _check_array(f"{name} takes arrays", f"(args, kwargs){tree.keystr(path)}", leaf)
        if self.in_specs is not None:
            _check_like(f"the arguments of {name}", (args, kwargs), self.in_specs)
        found = {device for leaf in leaves for device in leaf.sharding.device_set}
        if self.devices is not None and not found <= set(self.devices):
            raise ValueError(
                f"{name} is specialized for {list(self.devices)}, and its arguments lie on "
                f"{sorted(found, key=str)}: put them there with device_put"
            )
        if not found and not self.devices:
            raise ValueError(
                f"{name} has no arguments that say where it runs: {name}.specialize(devices=...)"
            )
        return self.devices[0] if self.devices else min(found, key=lambda one: one.id)

    def check_result(self, name: str, result: Any, args: Any, kwargs: Any) -> None:
        """Check the result.

        Raises:
          TypeError: a leaf is no array.
          ValueError: a leaf has another type.
        """
        for path, leaf in tree.leaves_with_path(result):
            _check_array(f"{name} gives arrays", f"result{tree.keystr(path)}", leaf)
        if self.out_specs_fn is not None:
            given, named = tree.map(_spec, (args, kwargs))
            _check_like(f"the results of {name}", result, self.out_specs_fn(*given, **named))


def _spec(leaf: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding)


def _check_array(who: str, path: str, leaf: Any) -> None:
    if isinstance(leaf, Tracer):
        raise TypeError(
            f"{who}, and {path} is traced: jxkernel.pure_callback calls Python from a program"
        )
    if not isinstance(leaf, Array):
        raise TypeError(
            f"{who}, and {path} is {with_type(leaf)}: jnp.asarray makes "
            "one, device_put on a device of your choice"
        )


def _check_like(who: str, given: Any, specs: Any) -> None:
    if tree.structure(given) != tree.structure(specs):
        raise ValueError(
            f"{who} are arranged as {tree.structure(given)}, and specialized for "
            f"{tree.structure(specs)}"
        )
    pairs = zip(tree.leaves_with_path(given), tree.leaves(specs), strict=True)
    for (path, leaf), spec in pairs:
        wanted = getattr(spec, "sharding", None)
        elsewhere = wanted is not None and not leaf.sharding.is_equivalent_to(wanted, leaf.ndim)
        if leaf.shape != tuple(spec.shape) or leaf.dtype != spec.dtype or elsewhere:
            raise ValueError(
                f"{who} have {leaf.aval.short()} on {leaf.sharding} at {tree.keystr(path)}, and "
                f"are specialized for {spec}"
            )


@filtered
def colocated_python(fun: Callable[..., Any]) -> Any:
    """Return a function of arrays that calls a Python function beside the devices they lie on.

    Args:
      fun: takes and returns trees of arrays; what it reads on the host it reads here.

    Returns:
      the function.  It is called at once, with the arrays themselves; arrays that it makes lie on
      the first of the devices.  ``specialize(in_specs=..., out_specs_fn=..., devices=...)`` gives
      another that is held to types of arguments (a tree like ``(args, kwargs)``), to types of
      results (a function of these types) and to devices; without arguments it needs ``devices``.

    Raises:
      TypeError: an argument or result is no array, or is traced.
      ValueError: one is not what the function is specialized for.

    It has no derivative: ``jit`` and other transforms do not go through Python.

    Source: docs.jax.dev, "Colocated Python".

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental.colocated_python import colocated_python
    >>> @colocated_python
    ... def largest(x):
    ...     return jnp.asarray(max(x.tolist()))
    >>> largest(jnp.arange(3)).item()
    2
    """
    check_callable("colocated_python", "fun", fun)
    return _specialized(fun, _Specialization())


def _specialized(fun: Callable[..., Any], held_to: _Specialization) -> Any:
    name = function_name(fun)

    @wraps(fun)
    @filtered
    def call(*args: Any, **kwargs: Any) -> Any:
        device = held_to.check_arguments(name, args, kwargs)
        with default_device(device):
            result = fun(*args, **kwargs)
        held_to.check_result(name, result, args, kwargs)
        return result

    def specialize(
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        devices: Sequence[Any] | None = None,
    ) -> Any:
        """Return a function that is held to types and devices; what is not given stays."""
        chosen = held_to.devices if devices is None else tuple(devices)
        return _specialized(
            fun,
            _Specialization(
                held_to.in_specs if in_specs is None else in_specs,
                out_specs_fn or held_to.out_specs_fn,
                chosen,
            ),
        )

    call.specialize = specialize  # type: ignore[attr-defined]  # a function takes attributes
    return call


@filtered
def colocated_python_class(cls: type) -> type:
    """Return a class whose objects live beside the devices of what their methods are called with.

    Args:
      cls: the class.

    Returns:
      a class of the same name.  Its constructor remembers its arguments; the object is made when a
      method is first called, which takes and returns arrays as ``colocated_python`` has it, and
      lives as long as the instance.  Attributes of the object are not seen.

    Raises:
      TypeError: ``cls`` is no class.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental.colocated_python import colocated_python_class
    >>> @colocated_python_class
    ... class Counter:
    ...     def __init__(self, start):
    ...         self.count = start
    ...     def add(self, x):
    ...         self.count += x.item()
    ...         return jnp.asarray(self.count)
    >>> counter = Counter(5)
    >>> counter.add(jnp.asarray(2)).item(), counter.add(jnp.asarray(1)).item()
    (7, 8)
    """
    if not isinstance(cls, type):
        raise TypeError(f"colocated_python_class takes a class, got {cls!r:.60}")
    members = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    methods = {name: _method(name) for name in dir(cls) if _is_method(cls, name)}
    return type(cls.__name__, (_Beside,), {**members, **methods, "_made_of": cls})


class _Beside:
    """An object that is made when one of its methods is first called."""

    _made_of: type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._given = args, kwargs
        self._object: Any = None

    def _own(self) -> Any:
        """Return the object, made now if it was not."""
        if self._object is None:
            args, kwargs = self._given
            self._object = self._made_of(*args, **kwargs)
        return self._object


def _is_method(cls: type, name: str) -> bool:
    special = name.startswith("__") and name != "__call__"
    return not special and callable(getattr(cls, name)) and name not in vars(_Beside)


def _method(name: str) -> Callable[..., Any]:
    def method(self: _Beside, *args: Any, **kwargs: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._own(), name)(*args, **kwargs)

        run.__name__ = name
        return _specialized(run, _Specialization())(*args, **kwargs)

    method.__name__ = name
    return method

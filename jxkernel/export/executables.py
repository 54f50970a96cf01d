"""Compiled functions as bytes, for processes that run them without tracing, lowering or compiling.

The bytes hold XLA's machine code, the constants, and the types and shardings of arguments and
results.  Structures of arguments and results stay beside them, for they may name classes.  Code is
for one kind of processor, one jaxlib and devices of given numbers; all of it is checked before XLA
reads any of it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._jaxlib import DeviceList, JaxRuntimeError, instruction_set, version_text
from jxkernel.compile.executable import Executable
from jxkernel.compile.placement import Placement, devices_of
from jxkernel.compile.stages import Compiled, LowerOptions, Traced
from jxkernel.core.avals import ShapedArray
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var
from jxkernel.core.primitive import Primitive
from jxkernel.export.devices import read_sharding, written_sharding
from jxkernel.export.format import EXECUTABLE, packed, unpacked
from jxkernel.lowering import LoweredProgram
from jxkernel.runtime import devices, place
from jxkernel.runtime.lapack import prepare_lapack
from jxkernel.sharding import Mesh, NamedSharding
from jxkernel.tree import PyTreeDef, physical

__all__ = ["deserialize_and_load", "serialize"]


class Loaded:
    """What was loaded; the parameter of the one equation that stands for its program.

    Attributes:
      name: the function's name.
      executable: what runs.
      kept: which of the flat arguments it reads.
    """

    __slots__ = ("executable", "kept", "name")

    def __init__(self, name: str, kept: Sequence[int]) -> None:
        self.name = name
        self.kept = kept
        self.executable: Executable | None = None

    def __repr__(self) -> str:
        return self.name

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Run it on its constants and those flat arguments that it reads."""
        assert self.executable is not None, "it is set as soon as the executable is made"
        flat: list[Any] = [None] * len(self.executable.in_avals)
        read = values[len(self.executable.constants) :]
        for index, value in zip(self.kept, read, strict=True):
            flat[index] = value
        return self.executable.call(flat)


loaded_p = Primitive("loaded", multiple_results=True)


def _loaded_evaluate(*values: Any, program: Loaded) -> list[Any]:
    return program.run(values)


loaded_p.define(evaluate=_loaded_evaluate)


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """Return a compiled function as bytes, and the structures of its arguments and its result.

    Args:
      compiled: what ``jit(f).lower(...).compile()`` returned.

    Returns:
      (bytes, structure of ``(args, kwargs)``, structure of the result), as
      ``deserialize_and_load`` takes them.  Structures can be pickled where their classes can.

    Raises:
      TypeError: it is no compiled function.
      ValueError: it needs something of its process (callbacks, effects, references), takes or gives
        random keys, is divided over devices of several processes, has a sharding that names a kind
        of memory or puts a sum off, or was itself loaded from bytes.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental import serialize_executable
    >>> compiled = jx.jit(lambda x: x * 2.0).lower(1.0).compile()
    >>> written = serialize_executable.serialize(compiled)
    >>> float(serialize_executable.deserialize_and_load(*written)(3.0))
    6.0
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            "serialize takes a compiled function, jit(f).lower(...).compile(), got "
            f"{compiled!r:.100}"
        )
    executable, traced = compiled._executable, compiled._traced
    _check_leaves_process(executable, traced)
    where = devices_of(executable.placement or executable.device)
    consts = [np.asarray(const) for const in executable.constants]
    lies = [const.sharding for const in executable.constants]
    names = traced.options.names
    header = {
        "fun_name": traced.fun_name,
        "platform": where[0].platform,
        "platform_version": where[0].client.platform_version,
        "instructions": _digest(instruction_set(where)),
        "devices": [device.id for device in where],
        "divided": executable.placement is not None,
        "bound": traced.options.device is not None,
        "donated": list(traced.options.donated),
        "names": None if names is None else list(names()),
        "kept": list(executable.kept_args),
        "fingerprint": executable.fingerprint,
        "in_avals": [_written_aval(aval) for aval in executable.in_avals],
        "out_avals": [_written_aval(aval) for aval in executable.out_avals],
        "in_shardings": [_written_over(one) for one in executable.in_shardings],
        "out_shardings": [_written_over(one) for one in executable.out_shardings],
        "consts": [
            [const.dtype.name, list(const.shape), _written_over(one)]
            for const, one in zip(consts, lies, strict=True)
        ],
    }
    sections = [np.ascontiguousarray(const).tobytes() for const in consts]
    blob = packed(header, [executable.serialized(), *sections], EXECUTABLE)
    return bytes(blob), compiled.in_tree, compiled.out_tree


def _check_leaves_process(executable: Executable, traced: Traced) -> None:
    """Check that a compiled function is complete without its process.

    Raises:
      ValueError: it is not.
    """
    why = ""
    if traced.outside is not None:
        why = "it takes references or closes over some, which stay in this process"
    elif executable.lowered.module is None:
        why = "it was itself loaded from bytes: keep those"
    elif executable.needs_python or traced.program.effects:
        why = "it calls back into this Python process (a callback, or debug.print)"
    elif _has_keys(traced.in_structure) or _has_keys(traced.out_structure):
        why = (
            "it takes or gives random keys: let the function take random.key_data(key), and call "
            "random.wrap_key_data in it"
        )
    elif executable.placement is not None and executable.placement.mesh.is_multi_process:
        why = "it is divided over devices of several processes"
    elif any(not _can_be_written(one) for one in _shardings_of(executable)):
        why = "a sharding of it names a kind of memory, or puts a sum off (unreduced, reduced)"
    if why:
        raise ValueError(f"{traced.fun_name} cannot be serialized: {why}")


def _has_keys(structure: PyTreeDef) -> bool:
    return physical.logical(structure).num_nodes != structure.num_nodes


def _shardings_of(executable: Executable) -> list[NamedSharding]:
    if executable.placement is None:
        return []
    typed = [aval.explicit_sharding for aval in (*executable.in_avals, *executable.out_avals)]
    given = [*executable.in_shardings, *executable.out_shardings, *typed]
    return [one for one in given if one is not None]


def _can_be_written(sharding: NamedSharding) -> bool:
    return sharding.memory_kind in (None, "device") and not sharding.spec.puts_off


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _written_over(sharding: object) -> list[Any] | None:
    """Return a sharding as plain data, without its devices; None for one device."""
    if not isinstance(sharding, NamedSharding):
        return None
    return written_sharding(NamedSharding(sharding.mesh.abstract_mesh, sharding.spec))


def _written_aval(aval: ShapedArray) -> list[Any]:
    name = "float0" if aval.dtype == dtypes.float0 else aval.dtype.name
    return [name, list(aval.shape), aval.weak_type, written_sharding(aval.explicit_sharding)]


def _read_aval(written: Sequence[Any]) -> ShapedArray:
    name, shape, weak_type, sharding = written
    dtype = dtypes.float0 if name == "float0" else dtypes.as_dtype(name)
    return ShapedArray(tuple(shape), dtype, weak_type, explicit_sharding=read_sharding(sharding))


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: object = None,
    execution_devices: Sequence[Any] | None = None,
) -> Compiled:
    """Return the compiled function that ``serialize`` wrote, ready to run.

    Nothing is traced, lowered or compiled.  The bytes hold machine code, which runs when the
    function is called: load only bytes of people whom you would let run programs here.

    Args:
      serialized: the bytes.
      in_tree: the structure of ``(args, kwargs)`` that came with them.
      out_tree: the structure of the result that came with them.
      backend: the platform, or the client, whose devices it runs on; by default its own platform.
      execution_devices: the devices that it runs on, which must be those that it was compiled for;
        by default the devices of these numbers.

    Returns:
      the function, which takes arguments of the types and structure that it was compiled for.

    Raises:
      ValueError: these are not such bytes, they are damaged, they were written on another jaxlib or
        for a processor of other features, their devices are not here or not those that were given,
        or a structure has another number of leaves.
    """
    header, (code, *sections) = unpacked(serialized, EXECUTABLE)
    where = _devices_for(header, backend, execution_devices)
    _check_platform(header, where)
    trees = (physical.of_logical(in_tree), physical.of_logical(out_tree))
    for tree, avals, what in zip(trees, ("in_avals", "out_avals"), ("in", "out"), strict=True):
        if tree.num_leaves != len(header[avals]):
            raise ValueError(
                f"{what}_tree has {tree.num_leaves} leaves, and {header['fun_name']} was compiled "
                f"with {len(header[avals])}: give the structures that serialize returned with it"
            )
    if b"lapack_" in code and where[0].platform == "cpu":
        prepare_lapack()
    try:
        xla = where[0].client.deserialize_executable(code, DeviceList(where), None)
    except JaxRuntimeError as error:
        raise ValueError(f"XLA cannot load {header['fun_name']}: {error}") from error
    return _compiled(header, xla, where, trees, sections)


def _devices_for(
    header: dict[str, Any], backend: Any, wanted: Sequence[Any] | None
) -> tuple[Any, ...]:
    """Return the devices that an executable runs on.

    Raises:
      ValueError: they are not here, or not those that are wanted.
    """
    name, numbers = header["fun_name"], header["devices"]
    if backend is None or isinstance(backend, str):
        there = devices(backend or header["platform"])
    else:
        there = backend.devices()
    by_number = {device.id: device for device in there}
    missing = [number for number in numbers if number not in by_number]
    if missing:
        raise ValueError(
            f"{name} was compiled for the {header['platform']} devices {numbers}, and there are "
            f"none of the numbers {missing}: compile it here"
        )
    found = tuple([by_number[number] for number in numbers])
    if wanted is not None and tuple(wanted) != found:
        raise ValueError(
            f"{name} was compiled for the {header['platform']} devices {numbers} and runs on no "
            f"others; execution_devices has {[device.id for device in wanted]}"
        )
    return found


def _check_platform(header: dict[str, Any], where: Sequence[Any]) -> None:
    """Check that code may run here.

    Raises:
      ValueError: it was made by another jaxlib, or for another platform or processor.
    """
    here = {
        "jaxlib": version_text,
        "platform": where[0].platform,
        "platform_version": where[0].client.platform_version,
        "instructions": _digest(instruction_set(where)),
    }
    what = {
        "jaxlib": "jaxlib",
        "platform": "the platform",
        "platform_version": "the platform's version",
        "instructions": "a processor with the features",
    }
    for part, value in here.items():
        if header[part] != value:
            raise ValueError(
                f"{header['fun_name']} was compiled for {what[part]} {header[part]!r}, and here is "
                f"{value!r}: compile it here, or export the function, which runs on any"
            )


def _compiled(
    header: dict[str, Any],
    xla: Any,
    where: tuple[Any, ...],
    trees: tuple[PyTreeDef, PyTreeDef],
    sections: Sequence[bytes],
) -> Compiled:
    def over(written: list[Any] | None) -> NamedSharding | None:
        return _over(read_sharding(written), where)

    consts = [
        _read_const(section, written[0], written[1], over(written[2]))
        for section, written in zip(sections, header["consts"], strict=True)
    ]
    name, kept = header["fun_name"], header["kept"]
    loaded = Loaded(name, kept)
    closed = _standing_for(loaded, consts, header)
    target: Any = where[0]
    if header["divided"]:
        ins = tuple([over(written) for written in header["in_shardings"]])
        outs = tuple([over(written) for written in header["out_shardings"]])
        mesh = next(one.mesh for one in (*ins, *outs) if one is not None)
        target = Placement(mesh, ins, outs)
    taken = (*range(len(consts)), *[len(consts) + index for index in kept])
    lowered = LoweredProgram(None, name, taken, where[0].platform)
    executable = Executable(xla, lowered, closed, target, fingerprint=header["fingerprint"])
    loaded.executable = executable
    names: list[str] | None = header["names"]
    options = LowerOptions(
        donated=tuple(header["donated"]),
        device=where[0] if header["bound"] else None,
        names=None if names is None else lambda: names,
        results=target.out_shardings if type(target) is Placement else None,
    )
    return Compiled(Traced(closed, name, *trees, options), executable)


def _over(sharding: NamedSharding | None, where: tuple[Any, ...]) -> NamedSharding | None:
    """Return a sharding over a mesh without devices over given ones."""
    if sharding is None:
        return None
    mesh = sharding.mesh
    array = np.empty(len(where), dtype=object)
    array[:] = where
    there = Mesh(array.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    return NamedSharding(there, sharding.spec)


def _read_const(
    content: bytes, name: str, shape: Sequence[int], sharding: NamedSharding | None
) -> Any:
    const = np.frombuffer(content, dtypes.as_dtype(name)).reshape(shape)
    return const if sharding is None else place(const, sharding)


def _standing_for(loaded: Loaded, consts: Sequence[Any], header: dict[str, Any]) -> ClosedJaxpr:
    """Return a program of one equation that stands for an executable."""
    constvars = [
        Var(ShapedArray(tuple(shape), dtypes.as_dtype(name))) for name, shape, _ in header["consts"]
    ]
    invars = [Var(_read_aval(written)) for written in header["in_avals"]]
    outvars = [Var(_read_aval(written)) for written in header["out_avals"]]
    read: list[Var | Literal] = [*constvars, *[invars[index] for index in loaded.kept]]
    eqn = Eqn(read, outvars, loaded_p, {"program": loaded})
    return ClosedJaxpr(Jaxpr(constvars, invars, outvars, [eqn], name=loaded.name), consts)

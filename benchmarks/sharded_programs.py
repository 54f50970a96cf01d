"""Programs over many devices, compiled and not run: ``python -m benchmarks.sharded_programs``.

With a program's name and a number of devices it prints, as JSON, what compiling it cost.
"""

import json
import re
import resource
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np

from benchmarks.library import Library, load

__all__ = ["PROGRAMS", "Program", "cost"]

_COLLECTIVE = re.compile(
    r" (all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute)(?:-start)?\("
)
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)
_OPERATION = re.compile(r'^\s*(?:%\S+(?::\d+)? = )?"?(?:stablehlo|sdy|chlo|func)\.', re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program that is compiled for many numbers of devices.

    Attributes:
      name: how the command calls it.
      title: its heading.
      about: a sentence on what it does.
      make: makes, for a library and devices, the jitted function and its arguments.
    """

    name: str
    title: str
    about: str
    make: Callable[[Library, Sequence[Any]], tuple[Any, tuple[Any, ...]]]


def _shape(library: Library, *sizes: int) -> Any:
    return library.api.ShapeDtypeStruct(sizes, np.dtype(np.float32))


def _line(library: Library, devices: Sequence[Any]) -> Any:
    """Return a mesh of one axis, x."""
    return library.sharding.Mesh(np.array(devices), ("x",))


def _over(library: Library, mesh: Any, *entries: Any) -> Any:
    return library.sharding.NamedSharding(mesh, library.sharding.PartitionSpec(*entries))


def _training_step(library: Library, devices: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    jnp, api, mesh = library.numpy, library.api, _line(library, devices)

    def loss(layers: Any, x: Any, y: Any) -> Any:
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return jnp.mean((x @ w + b - y) ** 2)

    def step(layers: Any, x: Any, y: Any) -> Any:
        gradients = api.grad(loss)(layers, x, y)
        return api.tree.map(lambda p, g: p - 0.1 * g, layers, gradients)

    sizes = (256, 512, 512, 512, 64)
    layers = [(_shape(library, n, m), _shape(library, m)) for n, m in pairwise(sizes)]
    data = _shape(library, 4096, 256), _shape(library, 4096, 64)
    whole, rows = _over(library, mesh), _over(library, mesh, "x")
    function = api.jit(step, in_shardings=(whole, rows, rows), out_shardings=whole)
    return function, (layers, *data)


def _products(library: Library, devices: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    jnp, mesh = library.numpy, _line(library, devices)

    def chain(x: Any, weights: Any) -> Any:
        for up, down in weights:
            x = jnp.maximum(x @ up, 0) @ down
        return x

    weights = [(_shape(library, 512, 2048), _shape(library, 2048, 512))] * 4
    columns, rows = _over(library, mesh, None, "x"), _over(library, mesh, "x")
    whole = _over(library, mesh)
    shardings = (whole, [(columns, rows)] * 4)
    function = library.api.jit(chain, in_shardings=shardings, out_shardings=whole)
    return function, (_shape(library, 256, 512), weights)


def _exchange(library: Library, devices: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    spec, columns = (library.sharding.PartitionSpec(*entries) for entries in ("x", (None, "x")))
    lax = library.lax  # loaded here: at its first use the trace would load it

    def local(x: Any) -> Any:
        return lax.all_to_all(x, "x", 1, 0, tiled=True)

    function = library.api.jit(
        library.api.shard_map(local, mesh=_line(library, devices), in_specs=spec, out_specs=columns)
    )
    return function, (_shape(library, 1024, 1024),)


def _staged_exchange(library: Library, devices: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The same over a mesh of two axes a and b: first along b, then along a."""
    lax, spec = library.lax, library.sharding.PartitionSpec
    power = (len(devices).bit_length() - 1) // 2
    sizes = (2**power, len(devices) // 2**power)
    mesh = library.sharding.Mesh(np.array(devices).reshape(sizes), ("a", "b"))

    def local(x: Any) -> Any:
        rows, columns = x.shape
        parts = x.reshape(rows, *sizes, columns // len(devices))
        parts = lax.all_to_all(parts, "b", 2, 0)
        parts = lax.all_to_all(parts, "a", 2, 0)
        return parts.reshape(rows * len(devices), -1)

    both = ("a", "b")
    function = library.api.jit(
        library.api.shard_map(local, mesh=mesh, in_specs=spec(both), out_specs=spec(None, both))
    )
    return function, (_shape(library, 1024, 1024),)


PROGRAMS = (
    Program(
        "step",
        "A data-parallel training step",
        "A network of four layers (256-512-512-512-64) with its gradient and an update: 4,096 "
        "examples divided over all devices, the weights whole on each.",
        _training_step,
    ),
    Program(
        "products",
        "A chain of sharded products",
        "Four pairs of products with weights of 512 x 2,048, the first of a pair divided by "
        "columns and the second by rows, so that each pair ends in one sum over the devices.",
        _products,
    ),
    Program(
        "exchange",
        "An all-to-all",
        "A matrix of 1,024 x 1,024 divided by rows becomes one divided by columns, in a "
        "`shard_map`.",
        _exchange,
    ),
    Program(
        "staged",
        "An all-to-all in two stages",
        "The same over a mesh of two axes, as square as may be: each device exchanges along one "
        "axis, then along the other.",
        _staged_exchange,
    ),
)


def cost(library: Library, program: Program, count: int) -> dict[str, Any]:
    """Return what tracing, lowering and compiling a program for many devices cost."""
    library.api.config.update("jax_num_cpu_devices", count)
    # What is loaded and cached once is not the program's cost.
    library.api.jit(lambda x: x + 1).lower(1.0).compile()
    function, args = program.make(library, library.api.devices())
    times = [process_time()]
    traced = function.trace(*args)
    times.append(process_time())
    lowered = traced.lower()
    times.append(process_time())
    compiled = lowered.compile()
    times.append(process_time())
    text = compiled.as_text()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "devices": count,
        "traced": times[1] - times[0],
        "lowered": times[2] - times[1],
        "compiled": times[3] - times[2],
        "operations": len(_OPERATION.findall(lowered.as_text())),
        "instructions": len(_INSTRUCTION.findall(text)),
        "collectives": Counter(_COLLECTIVE.findall(text)),
        "text": len(text),
        # Linux counts the peak in KiB, macOS in bytes.
        "memory": peak * (1 if sys.platform == "darwin" else 1024),
    }


def main(name: str, count: int) -> None:
    """Print the cost of one program for one number of devices."""
    (program,) = [each for each in PROGRAMS if each.name == name]
    print(json.dumps(cost(load("jxkernel"), program, count)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

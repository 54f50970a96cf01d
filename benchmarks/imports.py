"""What the alias itself costs the import of a library, without the modules that it loads.

One process imports a library and says which names of the alias that took.  Others have loaded all
of jxkernel that belongs to these names; they ask the alias for the same, and take the time.
"""

import importlib
import json
import sys
from time import process_time
from typing import Any

import jxkernel
from benchmarks.processes import ROOT, Peer, run_module

__all__ = ["GOAL", "LIBRARIES", "measure"]

GOAL = 1e-3
"""Seconds of the alias's own for a library."""

LIBRARIES = ("chex", "equinox", "flax", "haiku", "jaxopt", "jraph", "lineax", "numpyro", "optax")

_LIBRARIES = Peer("jxkernel", str(ROOT / "build/libraries/bin/python"))
_ALIAS = "jax"
_PROCESSES = 5


def measure(library: str) -> tuple[float, float]:
    """Return the least processor time of the alias alone, and of the library's whole import.

    Raises:
      RuntimeError: ``make build/libraries/.all`` has not made the environment of the libraries.
    """
    noted = [json.loads(_run("note", library)) for _ in range(2)]  # the first compiles
    asked = json.dumps(noted[-1]["asked"])
    return min(float(_run("ask", asked)) for _ in range(_PROCESSES)), noted[-1]["seconds"]


def _run(*arguments: str) -> str:
    return run_module(_LIBRARIES, "benchmarks.imports", *arguments).splitlines()[-1]


def _note(library: str) -> dict[str, Any]:
    """Import a library; return its time, and the alias's modules with the names that they gave."""
    began = process_time()
    jxkernel.alias(_ALIAS)
    importlib.import_module(library)
    seconds = process_time() - began
    modules = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == _ALIAS}
    return {
        "seconds": seconds,
        "asked": {
            name: [one for one in vars(module) if not one.startswith("__")]
            if type(module).__module__ == "jxkernel._alias"
            else []
            for name, module in modules.items()
        },
    }


def _ask(asked: dict[str, list[str]]) -> float:
    """Return the processor time of asking the alias for what has all been loaded before."""
    _load(asked)
    began = process_time()
    jxkernel.alias(_ALIAS)
    for module, names in asked.items():
        found = importlib.import_module(module)
        for name in names:
            getattr(found, name)
    return process_time() - began


def _load(asked: dict[str, list[str]]) -> None:
    """Load what is behind names of the alias, by another alias, of which nothing else is kept."""
    with jxkernel.alias("other"):
        for module, names in asked.items():
            found = importlib.import_module(module.replace(_ALIAS, "other", 1))
            for name in names:
                getattr(found, name)
    sys.modules.pop("jxkernel._alias_internals", None)  # the alias's own: it loads its table


if __name__ == "__main__":
    what, about = sys.argv[1:]
    print(json.dumps(_note(about) if what == "note" else _ask(json.loads(about))))

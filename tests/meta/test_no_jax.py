"""`jax` is never imported, wanted or even present: jxkernel stands on jaxlib alone."""

import re
import subprocess
import sys
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.checkout import ROOT, module_name, project, python_files

IMPORT_EVERYTHING = """
import importlib, sys

class Refuse:
    asked = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jax_plugins"):
            self.asked.append(name)
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
import jxkernel
heavy = sorted({"IPython", "comm", "ipywidgets", "plotly", "traitlets"} & sys.modules.keys())
assert not heavy, f"`import jxkernel` imports {heavy}"
for name in sys.argv[1:]:
    importlib.import_module(name)
assert float(jxkernel.jit(jxkernel.grad(lambda x: x * x))(3.0)) == 6.0
assert not Refuse.asked, Refuse.asked
"""


def test_every_module_imports_and_jit_runs_without_jax() -> None:
    names = [module_name(path) for path in python_files("jxkernel")]
    command = [sys.executable, "-W", "error", "-c", IMPORT_EVERYTHING, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def required(requirement: Requirement) -> set[str]:
    """Return the direct requirements of an installed distribution, with the extras asked for."""
    extras = requirement.extras or {""}
    try:
        lines = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:
        return set()
    parsed = [(line, Requirement(line).marker) for line in lines]
    return {
        line
        for line, marker in parsed
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)
    }


def test_nothing_in_the_dependency_tree_is_jax() -> None:
    tables = project()["project"]
    extras = [line for extra in tables["optional-dependencies"].values() for line in extra]
    waiting, seen = {*tables["dependencies"], *extras}, set[str]()
    while waiting:
        seen |= waiting
        waiting = {line for text in waiting for line in required(Requirement(text))} - seen
    names = {canonicalize_name(Requirement(line).name) for line in seen}
    assert {"jaxlib", "ipython", "numpy", "scipy"} <= names
    assert {name for name in names if re.fullmatch("jax|jax-.*", name)} == set()


def test_jax_is_not_installed_beside_the_tests() -> None:
    installed = {canonicalize_name(found.name) for found in metadata.distributions()}
    assert "jaxlib" in installed
    assert "jax" not in installed

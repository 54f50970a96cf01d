"""The wheel: it builds, holds the package and nothing else, and works where it is unpacked."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jxkernel._version import __version__
from tools import sbom
from tools.checkout import PACKAGE, ROOT, project


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.iterdir()
    return path


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"jxkernel-{__version__}-py3-none-any.whl"
    held = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py")}
    assert sources | {"jxkernel/py.typed"} <= held
    information = f"jxkernel-{__version__}.dist-info/"
    shared = f"jxkernel-{__version__}.data/data/share/jupyter/labextensions/jxkernel/"
    known = ("jxkernel/", information, shared)
    assert {name for name in held if not name.startswith(known)} == set()
    # Hatchling says nothing of a folder that is not there.
    built = {name.removeprefix(shared) for name in held if name.startswith(shared)}
    assert {"install.json", "package.json", "static/style.js"} <= built
    assert len([name for name in built if name.startswith("static/remoteEntry.")]) == 1
    assert {name for name in held if "__pycache__" in name or name.endswith(".pyc")} == set()


def test_wheel_is_built_to_the_same_bytes_again(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_wheel_says_its_licence_and_what_is_bundled(wheel: Path) -> None:
    archive, information = zipfile.ZipFile(wheel), f"jxkernel-{__version__}.dist-info"
    assert "License-Expression: Apache-2.0" in archive.read(f"{information}/METADATA").decode()
    assert "Apache License" in archive.read(f"{information}/licenses/LICENSE").decode()
    bill = json.loads(archive.read(f"{information}/sboms/sbom.cdx.json"))
    assert bill == sbom.bill()
    assert "@dagrejs/dagre" in {one["name"] for one in bill["components"]}


def test_metadata_are_no_newer_than_uploaders_and_indexes(wheel: Path) -> None:
    metadata = zipfile.ZipFile(wheel).read(f"jxkernel-{__version__}.dist-info/METADATA")
    assert metadata.startswith(b"Metadata-Version: 2.4\n")


def test_workflows_name_actions_by_the_hash_of_a_commit() -> None:
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        for action in re.findall(r"uses: (.+)", workflow.read_text()):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action), (workflow.name, action)


def test_a_release_is_tried_with_every_python_that_it_is_said_to_be_for() -> None:
    said = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project()["project"]["classifiers"])))
    tried = (ROOT / ".github/workflows/release.yml").read_text()
    assert set(re.findall(r"^ +(3\.\d+)$", tried, re.MULTILINE)) == said
    makefile = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"3\.\d+", makefile.partition("VERSIONS := ")[2].split("\n")[0])) == said


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_wheel_says_what_it_needs(wheel: Path) -> None:
    information = f"jxkernel-{__version__}.dist-info/METADATA"
    lines = zipfile.ZipFile(wheel).read(information).decode().splitlines()
    assert "Requires-Python: <3.15,>=3.11" in lines
    assert "Requires-Dist: jaxlib<0.13,>=0.10.2" in lines
    assert [
        line for line in lines if line.startswith(("Requires-Dist: jax ", "Requires-Dist: jax>"))
    ] == []


def test_wheel_works_unpacked_anywhere(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        "import jxkernel; print(jxkernel.__file__); print(jxkernel.jit(lambda x: x + 1)(1)); "
        "assert jxkernel.__version__"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-P", "-c", program],
        cwd="/",
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "jxkernel/__init__.py"), "2"]

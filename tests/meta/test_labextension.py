"""The committed build of the lab extension: of today's sources, complete, small, of no place."""

import gzip
import json

from tools.labextension_stamp import BUILT, FRONT, STAMP, stamp

KILOBYTES = 400


def test_the_build_is_of_these_sources() -> None:
    assert json.loads(STAMP.read_text()) == stamp(), (
        "labextension/ has changed since it was built, or its build was changed: run `make front`"
    )


def test_the_build_is_what_jupyterlab_loads() -> None:
    package = json.loads((BUILT / "package.json").read_text())
    assert (BUILT / package["jupyterlab"]["_build"]["load"]).is_file()
    assert json.loads((BUILT / "install.json").read_text())["packageName"] == "jxkernel"


def test_the_build_is_small() -> None:
    compressed = sum(len(gzip.compress(path.read_bytes())) for path in BUILT.rglob("*.js"))
    assert compressed < KILOBYTES * 1000


def test_the_build_names_no_folder_of_who_built_it() -> None:
    for path in BUILT.rglob("*.js*"):
        assert str(FRONT.parent) not in path.read_text()


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((FRONT / "package-lock.json").read_text())["packages"]
    assert {name for name, one in packages.items() if "resolved" in one} == set()

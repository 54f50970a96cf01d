"""Run the program of one library, and print its numbers as JSON.

The environment has the library and jaxlib; with ``--alias`` it has jxkernel in place of jax.
"""

import importlib.util
import json
import sys
import warnings
from pathlib import Path


def plain(value):
    """Return numbers and trees of them as JSON has them."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    numpy = importlib.import_module("numpy")
    return numpy.asarray(value, dtype=float).tolist()


def main(name, alias):
    """Run the program of a library."""
    if alias:
        importlib.import_module("jxkernel").alias("jax")
    warnings.simplefilter("ignore")
    path = Path(__file__).parent / "programs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.stdout.write("\n" + json.dumps(plain(module.program())) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], "--alias" in sys.argv)

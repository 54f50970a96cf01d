"""Write ``weak.json``: the dtypes and weakness that the reference implementation gives.

Run by hand, with an interpreter that has the real ``jax`` package (never the one that runs the
tests), from the top of the checkout, when the semantics of the reference change:

    python -m tests.numpy.make_weak

The file holds facts only: for each function of ``weak_rows``, the answers for its operands in
order, a word each.
"""

import json
import pathlib
import warnings

import jax
import jax.scipy.linalg
import jax.scipy.signal
import jax.scipy.special
import jax.scipy.stats

from tests.numpy.weak_rows import CALLS, answer, calls


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    table = {name: " ".join(answer(jax, name, kinds) for kinds in calls(name)) for name in CALLS}
    path = pathlib.Path(__file__).with_name("weak.json")
    path.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()

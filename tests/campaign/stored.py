"""Programs with the answers of ``jax``, so that a test needs no other environment.

Random ones, and all that once differed and were mended.

``python -m tests.campaign.stored --peer PYTHON`` writes ``stored.json`` anew; it holds facts only.
"""

import argparse
import base64
import json
from pathlib import Path
from typing import Any

from tests.campaign import findings
from tests.campaign.answers import Answer, Leaf
from tests.campaign.compare import difference, unclean
from tests.campaign.generate import generate
from tests.campaign.pair import Pair

PATH = Path(__file__).with_name("stored.json")
NUMBERS = {"shape": 240, "eager": 30, "jit": 20}


def _leaf(leaf: Leaf) -> list[Any]:
    data = None if leaf.data is None else base64.b64encode(leaf.data).decode()
    return [leaf.path, leaf.sort, leaf.dtype, leaf.shape, leaf.weak, data]


def _row(source: str, answer: Answer) -> dict[str, Any]:
    if answer.error:
        return {"program": source.split("\n"), "error": answer.error[0]}
    return {"program": source.split("\n"), "leaves": [_leaf(leaf) for leaf in answer.leaves]}


def _data(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def rows() -> list[tuple[str, Answer]]:
    """Return the programs with their answers."""
    found = []
    for row in json.loads(PATH.read_text(encoding="utf-8")):
        leaves = tuple(
            Leaf(path, sort, dtype, tuple(shape), weak, _data(data))
            for path, sort, dtype, shape, weak, data in row.get("leaves", ())
        )
        error = (row["error"],) if "error" in row else ()
        found.append(("\n".join(row["program"]), Answer(leaves, error)))
    return found


def _agreeing(pair: Pair, sources: list[str]) -> list[dict[str, Any]]:
    """Return the programs whose answers agree, and are those of any machine, with these."""
    rows = zip(sources, pair.answers(sources), strict=True)
    agreeing = [(s, b) for s, (a, b) in rows if not difference(a, b) and not unclean(a)]
    return [_row(s, b) for s, b in agreeing if pair.steady(s, b)]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True)
    found: list[dict[str, Any]] = []
    with Pair(parser.parse_args().peer) as pair:
        for way, number in NUMBERS.items():
            sources = [generate(f"stored:{n}", way) for n in range(number)]
            found += _agreeing(pair, sources)
        mended = [row.program for row in findings.load() if row.state == "mended"]
        found += _agreeing(pair, mended)
    lines = ",\n".join(json.dumps(row) for row in found)
    PATH.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The stamp of the lab extension's committed build: hashes of its sources, and of what was built.

Run as a program, after a build, it writes the stamp; ``test_labextension`` compares.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

FRONT = Path(__file__).resolve().parents[1] / "labextension"
BUILT = FRONT / "dist/jxkernel"
STAMP = FRONT / "dist/stamp.json"
SOURCES = (
    "src/**/*",
    "style/**/*",
    "schema/**/*",
    "install.json",
    "package.json",
    "package-lock.json",
    "rspack.config.cjs",
    "tsconfig.json",
)


def hashed(files: Iterable[Path], root: Path) -> str:
    """The hash of files with their names."""
    found = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        found.update(f"{path.relative_to(root).as_posix()}\n".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def stamp() -> dict[str, str]:
    """What the stamp should say now."""
    sources = [path for pattern in SOURCES for path in FRONT.glob(pattern)]
    return {"sources": hashed(sources, FRONT), "built": hashed(BUILT.rglob("*"), BUILT)}


if __name__ == "__main__":
    STAMP.write_text(json.dumps(stamp(), indent=2) + "\n")

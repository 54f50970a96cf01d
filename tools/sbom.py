"""The bill of materials of the lab extension's bundle (CycloneDX), which goes into the wheel.

It lists what the builder says that it has put into the bundle, beside our own code. Run as a
program, after a build, it writes the file; a test compares.
"""

import json
from typing import Any

from tools.labextension_stamp import BUILT, FRONT

FILE = FRONT / "sbom.cdx.json"


def bill() -> dict[str, Any]:
    """Return what the file should say now."""
    bundled = json.loads((BUILT / "static/third-party-licenses.json").read_text())["packages"]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": "jxkernel lab extension"}},
        "components": [
            {
                "type": "library",
                "name": one["name"],
                "version": one["versionInfo"],
                "purl": f"pkg:npm/{one['name'].replace('@', '%40')}@{one['versionInfo']}",
                "licenses": [{"license": {"id": one["licenseId"]}}],
            }
            for one in sorted(bundled, key=lambda one: one["name"])
        ],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(bill(), indent=2) + "\n")

"""Writes the lists of components (CycloneDX) of the wheel in a folder, such as ``dist``, beside it.

`NAME.rust.cdx.json` is the list of crates that maturin puts into the wheel (PEP 770). `NAME.python.cdx.json` lists the
Python dependencies, extras included, as cyclonedx-py describes them in this environment.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
#: Extras that tools of development need; those of a user of the package are the others.
DEVELOPMENT = {"dev", "docs"}
#: Another package of this repository.
OWN = {"cwndlab", "cwndlab-kernel"}


def normalised(name: str) -> str:
    """A package's name in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(metadata: list[str], extras: set[str]) -> list[Requirement]:
    """Requirements that apply on this machine with these extras."""
    parsed = [Requirement(text) for text in metadata]
    return [
        one
        for one in parsed
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras | {""})
    ]


def dependencies(metadata: list[str], extras: set[str]) -> set[str]:
    """Normal names of the direct and indirect dependencies that are installed here."""
    found: set[str] = set()
    open_ = requirements(metadata, extras)
    while open_:
        one = open_.pop()
        name = normalised(one.name)
        if name in OWN or name in found:
            continue
        try:
            needed = distribution(name).requires or []
        except ModuleNotFoundError:  # PackageNotFoundError is one: of an extra that is not installed here
            continue
        found.add(name)
        open_ += requirements(needed, set(one.extras))
    return found


def python_components(wheel: Path) -> dict[str, Any]:
    """The environment's list, reduced to what the wheel requires."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        header = archive.read(path).decode().partition("\n\n")[0].splitlines()
    required = [line.removeprefix("Requires-Dist: ") for line in header if line.startswith("Requires-Dist: ")]
    extras = {line.removeprefix("Provides-Extra: ") for line in header if line.startswith("Provides-Extra: ")}
    names = dependencies(required, extras - DEVELOPMENT)
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--mc-type", "library"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), sys.executable]
    document: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    (version,) = (line.removeprefix("Version: ") for line in header if line.startswith("Version: "))
    document["metadata"]["component"]["version"] = version
    document["components"] = [one for one in document["components"] if normalised(one["name"]) in names]
    kept = {one["bom-ref"] for one in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
    document["dependencies"] = [
        one | ({"dependsOn": [ref for ref in one["dependsOn"] if ref in kept]} if "dependsOn" in one else {})
        for one in document["dependencies"]
        if one["ref"] in kept
    ]
    return document


def rust_components(wheel: Path) -> bytes:
    """The list of crates within the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".cyclonedx.json"))
        return archive.read(path)


def main(folder: Path) -> None:
    """Writes both lists."""
    (wheel,) = folder.glob("cwndlab-*.whl")
    base = "-".join(wheel.name.split("-")[:2])
    (folder / f"{base}.rust.cdx.json").write_bytes(rust_components(wheel))
    text = json.dumps(python_components(wheel), indent=2) + "\n"
    (folder / f"{base}.python.cdx.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

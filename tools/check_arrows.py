"""Fails on a dependency between crates that the plan of the house does not draw (CONTRIBUTING.md, "Arrows")."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: What each crate may depend on. Only the Python modules depend on an engine.
ALLOWED: dict[str, set[str]] = {
    "units": set(),
    "control": {"units"},
    "algorithms": {"units", "control"},
    "conformance": {"units", "control"},
    "transport": {"units", "control"},
    "config": {"units"},
    "network": {"units", "config"},
    "traffic": {"units", "config", "network"},
    "scenario": {"units", "config", "control", "transport", "network", "traffic"},
    "records": {"units"},
    "path": {"units", "control", "transport", "network", "scenario", "records", "traffic"},
    "simulator": {
        "units",
        "control",
        "algorithms",
        "conformance",
        "transport",
        "network",
        "scenario",
        "records",
        "traffic",
        "path",
    },
    "quic": {"units", "control", "algorithms", "transport"},
    "linux": {"units"},
    "emulator": {"units", "control", "algorithms", "linux", "network", "scenario", "records", "traffic", "path"},
    "kernel": {"units", "control", "linux"},
    "replay": {"units", "control", "scenario", "simulator", "kernel", "quic"},
    "bindings/python-kernel": {"units", "control", "algorithms", "kernel"},
    "live": {"algorithms", "control", "linux", "quic"},
    "bindings/python": {
        "units",
        "control",
        "conformance",
        "scenario",
        "records",
        "simulator",
        "linux",
        "emulator",
        "quic",
        "replay",
        "live",
    },
}


def tables(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All dependencies of a manifest that end up in what is built: tests may look further."""
    for part in (manifest, *manifest.get("target", {}).values()):
        for kind in ("dependencies", "build-dependencies"):
            yield part.get(kind, {})


def wrong(crates: Path) -> list[str]:
    """Arrows that nobody drew, and crates that have no place in the plan."""
    found = []
    for path in sorted([*crates.glob("*/Cargo.toml"), *crates.glob("bindings/*/Cargo.toml")]):
        crate = path.parent.relative_to(crates).as_posix()
        if crate not in ALLOWED:
            found.append(f"crates/{crate} has no place in the plan")
            continue
        for needs in tables(tomllib.loads(path.read_text(encoding="utf-8"))):
            for name in needs:
                target = name.removeprefix("cwndlab-")
                if name != target and target not in ALLOWED[crate]:
                    found.append(f"crates/{crate} depends on {target}: no such arrow")
    return found


def main() -> int:
    """Compares the manifests with the plan."""
    found = wrong(ROOT / "crates")
    for line in found:
        sys.stderr.write(f"{line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Fails on dependencies between crates that the dependency rules do not allow (CONTRIBUTING.md, "Arrows")."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: The allowed dependencies of each crate. Only the Python modules depend on an engine.
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
    """All dependencies of a manifest except those of tests, for which the rules do not apply."""
    for part in (manifest, *manifest.get("target", {}).values()):
        for kind in ("dependencies", "build-dependencies"):
            yield part.get(kind, {})


def violations(crates: Path) -> list[str]:
    """Dependencies that the rules do not allow, and crates without a rule."""
    messages = []
    for path in sorted([*crates.glob("*/Cargo.toml"), *crates.glob("bindings/*/Cargo.toml")]):
        crate = path.parent.relative_to(crates).as_posix()
        if crate not in ALLOWED:
            messages.append(f"crates/{crate} has no entry in ALLOWED of tools/check_arrows.py")
            continue
        for dependencies in tables(tomllib.loads(path.read_text(encoding="utf-8"))):
            for name in dependencies:
                target = name.removeprefix("cwndlab-")
                if name != target and target not in ALLOWED[crate]:
                    messages.append(f"crates/{crate} may not depend on {target}")
    return messages


def main() -> int:
    """Compares the manifests with the rules."""
    messages = violations(ROOT / "crates")
    for message in messages:
        sys.stderr.write(f"{message}\n")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())

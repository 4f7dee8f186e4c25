"""Fails on a dependency between crates that the plan of the house does not draw (CONTRIBUTING.md, "Arrows")."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: What each crate may depend on. Nobody depends on an engine but the Python module.
ALLOWED = {
    "units": set(),
    "control": {"units"},
    "algorithms": {"units", "control"},
    "transport": {"units", "control"},
    "network": {"units"},
    "scenario": {"units", "control", "transport"},
    "records": {"units"},
    "simulator": {"units", "control", "algorithms", "transport", "network", "scenario", "records"},
    "python": {"units", "control", "scenario", "records", "simulator"},
}


def main() -> int:
    """Compares the manifests with the plan."""
    wrong = []
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        crate = manifest.parent.name
        needs = tomllib.loads(manifest.read_text(encoding="utf-8")).get("dependencies", {})
        for name in needs:
            target = name.removeprefix("cwndlab-")
            if name != target and target not in ALLOWED.get(crate, set()):
                wrong.append(f"crates/{crate} depends on {target}")
    for line in wrong:
        sys.stderr.write(f"{line}: no such arrow\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

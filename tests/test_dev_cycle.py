"""`make dev`: what a change of one algorithm compiles, and that nothing else is built."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: The crates of the engine that depend on the algorithms, so that a change of one compiles them.
COMPILED = {
    "cwndlab-algorithms",
    "cwndlab-audit",
    "cwndlab-emulator",
    "cwndlab-live",
    "cwndlab-packetdrill",
    "cwndlab-python",
    "cwndlab-quic",
    "cwndlab-replay",
    "cwndlab-simulator",
    "cwndlab-stepping",
}


def test_a_change_of_an_algorithm_compiles_these_crates() -> None:
    """A crate that is not here, such as transport, path or network, is not compiled again."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    asked = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    names = {one["id"]: one["name"] for one in told["packages"]}
    # What is only for tests or build scripts is of another kind than `null`.
    needs = {
        node["id"]: {one["pkg"] for one in node["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])}
        for node in told["resolve"]["nodes"]
    }

    def all_needs(crate: str) -> set[str]:
        found, left = set(), [crate]
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += needs[one]
        return found

    (engine,) = (one for one, name in names.items() if name == "cwndlab-python")
    (algorithms,) = (one for one, name in names.items() if name == "cwndlab-algorithms")
    own = [one for one in all_needs(engine) if one in told["workspace_members"]]
    assert {names[one] for one in own if algorithms in all_needs(one)} == COMPILED


def test_make_dev_builds_the_engine_alone() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    done = subprocess.run(["make", "-n", "dev"], cwd=ROOT, capture_output=True, text=True, check=True)
    builds = [line for line in done.stdout.splitlines() if "cargo" in line or "maturin" in line]
    assert len(builds) == 1
    assert "--profile quick" in builds[0]
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    quick = text.partition("[profile.quick]")[2].partition("\n[")[0]
    assert 'lto = "off"' in quick
    assert "codegen-units = 64" in quick

"""Outside Linux the engine lacks emulation and measurement; the rest of the package works without them."""

from __future__ import annotations

import subprocess
import sys

#: The parts of the engine that crates/bindings/python/src/lib.rs adds on Linux only.
_WITHOUT = """
from cwndlab import _engine
for name in ("EmulatedPath", "Server", "become_root", "emulate", "fetch", "serve", "serve_limits"):
    delattr(_engine, name)
import cwndlab, cwndlab.cli.app, cwndlab.emulation, cwndlab.live
from cwndlab.scenario.presets import load
short = load("single").with_(duration="1 s")
print(cwndlab.run(short, seed=1).flows["delivered_bytes"].sum() > 0)
try:
    cwndlab.emulation.emulate(short, seed=1)
except cwndlab.errors.RunError as error:
    print(error)
"""


def test_simulation_works_and_emulation_names_what_it_takes() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=True, timeout=300)
    simulated, *told = done.stdout.splitlines()
    assert simulated == "True"
    assert told[0].startswith("system: emulation and measurement take Linux; this system is ")

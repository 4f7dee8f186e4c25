"""Small sweeps in a file and in Python, which the tests of sweeps share."""

from __future__ import annotations

import cwndlab
import polars as pl
from cwndlab.study.sweeps import Sweep

_DESCRIPTION = """\
schema_version = 1
duration = "500 ms"

[dumbbell]
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = { kind = "droptail", capacity = "1 bdp" } }

[[flow]]
algorithm = "reno"
rtt = "20 ms"

[[flow]]
algorithm = "reno"
rtt = "20 ms"

[sweep]
algorithms = ["cubic", "reno"]
seeds = SEEDS

[sweep.product]
"dumbbell.bottleneck.rate" = ["5 Mbps", "10 Mbps", "20 Mbps"]

[[sweep.zip]]
"@pair" = ["near", "far"]
"flow[0].rtt" = ["20 ms", "40 ms"]
"flow[1].rtt" = ["30 ms", "60 ms"]
"""


def described(seeds: int = 2) -> str:
    """A file that describes 2 algorithms × 3 rates × 2 pairs with as many seeds: 24 runs of two."""
    return _DESCRIPTION.replace("SEEDS", str(seeds))


def small_sweep(**changed: object) -> Sweep:
    """Reno alone for 300 ms, at two RTTs with three seeds, with what is ``changed``."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    base = cwndlab.Scenario(duration="300 ms", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="20 ms")])
    given = {"base": base, "product": {"flow[0].rtt": ["20 ms", "40 ms"]}, "seeds": [1, 2, 3]}
    return Sweep(**(given | changed))  # type: ignore[arg-type]


def without_machine(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows without what two machines, or two moments, may tell apart."""
    return frame.drop("host", "wall_s", strict=False)

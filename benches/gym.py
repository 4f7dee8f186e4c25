"""Stepping the simulator: decisions per CPU second, the cost against a run without stops, memory after many resets.

`make bench`.

One `external` flow over a drop-tail bottleneck without losses, a base RTT of 20 ms and a fixed window that just fills
the path, so that a decision per RTT covers that many packets. "batch" is `SimulationBatch` with 32 simulations and a
window written before each step; "environments" is `CongestionVectorEnv` with 64 of them, their observations and
rewards; "one environment" is that of `gymnasium.make`, with its wrappers; "object" is `cwndlab.gym.Simulation` with one
decision at a time. CPU time is that of the process.
Prints Markdown.

    .venv/bin/python benches/gym.py             all
    .venv/bin/python benches/gym.py resets      one part
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

#: Window in segments and the rate at which it fills 20 ms, with packets of 1500 bytes.
PATHS = ((20, "12 Mbps"), (200, "120 Mbps"))
SIMULATIONS = 32
ENVIRONMENTS = 64
#: Simulated time of each measurement, s.
DURATION_S = 60
RUNS = 9
RESETS = 10_000


def scenario(rate: str, window: int, *, duration_s: float = DURATION_S) -> Any:
    """One external flow over one bottleneck."""
    import cwndlab

    bottleneck = cwndlab.Link(rate=rate, delay="5 ms", queue=cwndlab.DropTail("1 bdp"))
    flow = cwndlab.Flow(f"external(initial={window})", rtt="20 ms")
    dumbbell = cwndlab.Dumbbell(bottleneck)
    return cwndlab.Scenario(duration=f"{duration_s} s", sample_interval="0 s", dumbbell=dumbbell, flows=[flow])


def batch_steps(rate: str, window: int) -> float:
    """Decisions per CPU second of a batch."""
    import numpy as np
    from cwndlab import engine

    text = scenario(rate, window).to_json()
    fields = engine.decision_fields()
    reports = np.zeros((SIMULATIONS, len(fields)))
    actions = np.full((SIMULATIONS, 2), np.nan)
    batch = engine.SimulationBatch(reports, actions)
    for index in range(SIMULATIONS):
        batch.start(index, text, "json", index)
    steps, start, done = 0, time.process_time(), reports[:, 0]
    while not done.any():
        actions[:, 0] = window
        batch.step()
        steps += SIMULATIONS
    return steps / (time.process_time() - start)


def paths_of(rate: str, window: int) -> Any:
    """The path of these measurements for an environment."""
    from cwndlab.gym import FixedPaths

    return FixedPaths([scenario(rate, window)], fair_rate=window / 0.02, base_rtt=0.02)


def opening(window: int) -> float:
    """The action that reaches the window from the initial one of 10 segments in five steps."""
    import math

    return math.log2(window / 10) / 5


def environments_steps(rate: str, window: int) -> float:
    """Decisions per CPU second of a vectorised environment, with observations and rewards."""
    import numpy as np
    from cwndlab.gym import CongestionVectorEnv

    environments = CongestionVectorEnv(ENVIRONMENTS, paths_of(rate, window))
    environments.reset(seed=1)
    actions = np.full((ENVIRONMENTS, 1), opening(window), dtype=np.float32)
    for _ in range(5):
        environments.step(actions)
    actions[:] = 0
    steps, start, ended = 0, time.process_time(), False
    while not ended:
        _, _, _, truncated, _ = environments.step(actions)
        ended = truncated.any()
        steps += ENVIRONMENTS
    return steps / (time.process_time() - start)


def one_environment_steps(rate: str, window: int) -> float:
    """Decisions per CPU second of one environment, as `gymnasium.make` returns it."""
    import gymnasium
    import numpy as np

    environment = gymnasium.make("cwndlab.gym:cwndlab/Link-v0", paths=paths_of(rate, window))
    environment.reset(seed=1)
    action = np.full(1, opening(window), dtype=np.float32)
    for _ in range(5):
        environment.step(action)
    action[:] = 0
    steps, start, ended = 0, time.process_time(), False
    while not ended:
        _, _, _, ended, _ = environment.step(action)
        steps += 1
    return steps / (time.process_time() - start)


def object_steps(rate: str, window: int) -> float:
    """Decisions per CPU second of one simulation."""
    from cwndlab.gym import Simulation

    with Simulation(scenario(rate, window), seed=1) as simulation:
        steps, start = 0, time.process_time()
        while decision := simulation.next_decision():
            simulation.set_cwnd(decision.flow, window)
            steps += 1
        return steps / (time.process_time() - start)


def cpu_of(work: Any) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def overhead(rate: str, window: int) -> list[float]:
    """CPU time of stepping against `cwndlab.run`, where nobody intervenes: a stop every 10 ms, and a decision per RTT.

    Runs of the kinds alternate, so that a change of the machine's clock rate affects them alike.
    """
    import cwndlab
    from cwndlab.gym import Simulation

    whole = scenario(rate, window)

    def stops() -> None:
        simulation = Simulation(whole, seed=1)
        for step in range(1, 100 * DURATION_S):
            simulation.run_until(step / 100)
        simulation.records()

    def decisions() -> None:
        simulation = Simulation(whole, seed=1)
        while simulation.next_decision():
            pass
        simulation.records()

    def one_stop() -> None:
        Simulation(whole, seed=1).records()

    kinds = (lambda: cwndlab.run(whole, seed=1), one_stop, stops, decisions)
    times = [[cpu_of(kind) for kind in kinds] for _ in range(RUNS)]
    base, *others = (median(column) for column in zip(*times, strict=True))
    return [other / base for other in others]


def resident_mb() -> float:
    """Memory of the process, MB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


def resets() -> tuple[float, float, float]:
    """Microseconds per reset, and memory after a thousand and after all."""
    import numpy as np
    from cwndlab import engine

    text = scenario("12 Mbps", 20).to_json()
    reports = np.zeros((1, len(engine.decision_fields())))
    batch = engine.SimulationBatch(reports, np.full((1, 2), np.nan))
    early, start = 0.0, time.process_time()
    for seed in range(RESETS):
        batch.start(0, text, "json", seed)
        batch.step()
        if seed == RESETS // 10:
            early = resident_mb()
    return (time.process_time() - start) / RESETS * 1e6, early, resident_mb()


def table(*rows: tuple[str, ...]) -> None:
    """Prints a table in Markdown."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    sys.stdout.write("\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n")


def steps_table() -> None:
    """Prints the decisions per CPU second."""
    rows = [("window, segments", "decisions per CPU second, batch", "environments", "one environment", "object")]
    for window, rate in PATHS:
        kinds = (batch_steps, environments_steps, one_environment_steps, object_steps)
        rates = (median(kind(rate, window) for _ in range(RUNS)) for kind in kinds)
        rows.append((str(window), *(f"{one:,.0f}" for one in rates)))
    table(*rows)


def overhead_table() -> None:
    """Prints CPU times relative to a run."""
    rows = [("window, segments", "no stop / `run`", "a stop every 10 ms / `run`", "a decision per RTT / `run`")]
    rows += [(str(window), *(f"{ratio:.3f}" for ratio in overhead(rate, window))) for window, rate in PATHS]
    table(*rows)


def resets_table() -> None:
    """Prints time and memory of resets."""
    each, early, late = resets()
    head = ("resets", "CPU time of one, µs", f"memory after {RESETS // 10:,}, MB", "after all, MB")
    table(head, (f"{RESETS:,}", f"{each:.0f}", f"{early:.1f}", f"{late:.1f}"))


TABLES = {"steps": steps_table, "overhead": overhead_table, "resets": resets_table}

if __name__ == "__main__":
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            TABLES[name]()
    else:
        # Each part in a process of its own: memory that one part frees makes short runs of the next one slower.
        for at, name in enumerate(TABLES):
            sys.stdout.write("\n" if at else "")
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, name], check=True)

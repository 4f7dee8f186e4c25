"""What an attack found: the events, the harm, and what happened between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from cwndlab import emulation
from cwndlab.errors import Fault, ScenarioError
from cwndlab.files import save
from cwndlab.linux import with_kernels
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.like import scenario_of
from cwndlab.simulate import run, run_jobs
from cwndlab.statistics import Estimate, estimate
from cwndlab.statistics.digits import mean_with_interval
from cwndlab.study.attack.harms import HARMS, Harm, harm, is_attack
from cwndlab.study.attack.world import KINDS, Event, World, during, shifted
from cwndlab.study.rendering import Table
from cwndlab.validation.debugger import look

#: The seed of the run that the story is of, and that `cwndlab debug` repeats; the first of those that choose no event.
STORY_SEED = 101
#: The largest difference to the simulated harm at which that between kernels confirms it.
_WITHIN = 0.2


@dataclass(frozen=True)
class Confirmation:
    """The harm of the same events between kernels, real ones or in virtual time."""

    harm: Estimate
    simulated: Estimate
    """The harm in the simulator with the same seeds, of which none chose the events."""
    kind: Harm
    values: Sequence[float]
    """Of the algorithm, one per run: bit/s, or ms for the goal ``delay``."""
    baseline: Sequence[float]
    where: str
    """The kernels, in words."""

    @property
    def confirms(self) -> bool:
        """Whether the mean harm between kernels is within 20 % of the simulated one."""
        return abs(self.harm.mean - self.simulated.mean) <= _WITHIN * abs(self.simulated.mean)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        return {
            "harm": vars(self.harm),
            "simulated": vars(self.simulated),
            self.kind.column: {"algorithm": list(self.values), "baseline": list(self.baseline)},
            "confirms": self.confirms,
            "where": self.where,
        }

    def __str__(self) -> str:
        word = "confirmed" if self.confirms else "not confirmed"
        mine, base = (self.kind.mean(values) for values in (self.values, self.baseline))
        return (
            f"{word} by {self.where}: harm {mean_with_interval(self.harm)} in {self.harm.n} runs "
            f"({mine}, baseline {base}), simulated {mean_with_interval(self.simulated)}"
        )


@dataclass(frozen=True, repr=False)
class AttackResult:
    """The most harmful events that a search found.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.presets.load("single").with_({"duration": "5 s"})
    >>> found = cwndlab.study.attack.attack("vegas", "reno", scenario=path, trials=8)
    >>> found.trials, len(found.events) <= 5
    (8, True)
    """

    algorithm: str
    against: str
    goal: str
    world: World
    events: list[Event]
    found: int
    """Number of events before the reduction."""
    trials: int
    harm: Estimate
    """With seeds that neither proposed nor reduced the events."""
    quiet: float
    """The harm without events: where it is as large, the events explain nothing."""
    values: tuple[Sequence[float], Sequence[float]]
    """Of the algorithm and of the baseline in its place, one per seed: bit/s, or ms for the goal ``delay``."""

    def __repr__(self) -> str:
        return f"<AttackResult on {self.algorithm}: harm {self.harm.mean:.2f} by {len(self.events)} events>"

    @property
    def scenario(self) -> Scenario:
        """The path with the events and the attacked algorithm."""
        return scenario_of(self.world.scenario(self.algorithm, self.events), algorithms=self.world.classes)

    def lines(self) -> list[str]:
        """The finding in sentences."""
        kind = HARMS[self.goal]
        mine, base = (kind.mean(values) for values in self.values)
        said = [
            f"{kind.said} {mine}; with {self.against} in its place {base}",
            f"harm {mean_with_interval(self.harm)} with {self.harm.n} seeds that chose nothing; "
            f"without events {self.quiet:.2f}; {self.found} events found in {self.trials} trials, "
            f"{len(self.events)} left",
        ]
        if not is_attack(self.harm, self.quiet):
            said.append("no attack: these events do no more harm than none")
        return said

    def table(self) -> Table:
        """What happened: the values of both algorithms between each two changes of the path."""
        kind = HARMS[self.goal]
        both = (self.world.scenario(one, self.events) for one in (self.algorithm, self.against))
        runs = [run(one, seed=STORY_SEED, algorithms=self.world.classes) for one in both]
        rows: list[list[str]] = []
        values: list[dict[str, Any]] = []
        for start, end in pairwise(self.world.boundaries_s(self.events)):
            found = [kind.between(records, start, end) for records in runs]
            now = [one.words for one in during(self.events, start, end)]
            rows.append(
                [f"{start:.4g}", f"{end:.4g}", "; ".join(now) or "nothing", *(kind.shown(one) for one in found)]
            )
            values.append(
                {
                    "from_s": start,
                    "to_s": end,
                    "events": now,
                    kind.column: found[0],
                    f"baseline_{kind.column}": found[1],
                }
            )
        header = ["from\ns", "to\ns", "event", f"{self.algorithm}\n{kind.unit}", f"{self.against}\n{kind.unit}"]
        return Table(f"{self.algorithm} attacked", header, rows, 0, values, words=("event",))

    def decisions(self) -> list[str]:
        """Between each two changes of the path the event at which the attacked algorithm reduced its window most: time,
        event, window, and the place in the algorithm's source."""
        samples = run(self.scenario, seed=STORY_SEED).rows("samples")
        windows = [(one["time_ns"] / 1e9, one["cwnd_bytes"]) for one in samples if one["flow"] == 0]
        said = []
        for start, end in pairwise(self.world.boundaries_s(self.events)):
            within = pairwise(one for one in windows if start <= one[0] <= end and one[1])
            drops = ((at, after / before) for (at, before), (_, after) in within)
            at_s, remaining = min(drops, default=(start, 1.0), key=lambda one: one[1])
            if remaining >= 1:
                continue
            moment = look(self.scenario, at_s=at_s, next="reduction", flow="attacked", seed=STORY_SEED).moment
            if moment is None:
                continue
            places = "; ".join(f"{one.entry}: {one.method} in {one.file}:{one.line}" for one in moment.places)
            said.append(
                f"{moment.time_ns / 1e9:.3f} s, {moment.event}: window {moment.before.cwnd_bytes:,} B to "
                f"{moment.after.cwnd_bytes:,} B ({places})"
            )
        return said

    def emulated(self, runs: int, *, late_s: float = 0.01) -> Confirmation:
        """The same events between real kernels, over the emulator (root): harm with the kernel's own algorithms. A
        kernel decides itself when it sends an ACK: search with ``receivers=False``.

        Parameters
        ----------
        runs
            Number of runs of each algorithm, one after the other in real time.
        late_s
            As in `cwndlab.emulation.emulate`.

        Raises
        ------
        RunError
            The kernel lacks one of the algorithms, or deliveries were late.
        ScenarioError
            An event is how the receiver acknowledges.
        """
        # Real hosts have variations of their own.
        jobs: list[tuple[dict[str, Any], int, emulation.Settings]] = [
            (document | {"perturb": False}, seed, {}) for document, seed in self._repeated(runs)
        ]
        found = [0.0] * len(jobs)
        for index, (records, timing) in emulation.emulate_many(jobs, workers=1, late_s=late_s):
            emulation.refuse_late(timing)
            found[index] = self._value(records)
        return self._confirmation(found, "the kernel")

    def between_kernels(self, runs: int) -> Confirmation:
        """The same events between Linux kernels in virtual time (`cwndlab.linux`): harm with their own algorithms.
        Search with ``receivers=False``.

        Parameters
        ----------
        runs
            Number of runs of each algorithm.

        Raises
        ------
        RunError
            There is no program of the hosted stack ``linux``.
        ScenarioError
            An event is how the receiver acknowledges, or the kernel lacks one of the algorithms.
        """
        jobs = [(with_kernels(document), seed) for document, seed in self._repeated(runs)]
        found = [0.0] * len(jobs)
        kernel = ""
        for index, records in run_jobs(jobs):
            found[index] = self._value(records)
            kernel = str(records.flows["profile"][0])
        return self._confirmation(found, f"{kernel} in virtual time")

    def _value(self, records: Records) -> float:
        """What the harm compares."""
        return HARMS[self.goal].value(records, self.world.duration_s)

    def _repeated(self, runs: int) -> list[tuple[dict[str, Any], int]]:
        """Scenarios and seeds of runs that confirm, of the algorithm and of the baseline in turn."""
        if own := [str(one) for one in self.events if KINDS[one.kind].receiver]:
            hint = "search with receivers=False"
            raise ScenarioError(Fault("events", f"'{own[0]}' is up to the kernel of the receiver", hint))
        return [
            (self.world.scenario(one, shifted(self.events, seed)), seed)
            for seed in range(STORY_SEED, STORY_SEED + runs)
            for one in (self.algorithm, self.against)
        ]

    def _confirmation(self, found: Sequence[float], where: str) -> Confirmation:
        """That of the values of `_repeated` between kernels."""
        jobs = self._repeated(len(found) // 2)
        simulated = [0.0] * len(jobs)
        for index, records in run_jobs(jobs, algorithms=self.world.classes):
            simulated[index] = self._value(records)
        least = HARMS[self.goal].least(self.world.forward.rate_bps)
        both = [
            estimate([harm(self.goal, *pair, least) for pair in zip(values[::2], values[1::2], strict=True)])
            for values in (found, simulated)
        ]
        return Confirmation(both[0], both[1], HARMS[self.goal], found[::2], found[1::2], where)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        return {
            "algorithm": self.algorithm,
            "against": self.against,
            "goal": self.goal,
            "trials": self.trials,
            "found": self.found,
            "events": [vars(one) | {"text": str(one)} for one in self.events],
            "harm": vars(self.harm),
            "harm_without_events": self.quiet,
            HARMS[self.goal].column: {"algorithm": list(self.values[0]), "baseline": list(self.values[1])},
            "story": list(self.table().values or ()),
            "decisions": self.decisions(),
        }

    def save(self, path: str | Path) -> None:
        """Writes the scenario with the events, and the finding in comments above it."""
        said = [*self.lines(), *map(str, self.events)]
        head = "".join(f"# {line}\n" for line in said)
        save(head + self.scenario.to_toml(), path)

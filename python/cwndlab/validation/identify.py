"""Identification: which congestion control does a sender use?

`identify` replays the log of a sender through the algorithms of the catalogue and ranks them by surprise.
`docs/identify.md` describes the method.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import inf, log2
from pathlib import Path
from statistics import median
from typing import Any

from cwndlab.catalogue import Algorithm, algorithms
from cwndlab.catalogue import Parameter as CatalogueParameter
from cwndlab.engine import explain as _explain
from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.validation.audit import check_size, read_log, read_samples
from cwndlab.validation.explanation import FORMS, USUAL, Explanation, Form, Miss, Unknown, growth_of

__all__ = ["Explanation", "Identification", "Separation", "Verdict", "identify"]

#: ACKs of a log that are replayed.
_MAX_ACKS = 12_000
_CANDIDATES_HINT = "`cwndlab list` prints its names"
#: Explanations that differ by fewer bits are a tie, with windows and by the bytes in flight: there, a single correction
#: may be due to the capture.
_TIE_BITS, _FLIGHT_TIE_BITS = 4.0, 16.0
#: Bits that the windows of a log must cost without an algorithm.
_LEAST_BITS = 40.0
#: The share of a log's bits that the best algorithm explains at least; docs/identify.md has its calibration.
_LEAST_EXPLAINED = 0.75
#: The unexplained share that 19 of 20 simulated flows leave at most to their own algorithm, by windows or by bytes in
#: flight, and for model-based and paced algorithms (coarse) or others; docs/identify.md has the calibration.
_USUAL_UNEXPLAINED = {
    ("windows", "fine"): 0.02,
    ("windows", "coarse"): 0.05,
    ("flights", "fine"): 0.02,
    ("flights", "coarse"): 0.15,
}
#: From this share of ACKs on the application is the cause of too few bits.
_LIMITED = 0.5
#: Algorithms whose parameters are varied, and their misses from which on that is worth it.
_FITTED, _LEAST_MISSES = 8, 3
#: Factors of the values of parameters: of each, then of the one that fits best.
_FACTORS = ((0.25, 0.5, 0.7, 0.85, 1.2, 1.4, 2.0, 4.0), (0.8, 0.9, 1.0, 1.1, 1.25), (0.95, 0.975, 1.0, 1.025, 1.05))
#: Bits that a value of a parameter costs.
_PARAMETER_BITS = 25.0
#: Explanations within these bits of the best are tried with all slow starts, and with other values of what no log has.
_NEAR_BITS = 300.0
#: Seeds of an algorithm's random numbers that are tried, with both ways to be limited by the window.
_SEEDS = 16
_UNKNOWN_BITS = log2(2 * _SEEDS)
_REDUCTIONS = ("reduction", "no-reduction")
#: Full differences, by the mean over the windows, cost this many bits.
_DIFFERENCE_BITS = 40.0


class Verdict(StrEnum):
    """What the ranking says.

    >>> [str(one) for one in Verdict]
    ['identified', 'tie', 'unknown', 'undetermined']
    """

    IDENTIFIED = "identified"
    """One algorithm explains the log more than all others."""
    TIE = "tie"
    """Several algorithms explain it equally well."""
    UNKNOWN = "unknown"
    """No algorithm of the catalogue explains it."""
    UNDETERMINED = "undetermined"
    """The log cannot tell: the window hardly changes, or the application limits the sender."""


@dataclass(frozen=True)
class Separation:
    """The first ACK after which the runner-up contradicts the log and the first algorithm does not."""

    time_ms: float
    ack: int
    logged_bytes: int
    runner_up_bytes: int


@dataclass(frozen=True)
class Parameter:
    """A parameter whose value explains the log better than that of the source."""

    name: str
    value: float
    textbook: float


@dataclass(frozen=True)
class Identification:
    """The ranking of the algorithms that may have written a log.

    ``ranking`` has one explanation for each congestion avoidance, the best first, and ``ties`` the algorithms that
    explain the log as well as the first. ``slow_starts`` are those with which the first one explains it equally well.
    ``log_bits`` is the surprise of a window that never changes.
    """

    log: str
    connection: str
    protocol: str
    windowless: bool
    acks: int
    log_bits: float
    app_limited_share: float
    verdict: Verdict
    ranking: tuple[Explanation, ...]
    ties: tuple[str, ...]
    slow_starts: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    separation: Separation | None
    notes: tuple[str, ...]

    @property
    def best(self) -> Explanation:
        """The explanation with the least surprise."""
        return self.ranking[0]

    @property
    def runner_up(self) -> Explanation | None:
        """The next explanation that is no tie with the first."""
        return next((one for one in self.ranking[1:] if one.growth not in self.ties), None)

    def headline(self) -> str:
        """The verdict in one sentence."""
        explained = f"{100 * self.best.explained:.1f} % explained"
        match self.verdict:
            case Verdict.UNDETERMINED if self.app_limited_share >= _LIMITED:
                return (
                    f"cannot be told: limited by the application for {100 * self.app_limited_share:.0f} % of the ACKs"
                )
            case Verdict.UNDETERMINED:
                return f"cannot be told: the window hardly changes over {self.acks} ACKs"
            case Verdict.UNKNOWN:
                return f"none of the catalogue; the nearest is {self.best.label}, {explained}"
            case Verdict.TIE:
                return f"cannot be told apart: {', '.join(self.ties)}; {explained}"
        changed = ", ".join(f"{one.name} = {one.value:g} in place of {one.textbook:g}" for one in self.parameters)
        return f"{self.best.label}, {explained}" + (f"; {changed}" if changed else "")

    def remarks(self) -> list[str]:
        """The runner-up, where it parts from the first, and what cannot be told, as sentences."""
        lines = []
        if self.runner_up is not None and self.verdict is not Verdict.UNDETERMINED:
            lines.append(f"runner-up: {self.runner_up.label}, {100 * self.runner_up.explained:.1f} % explained")
        if self.separation is not None:
            one = self.separation
            lines.append(
                f"they part at ACK {one.ack}, {one.time_ms:.3f} ms: the log has {one.logged_bytes} B, the runner-up "
                f"{one.runner_up_bytes} B"
            )
        if self.best.misfit > 1 and self.verdict in (Verdict.IDENTIFIED, Verdict.TIE):
            usual = 100 * _usual_unexplained(self.best, self.windowless)
            lines.append(
                f"flows of {self.best.growth} leave at most {usual:.0f} % unexplained: the sender has a variant of it, "
                "or another algorithm"
            )
        if len(self.ties) > 1:
            lines.append(f"equal on this path: {', '.join(self.ties)}")
        if len(self.slow_starts) > 1:
            lines.append(f"slow starts that explain it equally well: {', '.join(self.slow_starts)}")
        if self.app_limited_share > 0:
            share = 100 * self.app_limited_share
            lines.append(f"the application limited the sender for {share:.0f} % of the {self.acks} ACKs (inferred)")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """All values as JSON has them."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        ranking = [asdict(one) for one in self.ranking]
        for one in ranking:
            del one["miss_list"], one["log_bits"], one["coarse"], one["unknown"]
        nested = {
            "ranking": ranking,
            "parameters": [asdict(one) for one in self.parameters],
            "separation": self.separation and asdict(self.separation),
            "verdict": str(self.verdict),
        }
        return plain | nested | {"headline": self.headline()}


@dataclass(frozen=True)
class _Log:
    """A log and what the caller knows about it."""

    name: str
    content: bytes
    keywords: dict[str, Any]

    def explanations(
        self, names: Sequence[str], unknown: Unknown = USUAL, most_bits: Sequence[float] | None = None
    ) -> tuple[list[Explanation], dict[str, Any]]:
        """The explanations by algorithms, in their order, without those of more than ``most_bits`` bits; and what the
        engine says about the log where there is the first one."""
        if not names:
            return [], {}
        keywords = self.keywords | unknown._asdict() | {"most_bits": most_bits}
        found = json.loads(_explain(self.content, self.name, list(names), acks=_MAX_ACKS, **keywords))
        return [_explanation(one, unknown) for one in found if one], found[0] or {}


def identify(
    log: Path | str,
    *,
    candidates: Sequence[str] | None = None,
    connection: str | None = None,
    samples: Path | str | None = None,
    mss_bytes: int | None = None,
    initial_cwnd_bytes: int | None = None,
) -> Identification:
    """Ranks the algorithms of the catalogue by how well they explain the log of a sender.

    Parameters
    ----------
    log
        A qlog file (JSON-SEQ or JSON) of the sender, or a capture (pcap or pcapng) of TCP.
    candidates
        Names of the congestion avoidances to choose from. The default is the catalogue without those that need routers.
    connection
        The connection, where the log has several.
    samples
        For a capture, a file of the sender's windows: times of ``date +%s.%N`` and the output of ``ss -tinmO`` in turn.
        Without it, the bytes in flight are explained.
    mss_bytes
        Payload of a full datagram or segment, bytes. The default is that of the log, else the largest packet.
    initial_cwnd_bytes
        Initial window, bytes. The default is that of the log, else the first logged window.

    Raises
    ------
    ScenarioError
        A candidate is not in the catalogue, there is none, or samples are given beside a qlog.
    RecordsError
        The file is unreadable, is not a log, or lacks windows or ACKs; a size is not positive.

    Examples
    --------
    >>> import tempfile
    >>> import cwndlab
    >>> scenario = cwndlab.presets.load("single").with_({"packets": True, "sample_interval": "5 ms"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = cwndlab.export.export(cwndlab.run(scenario, seed=1), "qlog", folder)[0]
    ...     result = cwndlab.identify(log)
    >>> result.best.growth, result.best.misses
    ('cubic', 0)
    """
    check_size("mss_bytes", mss_bytes, example=1448)
    check_size("initial_cwnd_bytes", initial_cwnd_bytes, example=14480)
    content = read_log(log, "give the log of a sender")
    windows = read_samples(samples, content)
    known = {"connection": connection, "samples": windows, "mss": mss_bytes, "initial_cwnd": initial_cwnd_bytes}
    entries = _candidates(candidates)
    result = _ranked(_Log(str(log), content, known), entries)
    if result.best.misfit > 1 and result.protocol == "TCP" and not result.windowless:
        by_flights = _ranked(_Log(str(log), content, known | {"flights": True}), entries)
        if _tells_more(by_flights, result):
            return by_flights
    return result


def _tells_more(by_flights: Identification, by_windows: Identification) -> bool:
    """Whether the bytes in flight tell more than the windows: those of an algorithm with random times of its probes."""
    if by_windows.verdict is not Verdict.UNKNOWN and not by_flights.best.coarse:
        return False
    return by_flights.verdict is not Verdict.UNKNOWN and by_flights.best.misfit < by_windows.best.misfit


def _ranked(source: _Log, entries: dict[str, Algorithm]) -> Identification:
    explained, about = source.explanations([_usual(one) for one in entries.values()])
    for improve in (_with_forms, _with_slow_starts, _with_unknowns, _with_reductions, _with_parameters):
        explained = improve(source, explained, entries)
    ranking = sorted(explained, key=_surprise)
    starts, _ = source.explanations(_slow_starts(ranking[:1], entries))
    least = min((one.surprise_bits for one in starts), default=0.0)
    tied = [one.slow_start.partition("(")[0] for one in starts if one.surprise_bits <= least + _margin(about)]
    return _identification(source, about, ranking, tied, entries)


def _surprise(one: Explanation) -> float:
    return one.surprise_bits


def _candidates(names: Sequence[str] | None) -> dict[str, Algorithm]:
    """The congestion avoidances and complete algorithms that a log determines, in the order of the catalogue."""
    usable = {one.name: one for one in algorithms() if one.kind in ("growth", "whole") and not one.agents}
    if names is not None and not names:
        raise ArgumentError(parameter_fault("candidates", "there is none to choose from", example=["cubic", "reno"]))
    for name in names or ():
        if name not in usable:
            what = f"'{name}' is not a congestion avoidance of the catalogue"
            raise ArgumentError(parameter_fault("candidates", what, hint=_CANDIDATES_HINT))
    return {name: one for name, one in usable.items() if names is None or name in names}


def _margin(about: dict[str, Any]) -> float:
    return _FLIGHT_TIE_BITS if about["windowless"] else _TIE_BITS


def _usual(entry: Algorithm) -> str:
    return f"{entry.name}+{entry.companion}" if entry.companion else entry.name


def _explanation(found: dict[str, Any], unknown: Unknown) -> Explanation:
    misses = [Miss(*row) for row in found["misses"]]
    return Explanation(
        algorithm=found["algorithm"],
        surprise_bits=found["bits"] + _DIFFERENCE_BITS * found["difference"] / max(found["windows"], 1),
        explained=0.0,
        misfit=0.0,
        misses=len(misses),
        kinds=dict(Counter(one.kind for one in misses).most_common()),
        log_bits=found["constant_bits"],
        acks=found["acks"],
        app_limited=found["app_limited"],
        miss_list=tuple(misses),
        coarse=found["coarse"],
        unknown=unknown,
    )


def _with_forms(log: _Log, explained: list[Explanation], entries: dict[str, Algorithm]) -> list[Explanation]:
    """The explanations by the modules of Linux, where they fit better than the algorithms of the sources."""
    return _better(log, explained, [form.algorithm for name in entries for form in FORMS.get(name, ())])


def _slow_start_names(entry: Algorithm) -> list[str]:
    """The slow starts that a log determines and that can be combined with an algorithm."""
    if entry.kind == "whole" or not entry.companion:
        return []
    excluded = {name for name, _ in entry.incompatible}

    def fits(one: Algorithm) -> bool:
        return one.name not in excluded and entry.name not in {name for name, _ in one.incompatible}

    return [one.name for one in algorithms("slow-start") if not one.agents and fits(one)]


def _slow_starts(those: Sequence[Explanation], entries: dict[str, Algorithm]) -> list[str]:
    """Algorithms with each slow start; one that a module of Linux has, as it has it."""
    out = []
    for one in those:
        head = one.algorithm.partition("+")[0]
        own = one.form.slow_start if one.form else ""
        names = _slow_start_names(entries[one.growth])
        out += [f"{head}+{own if own.partition('(')[0] == name else name}" for name in names]
    return out


def _with_slow_starts(log: _Log, explained: list[Explanation], entries: dict[str, Algorithm]) -> list[Explanation]:
    """The explanations with the slow starts that fit best, where the usual ones do not fit."""
    near = min(one.surprise_bits for one in explained) + _NEAR_BITS

    def differs(one: Explanation) -> bool:
        return one.misses > 0 and (one.surprise_bits < near or any(kind.startswith("slow-start") for kind in one.kinds))

    return _better(log, explained, _slow_starts([one for one in explained if differs(one)], entries))


def _with_unknowns(log: _Log, explained: list[Explanation], entries: dict[str, Algorithm]) -> list[Explanation]:
    """The explanations by model-based and paced algorithms with the values of what no log has that fit best."""
    near = min(one.surprise_bits for one in explained) + _NEAR_BITS
    before = {one.algorithm: one for one in explained if one.coarse and one.misses and one.surprise_bits < near}
    explained = _better(log, explained, list(before), Unknown(fills_when_paced=True))
    seeded, _ = log.explanations(list(before), Unknown(seed=1))
    random = [one.algorithm for one in seeded if one.miss_list != before[one.algorithm].miss_list]
    for seed in range(1, _SEEDS):
        for fills in (False, True):
            explained = _better(log, explained, random, Unknown(seed, fills))
    return explained


def _with_reductions(log: _Log, explained: list[Explanation], entries: dict[str, Algorithm]) -> list[Explanation]:
    """The explanations with the factor of the sender's own reductions, where those differ, by each form: with another
    factor another module may fit."""
    fits = []
    for one in explained:
        misses = [miss for miss in one.miss_list if miss.kind in _REDUCTIONS]
        ratios = [miss.logged_bytes / max(miss.reference_bytes, 1) for miss in misses]
        for each in _numbers(entries[one.growth]):
            if each.name == "beta" and ratios:
                factor = float(each.default) * median(ratios)
                for form in (None, *FORMS.get(one.growth, ())):
                    fits += _fits(one, each, [factor], form)
    return _better(log, explained, fits)


def _with_parameters(log: _Log, explained: list[Explanation], entries: dict[str, Algorithm]) -> list[Explanation]:
    """The explanations with a parameter of the first ones changed, where that explains the log better."""
    for number, factors in enumerate(_FACTORS):
        fits: dict[Unknown, list[str]] = defaultdict(list)
        for one in sorted(explained, key=_surprise)[:_FITTED]:
            changed = one.changed
            if one.misses < _LEAST_MISSES or (changed is None and number > 0):
                continue
            for each in _numbers(entries[one.growth]):
                if changed[0] == each.name if changed else not (one.form and each.name in one.form.settings):
                    middle = float(each.default) if changed is None else changed[1]
                    fits[one.unknown] += _fits(one, each, [middle * factor for factor in factors], one.form)
        for unknown, names in fits.items():
            explained = _better(log, explained, names, unknown)
    return explained


def _numbers(entry: Algorithm) -> list[CatalogueParameter]:
    """The parameters whose values can be scaled."""
    return [one for one in entry.parameters if isinstance(one.default, float) and one.default]


def _fits(one: Explanation, parameter: CatalogueParameter, values: Sequence[float], form: Form | None) -> list[str]:
    """An algorithm in a form with values of a parameter, within its range."""
    low = -inf if parameter.low is None else parameter.low
    high = inf if parameter.high is None else parameter.high
    rounded = {float(f"{value:.3g}") for value in values if low <= value <= high}
    plus = f"+{one.slow_start}" if one.slow_start else ""
    own = "".join(f"{name}={value}," for name, value in form.settings.items() if name != parameter.name) if form else ""
    return [f"{one.growth}({own}{parameter.name}={value:g}){plus}" for value in sorted(rounded)]


def _better(
    log: _Log, explained: list[Explanation], others: Sequence[str], unknown: Unknown = USUAL
) -> list[Explanation]:
    """The better explanations of each congestion avoidance; a changed parameter and an unusual unknown cost bits."""
    best = {one.growth: one for one in explained}
    most_bits = [best[growth_of(one)].surprise_bits for one in others]
    for one in log.explanations(others, unknown, most_bits)[0]:
        price = (one.changed is not None) * _PARAMETER_BITS + (unknown != USUAL) * _UNKNOWN_BITS
        price += log2(1 + len(FORMS[one.growth])) if one.form else 0.0  # one of so many forms
        priced = replace(one, surprise_bits=one.surprise_bits + price)
        best[one.growth] = min(best[one.growth], priced, key=_surprise)
    return list(best.values())


def _usual_unexplained(one: Explanation, windowless: bool) -> float:
    return _USUAL_UNEXPLAINED["flights" if windowless else "windows", "coarse" if one.coarse else "fine"]


def _of_log(one: Explanation, log_bits: float, windowless: bool) -> Explanation:
    """An explanation with its parts of a log's bits."""
    price = _PARAMETER_BITS if one.changed else 0.0
    misfit = (one.surprise_bits - price) / log_bits / _usual_unexplained(one, windowless)
    return replace(one, explained=max(0.0, 1 - one.surprise_bits / log_bits), misfit=misfit)


def _identification(
    log: _Log, about: dict[str, Any], ranking: list[Explanation], slow_starts: list[str], entries: dict[str, Algorithm]
) -> Identification:
    log_bits = max(one.log_bits for one in ranking)
    ranking = [_of_log(one, max(log_bits, 1.0), about["windowless"]) for one in ranking]
    best = ranking[0]
    ties = [one.growth for one in ranking if one.surprise_bits <= best.surprise_bits + _margin(about)]
    limited = best.app_limited / best.acks if best.acks else 0.0
    if log_bits < _LEAST_BITS:
        verdict = Verdict.UNDETERMINED
    elif best.explained < _LEAST_EXPLAINED:
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.TIE if len(ties) > 1 else Verdict.IDENTIFIED
    return Identification(
        log=log.name,
        connection=about["connection"],
        protocol=about["protocol"],
        windowless=about["windowless"],
        acks=best.acks,
        log_bits=log_bits,
        app_limited_share=limited,
        verdict=verdict,
        ranking=tuple(ranking),
        ties=tuple(ties),
        slow_starts=tuple(slow_starts),
        parameters=_parameters(best, entries[best.growth]),
        separation=_separation(best, next((one for one in ranking if one.growth not in ties), None)),
        notes=tuple(about["notes"]),
    )


def _parameters(best: Explanation, entry: Algorithm) -> tuple[Parameter, ...]:
    """The parameters of an explanation, with the values of their source."""
    textbook = {one.name: one.default for one in entry.parameters}
    return () if best.changed is None else (Parameter(*best.changed, float(textbook[best.changed[0]])),)


def _separation(best: Explanation, other: Explanation | None) -> Separation | None:
    """The first window that the other explanation misses and the best one does not."""
    if other is None:
        return None
    times = {miss.time_ms for miss in best.miss_list}
    first = next((miss for miss in other.miss_list if miss.time_ms not in times), None)
    return first and Separation(first.time_ms, first.acks, first.logged_bytes, first.reference_bytes)

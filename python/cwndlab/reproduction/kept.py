"""Kept results: the rows of finished runs without their records, small enough for a repository.

    DIR/manifest.json, DIR/runs/   a store (`cwndlab.study.store`): a row per run with hash of the records, values, and
                                   thinned curves; its engine is the probe
    DIR/index.json                 probes; of each experiment and size: command, version, machine, date, CPU time,
                                   numbers of runs

A row is used as long as the behaviour that gave it is unchanged, whatever has happened to the sources. Probes decide
that: for each measure and each set of algorithms that it is applied to, the cheapest run of quick size, with the hash
of its records and its measured values. A probe is run again before its rows are used. If records or values differ, its
rows are not used, and their runs are repeated. Witnesses (`cwndlab.reproduction.witnesses`) are rows whose own runs are
repeated for the same reason.

The store of the study is the only place where a reproduction looks for finished runs: rows enter it from here when the
work begins, and leave it to here while it goes on.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from math import isclose, isfinite, isnan
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cwndlab.engine import available_cores, engine_version, version
from cwndlab.errors import Error, Fault, Parameter, RecordsError, ScenarioError
from cwndlab.files import json_text, parsed, save
from cwndlab.reproduction.cases import Case, Measure, measure_name
from cwndlab.reproduction.experiment import Experiment
from cwndlab.scenario.reader import check
from cwndlab.simulate import run_text
from cwndlab.study.calibration import size
from cwndlab.study.spec import Row
from cwndlab.study.store import Store

SizeName: TypeAlias = Literal["quick", "full"]
Message: TypeAlias = Callable[[str], Any]

SCHEMA_VERSION = 1
INDEX = "index.json"
#: The largest number of points of a kept curve. Its values have three significant digits: curves are only drawn.
MOST_POINTS = 200
# The bits of a single-precision number that are dropped: 11 of 23 remain, a relative error of at most 2⁻¹².
_DROPPED_BITS = 12
_SEED = 1
#: Measured values of a probe may differ so much: their last digits depend on numerical libraries.
_TOLERANCE = 1e-8
# Parameters that are numbers do not make another algorithm; parameters that are words choose a law.
_NUMBERS = re.compile(r"[\w-]+\s*=\s*[-+.]?\d[\w.+-]*\s*,?\s*")
#: What else a folder of kept results has: the index, a plan (`cwndlab.reproduction.standing`), outcomes of universes.
_BESIDE = (INDEX, "plan.json", "multiverse")


def scenario_key(scenario: Mapping[str, Any]) -> str:
    """The identity of a scenario as its experiment states it, without the title.

    The hash of the canonical form would change with every field that the simulator gains; whether its defaults behave
    as before is what probes tell.

    Returns
    -------
    32 hexadecimal digits.

    Examples
    --------
    >>> scenario_key({"title": "a", "duration": "1 s"}) == scenario_key({"duration": "1 s", "title": "b"})
    True
    """
    stated = {name: value for name, value in scenario.items() if name != "title"}
    return hashlib.sha256(json_text(stated, sort_keys=True).encode()).hexdigest()[:32]


def kind(scenario: Mapping[str, Any]) -> str:
    """The algorithms and stack profiles of a scenario's flows, without numerical parameters.

    >>> kind({"flow": [{"algorithm": "iotcc(alpha=4, increase=literal)/sack", "profile": "ns2"}, {}]})
    'iotcc(increase=literal)/sack ns2 + udp'
    """
    kinds = set()
    for flow in scenario.get("flow", ()):
        algorithm = re.sub(r"\(\s*\)", "", _NUMBERS.sub("", flow.get("algorithm", "udp"))).replace(", )", ")")
        kinds.add(f"{algorithm} {flow.get('profile', '')}".strip())
    return " + ".join(sorted(kinds))


@dataclass(frozen=True)
class Probe:
    """A short run that represents the behaviour behind many rows."""

    measure: str
    kind: str
    scenario: str
    """JSON."""
    seed: int
    records: str
    """SHA-256 of all records."""
    values: Mapping[str, float | None]
    """What the measure gives, to nine significant digits."""

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that name the probe in the rows."""
        return hashlib.sha256(json_text(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    @classmethod
    def of(cls, case: Case) -> Probe:
        """Runs the scenario of a case."""
        records, values = _run(json_text(case.scenario), case.measure)
        scenario = json_text(case.scenario, sort_keys=True)
        return cls(measure_name(case.measure), kind(case.scenario), scenario, _SEED, records, values)

    def difference(self, measure: Measure) -> str:
        """Runs the probe again with a measure.

        Returns
        -------
        What differs from the kept behaviour; an empty text where nothing does.
        """
        try:
            records, values = _run(self.scenario, measure, self.seed)
        except Error as error:
            return f"its scenario cannot be run: {error.faults[0].what if error.faults else error}"
        return _changed((self.records, self.values), (records, values))


def _run(scenario: str, measure: Measure, seed: int = _SEED) -> tuple[str, dict[str, float | None]]:
    records = run_text(scenario, seed=seed)
    values = {name: _nine_digits(value) for name, value in measure(records).items()}
    return records.hash(), values


def _changed(before: tuple[str, Mapping[str, float | None]], now: tuple[str, Mapping[str, float | None]]) -> str:
    """What differs between the hashes and the measured values of two runs; an empty text where nothing does."""
    (records, values), (new_records, new_values) = before, now
    if records != new_records:
        return f"records {records[:12]} are now {new_records[:12]}"
    if names := sorted(values.keys() ^ new_values.keys()):
        return f"{names[0]} is measured {'now' if names[0] in new_values else 'no longer'}"
    for name, value in values.items():
        if not _equal(value, new_values[name]):
            return f"{name} was {value} and is {new_values[name]}"
    return ""


def _nine_digits(value: float | None) -> float | None:
    return None if value is None or isnan(value) else float(f"{value:.9g}")


def _equal(before: float | None, now: float | None) -> bool:
    if before is None or now is None:
        return before is now
    return isclose(before, now, rel_tol=_TOLERANCE)


class KeptResults:
    """The results in a folder.

    Parameters
    ----------
    folder
        With the files of this module; it need not exist.
    write
        Locks the folder, which is created if necessary. Otherwise it is only read.

    Raises
    ------
    RecordsError
        The folder is in use by another process, or its files are of another version.
    """

    def __init__(self, folder: Path | str, *, write: bool = False) -> None:
        self.folder = Path(folder)
        self._store, self._writes, self._is_replaced = Store(folder, write=write, beside=_BESIDE), write, False
        self._verdicts: dict[tuple[str, str], str] = {}
        self._repeated: dict[tuple[str, int, str], str] = {}
        try:
            self._index = self._read_index()
        except BaseException:
            self.close()
            raise
        self.probes = {digest: Probe(**one) for digest, one in self._index["probes"].items()}

    def perturbed(self, wanted: bool | None, message: Message | None = None) -> bool:
        """Whether the runs of this folder are perturbed (``perturb`` of a scenario); all of them are, or none is.

        Parameters
        ----------
        wanted
            What the caller asks for; ``None`` is as the kept runs are, and perturbed in an empty folder.
        message
            Called with a remark where nothing is asked for and the kept runs are not perturbed.

        Raises
        ------
        ScenarioError
            The kept runs are of the other kind.
        """
        there: bool | None = self._index.get("perturbed", False) if self._index["experiments"] else None
        if wanted is not None and there is not None and wanted != there:
            what = f"the runs in {self.folder} are {'' if there else 'not '}perturbed, and are not mixed with others"
            hint = f"leave out {'--perturb' if wanted else '--no-perturb'}, or name another folder by --results"
            raise ScenarioError(Fault(Parameter("perturb"), what, hint))
        if wanted is None and there is False and message is not None:
            message(f"{self.folder}: its runs are not perturbed, and neither are the new ones")
        known = there if there is not None else wanted is not False
        self._index["perturbed"] = known
        return known

    def close(self) -> None:
        """Writes the rows, without those that later ones replaced, and releases the lock."""
        if self._is_replaced:
            self._store.compact()
        self._store.close()

    # Files.

    def _read_index(self) -> dict[str, Any]:
        path = self.folder / INDEX
        if not path.exists():
            return {"schema_version": SCHEMA_VERSION, "experiments": {}, "probes": {}}
        try:
            index: dict[str, Any] = parsed(path.read_bytes())
            known = index["schema_version"] == SCHEMA_VERSION and isinstance(index["probes"], dict)
        except (OSError, ValueError, KeyError, TypeError):
            known = False
        if not known:
            what = f"is not an index of kept results, or not of schema {SCHEMA_VERSION}"
            raise RecordsError(Fault(str(path), what, "choose another folder by --results"))
        return index

    def save(self) -> None:
        """Writes the index."""
        self._index["probes"] = {digest: asdict(self.probes[digest]) for digest in sorted(self.probes)}
        self._index["experiments"] = dict(sorted(self._index["experiments"].items()))
        save(json_text(self._index, indent=1, ensure_ascii=False) + "\n", self.folder / INDEX)

    # Rows.

    @cached_property
    def _rows(self) -> dict[str, dict[tuple[int, str], Row]]:
        """The rows by scenario, then by seed and measure."""
        frame, made = self._store.rows(), dict[str, dict[tuple[int, str], Row]]()
        if self._store.notes:
            hint = "restore it, or choose another folder by --results"
            raise RecordsError(Fault(str(self.folder), self._store.notes[0], hint))
        for row in frame.iter_rows(named=True):
            made.setdefault(row["scenario_hash"], {})[row["seed"], row["measure"]] = row
        return made

    def rows(self, scenario: str, seed: int) -> list[Row]:
        """The kept rows of a run, whether or not their probes are valid: ``engine`` is the probe, ``payload`` as in the
        study's store."""
        return self.by_seed(scenario).get(seed, [])

    def by_seed(self, scenario: str) -> dict[int, list[Row]]:
        """The kept rows of a scenario, as `rows` gives them for each seed."""
        found: dict[int, list[Row]] = {}
        for (seed, _), row in self._rows.get(scenario, {}).items():
            found.setdefault(seed, []).append(row)
        return found

    @staticmethod
    def has_curves(row: Row) -> bool:
        """Whether a kept row is of a first repetition, which has curves."""
        return '"curves":{}' not in row["payload"]

    def add(self, scenario: str, seed: int, probe: Probe, payload: Mapping[str, Any]) -> None:
        """Keeps the row of a run, from what the study's store has of it; it replaces an older one of the same run, but
        never one of the same behaviour that has curves by one that has none."""
        known = self._rows.get(scenario, {}).get((seed, probe.measure))
        if known is not None and known["engine"] == probe.digest and not payload["curves"] and self.has_curves(known):
            return
        curves = {name: [_thinned(x), _thinned(y)] for name, (x, y) in payload["curves"].items()}
        key = hashlib.sha256(f"{scenario} {seed} {probe.measure}".encode()).hexdigest()[:32]
        row: Row = {"key": key, "scenario_hash": scenario, "seed": seed, "engine": probe.digest}
        row |= {"measure": probe.measure, "payload": json_text({**payload, "curves": curves}, separators=(",", ":"))}
        self._is_replaced |= (seed, probe.measure) in self._rows.get(scenario, {})
        self._rows.setdefault(scenario, {})[seed, probe.measure] = row
        self._store.add(row)

    def refuse(self, scenario: str, measure: Measure) -> None:
        """Uses the rows of a scenario with a measure no more, whatever its probe says."""
        for of, row in self._rows.get(scenario, {}).items():
            if row["measure"] == measure_name(measure) and row["engine"]:
                self._rows[scenario][of] = refused = {**row, "engine": ""}
                if self._writes:
                    self._is_replaced = True
                    self._store.add(refused)

    # Witnesses (`cwndlab.reproduction.witnesses`).

    def may_hold(self, row: Row, measure: Measure) -> bool:
        """Whether a row of this measure is used, as far as its probe says."""
        return row["measure"] == measure_name(measure) and not self.difference(row["engine"], measure)

    def is_of_probe(self, row: Row, case: Case, seed: int) -> bool:
        """Whether a row is of the run that its probe repeats."""
        probe = self.probes[row["engine"]]
        return seed == probe.seed and probe.scenario == json_text(case.scenario, sort_keys=True)

    def repeated(self, case: Case, seed: int, row: Row) -> str:
        """Repeats the run of a row, once per process: what differs, or an empty text."""
        asked = (scenario_key(case.scenario), seed, row["measure"])
        if asked not in self._repeated:
            payload = parsed(row["payload"])
            records, values = _run(json_text(case.scenario), case.measure, seed)
            self._repeated[asked] = _changed((payload["records"], payload["values"]), (records, values))
        return self._repeated[asked]

    # Probes.

    def difference(self, digest: str, measure: Measure) -> str:
        """Runs a probe again, once per process: what differs from the kept behaviour, or an empty text."""
        if digest not in self.probes:
            return "its probe is not in the index"
        asked = (digest, measure_name(measure))
        if asked not in self._verdicts:
            self._verdicts[asked] = self.probes[digest].difference(measure)
        return self._verdicts[asked]

    def probe_of(self, case: Case, among: Sequence[Case]) -> Probe:
        """The valid probe of a case's measure and algorithms: a kept one, or the cheapest of ``among``."""
        name, of = measure_name(case.measure), kind(case.scenario)
        for digest, probe in self.probes.items():
            if (probe.measure, probe.kind) == (name, of) and not self.difference(digest, case.measure):
                return probe
        alike = [one for one in among if kind(one.scenario) == of and measure_name(one.measure) == name]
        probe = Probe.of(min(alike or [case], key=lambda one: (cost(one.scenario), scenario_key(one.scenario))))
        self.probes[probe.digest] = probe
        self._verdicts[probe.digest, name] = ""
        self.save()  # before its rows: a row without its probe is never used
        return probe

    # The index.

    def note(self, experiment: Experiment, size: SizeName, **facts: Any) -> None:
        """Notes facts of an experiment of a size; ``cpu_s`` and ``runs_made`` are added to earlier ones."""
        entry = self._index["experiments"].setdefault(experiment.id, {}).setdefault(size, {})
        for name in ("cpu_s", "runs_made"):
            if name in facts:
                facts[name] = round(facts[name] + entry.get(name, 0), 3)
        entry |= facts

    def facts(self, experiment: Experiment, size: SizeName) -> dict[str, Any]:
        """What the index has of an experiment of a size."""
        facts: dict[str, Any] = self._index["experiments"].get(experiment.id, {}).get(size, {})
        return facts


def origin(command: str) -> dict[str, str]:
    """Where and when rows were made."""
    machine = f"{_processor()}, {available_cores()} cores, {platform.system()} {platform.machine()}"
    day = datetime.now(UTC).date().isoformat()
    return {"command": command, "version": version(), "engine": engine_version(), "machine": machine, "date": day}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def cost(scenario: Mapping[str, Any]) -> float:
    """Packets that the path of a scenario could carry: an order of costs, not an estimate."""
    return size(json.loads(check(json_text(scenario), "json").canonical))


def _thinned(points: Sequence[float | None]) -> list[Any]:
    """Every n-th point, rounded so that rows compress well."""
    step = -(-len(points) // MOST_POINTS)
    return [None if point is None else _rounded(point) for point in points[::step]] if step else []


def _rounded(value: float) -> float:
    """A single-precision number with few bits.

    >>> _rounded(12345.6), _rounded(0.0), _rounded(float("inf"))
    (12344.0, 0.0, inf)
    """
    if not isfinite(value):
        return value
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    bits += 1 << (_DROPPED_BITS - 1)
    (rounded,) = struct.unpack("<f", struct.pack("<I", bits >> _DROPPED_BITS << _DROPPED_BITS))
    return float(rounded)

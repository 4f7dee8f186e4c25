"""A dossier: the rows, its first page, Markdown for a draft's appendix, files, the comparison with an earlier one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cwndlab.assessment.criteria import BASELINES, ENVIRONMENTS, QUICK_SEEDS, SEEDS
from cwndlab.assessment.judgement import part_words, words
from cwndlab.assessment.parts import PARTS
from cwndlab.errors import Fault, RecordsError, ScenarioError
from cwndlab.files import json_text, parsed, save
from cwndlab.scenario.document import Scenario
from cwndlab.statistics.digits import number
from cwndlab.study.rendering import Table, notebook

#: The file of a saved dossier.
FILE = "dossier.json"
Place = tuple[str, int]
Where: TypeAlias = Literal["simulated", "emulated", "linux", "quic"]
_SIGNS = {1: "better", -1: "worse"}
_NOT_MEASURED = {"finding": "not assessed", "reason": "the campaign has no transfers of it"}
_FINDINGS = ("better", "as", "worse", "unresolved", "not assessed")


def worst_places(content: Mapping[str, Any]) -> list[Place]:
    """Family and number of the cells in which a measure has its worst effect against CUBIC."""
    against = [(one["family"], one["against"]["cubic"]) for row in content["rows"] for one in row["measures"]]
    return list(dict.fromkeys((family, one["worst_cell"]) for family, one in against if "worst_cell" in one))


@dataclass(frozen=True, repr=False)
class Dossier:
    """The findings on an algorithm, by the criteria of RFC 9743.

    Attributes
    ----------
    content
        Plain values: ``rows`` by criterion, ``controls``, ``families`` of cells, and what was run.
    scenarios
        The scenarios, JSON, of the cells with the worst effects, by family and number.
    part_scenarios
        Those of the cells in other environments, by the keys of `PARTS`.
    sources
        The file with the assessed class, by its name, if it is one: `save` puts it beside the scenarios that need it.
    """

    content: dict[str, Any]
    scenarios: Mapping[Place, str] = field(default_factory=dict)
    part_scenarios: Mapping[str, Mapping[Place, str]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = {name: sum(name in row["environments"] for row in self.rows) for name in self.parts.values()}
        more = "".join(f", {count} of them {name}" for name, count in counts.items())
        return f"<Dossier of {self.algorithm}: {len(self.rows)} criteria, {self._assessed} assessed{more}>"

    def _repr_html_(self) -> str:
        return notebook(self.table(), self.verdicts())

    @property
    def algorithm(self) -> str:
        """The assessed algorithm."""
        return str(self.content["algorithm"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row per criterion."""
        return list(self.content["rows"])

    @property
    def _assessed(self) -> int:
        return sum(bool(row["measures"]) for row in self.rows)

    @property
    def parts(self) -> dict[str, str]:
        """The other environments that were requested: those of `PARTS` that the contents have."""
        return {key: one.name for key, one in PARTS.items() if key in self.content}

    @property
    def is_live(self) -> bool:
        """Whether there is a campaign on a real path."""
        return "live" in self.content

    def finding(self, section: str, measure: int = 0, baseline: str = "cubic", environment: Where = "simulated") -> str:
        """The finding of a section's measure, such as ``"worse than CUBIC"``.

        Raises
        ------
        ScenarioError
            There is no such row, or no such environment in the dossier.
        """
        row = next((row for row in self.rows if row["section"] == section), None)
        if row is None:
            raise ScenarioError(Fault("section", f"'{section}' is no row", "a section of RFC 9743, such as '5.2.1'"))
        if not row["measures"]:
            return f"not assessed because {row['reason']}"
        one = row["measures"][measure]
        if environment == "simulated":
            return words(one["against"][baseline], baseline)
        if environment not in PARTS:
            what, hint = f"there is no '{environment}'", f"write simulated or one of {', '.join(PARTS)}"
            raise ScenarioError(Fault("environment", what, hint))
        if environment not in self.parts:
            absent = PARTS[environment]
            what = absent.absent[0].lower() + absent.absent[1:]
            raise ScenarioError(Fault("environment", what, f"assess with {absent.argument}=True"))
        return part_words(one[environment], baseline)

    def _measures(self) -> Iterator[tuple[dict[str, Any], dict[str, Any], bool]]:
        """Every row with every measure, and whether it is the row's first."""
        for row in self.rows:
            for at, one in enumerate(row["measures"]):
                yield row, one, at == 0

    def table(self) -> Table:
        """The first page: a line per measure, and per criterion that is not assessed."""
        others = [f"{name} against {base}" for name in self.parts.values() for base in BASELINES.values()]
        others = ["environments", *others] if self.parts or self.is_live else []
        title = [
            "§",
            "word",
            "criterion",
            "against CUBIC",
            "against Reno",
            *others,
            *(f"{name} change\n%" for name in self.parts.values()),
            "change against CUBIC\n%",
            "range\n%",
            "value",
            "CUBIC",
            "Reno",
            "unit",
            "worst cell",
        ]
        lines: dict[tuple[str, int], list[str]] = {}
        for row in self.rows:
            if not row["measures"]:
                blank = [""] * (len(title) - 4)
                lines[row["section"], 0] = [row["section"], row["word"], row["title"], "not assessed", *blank]
            for at, one in enumerate(row["measures"]):
                lines[row["section"], at] = self._line(row, one, at == 0)
        values = [
            {"section": row["section"], "word": row["word"], "what": one["what"], **_flat(self.algorithm, one)}
            for row, one, _ in self._measures()
        ]
        caption = f"{self.algorithm} in the place of CUBIC and of Reno, RFC 9743"
        return Table(caption, title, list(lines.values()), 5 + len(others), values, words=("unit", "worst cell"))

    def _line(self, row: Mapping[str, Any], one: Mapping[str, Any], first: bool) -> list[str]:
        against = one["against"]
        raws = [one["raw"][name]["mean"] for name in (self.algorithm, *BASELINES)]
        head = [row["section"], row["word"]] if first else ["", ""]
        found = [words(against[base], base) for base in BASELINES]
        if self.parts or self.is_live:
            found.append(", ".join(row["environments"]) if first else "")
        for key in self.parts:
            against_them = one[key].get("against")
            found += [words(against_them[base], base) for base in BASELINES] if against_them else ["not assessed", ""]
        found += [_change(one[key].get("against", {}).get("cubic", {})) for key in self.parts]
        shown = [_change(against["cubic"]), _range(against["cubic"]), *(_shown(value, one["factor"]) for value in raws)]
        worst = _name((one["family"], against["cubic"]["worst_cell"])) if _harms(one) else ""
        what = measure_name(row, one) if first else one["what"]
        return [*head, what, *found, *shown, one["unit"], worst]

    def verdicts(self) -> list[str]:
        """What a reader must know first: how many measures have which finding, whether it backs off where nothing
        arrives, and in how many cells others starve or circuit breakers trip."""
        counts: dict[str, dict[str, int]] = {name: {} for name in _FINDINGS}
        for _, one, _ in self._measures():
            found = one["against"]["cubic"]
            of, word = counts[found["finding"]], words(found, "cubic")
            of[word] = of.get(word, 0) + 1
        lines = [", ".join(f"{count} {word}" for of in counts.values() for word, count in of.items())]
        for row, one, _ in self._measures():
            where = f"{row['section']}, {one['what']}"
            if sent := one.get("most_per_rtt"):
                rates = self._each({name: number(value) for name, value in sent.items()})
                lines.append(f"{where}: packets per RTT where nothing arrives: {rates}; full backoff is at most one")
            for key, word in (("starved_cells", "starved"), ("tripped_cells", "a circuit breaker trips")):
                cells = {name: one["raw"][name].get(key, 0) for name in (self.algorithm, *BASELINES)}
                if any(cells.values()):
                    lines.append(f"{where}: {word} in {self._each(cells)} of {self._cells(one['family'])} cells")
        return lines

    def _each(self, values: Mapping[str, Any]) -> str:
        """A value of the algorithm, and those of the baselines in its place."""
        return ", ".join(f"{value} with {BASELINES.get(name, name)}" for name, value in values.items())

    def contradicted(self) -> list[str]:
        """The findings to which the means of the values point the other way: a change weights all cells alike, and a
        mean is that of the cells with the largest values, and of runs with a value."""
        made = []
        for row, one, _ in self._measures():
            for base in BASELINES:
                word = one["against"][base]["finding"]
                mine, theirs = (one["raw"][name]["mean"] for name in (self.algorithm, base))
                if word not in _SIGNS.values() or None in (mine, theirs):
                    continue
                seems_better = mine > theirs if one["better"] == "more" else mine < theirs
                if mine != theirs and seems_better != (word == "better"):
                    made.append(f"{row['section']}, {measure_name(row, one)}: {words(one['against'][base], base)}")
        return made

    def part_table(self, part: str) -> Table:
        """A line per measure in another environment: against CUBIC, beside the simulator on the same cells."""
        title = [
            "§",
            "criterion",
            "cells",
            PARTS[part].name,
            "simulated, same cells",
            "change\n%",
            "simulated\n%",
            "value",
        ]
        title += ["CUBIC", "Reno", "unit"]
        rows = []
        for row, one in self._of_part(part):
            real = one[part]
            both = [real[name]["cubic"] for name in ("against", "same_cells")]
            cells = self.content[part]["families"][one["family"]]
            places = "; ".join(", ".join(map(str, cell["labels"].values())) for cell in cells)
            shown = [_shown(real["raw"][name]["mean"], one["factor"]) for name in ("assessed", *BASELINES)]
            head = [row["section"], f"{measure_name(row, one)} ({one['family']})", places]
            rows.append([*head, *(words(each, "cubic") for each in both), *map(_change, both), *shown, one["unit"]])
        return Table(f"{self.algorithm} {PARTS[part].where}", title, rows, 5, words=("unit",))

    def live_table(self) -> Table:
        """A line per campaign and measure: what transfers over real paths say."""
        title = ["§", "criterion", "environment", "servers", "blocks", "against CUBIC", "against Reno"]
        title += ["change against CUBIC\n%", "value", "CUBIC", "Reno", "unit"]
        rows = []
        for campaign in self.content.get("live", ()):
            where = ENVIRONMENTS[campaign["transport"]]
            for one in campaign["measures"]:
                found = [one["against"].get(base, _NOT_MEASURED) for base in BASELINES]
                shown = [_shown(one["raw"].get(name), one["factor"]) for name in ("assessed", *BASELINES)]
                head = [one["section"], measure_name(one, one), where, ", ".join(campaign["servers"])]
                told = [words(each, base) for each, base in zip(found, BASELINES, strict=True)]
                rows.append([*head, str(campaign["rounds"]), *told, _change(found[0]), *shown, one["unit"]])
        return Table(f"{self.algorithm} on real paths", title, rows, 7, words=("unit",))

    def _of_part(self, part: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """The rows and measures that another environment has."""
        yield from ((row, one) for row, one, _ in self._measures() if "against" in one.get(part, {}))

    def agreement(self, part: str) -> dict[str, int]:
        """Of the findings against CUBIC and Reno in another environment: ``all``, those which are the simulator's on
        the same cells (``equal``), those that are *better* in one environment and *worse* in the other (``opposite``),
        and those where the intervals of both have a common part (``overlap``)."""
        pairs = [
            [one[part][name][base] for name in ("against", "same_cells")]
            for _, one in self._of_part(part)
            for base in BASELINES
        ]
        found = [{one["finding"] for one in pair} for pair in pairs]
        return {
            "all": len(pairs),
            "equal": sum(len(pair) == 1 for pair in found),
            "opposite": sum(pair == {"better", "worse"} for pair in found),
            "overlap": sum(_overlap(*pair) for pair in pairs),
        }

    def part_reasons(self, part: str) -> list[str]:
        """Why measures are not in another environment, or in part."""
        made = []
        for row, one, _ in self._measures():
            real = one.get(part, {})
            where = f"{row['section']}, {one['what']}"
            if "reason" in real:
                made.append(f"{where}: not assessed because {real['reason']}")
            elif real.get("partly"):
                made.append(f"{where}: {real['partly']}")
        return made

    def _cells(self, family: str) -> int:
        return len(self.content["families"][family]["cells"])

    def _labels(self) -> dict[str, list[Any]]:
        families = self.content["families"]
        return {name: [cell["labels"] for cell in one["cells"]] for name, one in families.items()}

    def label(self, family: str, cell: int) -> str:
        """The values that distinguish a cell."""
        return ", ".join(str(value) for value in self.content["families"][family]["cells"][cell]["labels"].values())

    def worst(self) -> list[dict[str, str]]:
        """The cell of the worst effect against CUBIC of each measure that is worse somewhere: what, where, the effect,
        the file in the dossier's folder, and the command that opens its run."""
        made = []
        for row, one, _ in self._measures():
            found = one["against"]["cubic"]
            if not _harms(one):
                continue
            place = (one["family"], found["worst_cell"])
            file = f"worst/{_name(place)}.toml"
            source = Path(self.content["file"]).name
            classes = f" --algorithm-file {shlex.quote(source)}" if source else ""
            made.append(
                {
                    "section": row["section"],
                    "what": measure_name(row, one),
                    "cell": f"{one['family']}: {self.label(*place)}",
                    "effect": f"{100 * found['least']:+.0f} %",
                    "file": file,
                    "command": f"cwndlab debug {file} --seed {found['worst_seed']} --next reduction{classes}",
                }
            )
        return made

    def turns(self) -> list[dict[str, str]]:
        """Where the sign changes on a surface: neighbours on the axis of rates between which the effect against CUBIC
        changes from better to worse or back, by more than the margin."""
        made = []
        for row, one, _ in self._measures():
            family, effects = self.content["families"][one["family"]], one["against"]["cubic"].get("cells", {})
            if not family["surface"]:
                continue
            by_labels = {
                tuple(cell["labels"].values()): effects.get(str(at)) for at, cell in enumerate(family["cells"])
            }
            rates = list(dict.fromkeys(labels[0] for labels in by_labels))
            for rtt, buffer in dict.fromkeys(labels[1:] for labels in by_labels):
                signs = [(rate, _sign(by_labels[rate, rtt, buffer], one["margin"])) for rate in rates]
                known = [(rate, sign) for rate, sign in signs if sign]
                for (before, left), (after, right) in pairwise(known):
                    if left != right:
                        text = f"{_SIGNS[left]} up to {before}, {_SIGNS[right]} from {after}"
                        what, path = measure_name(row, one), f"{rtt}, {buffer}"
                        made.append({"section": row["section"], "what": what, "path": path, "turn": text})
        return made

    def command(self) -> str:
        """The command that makes it again."""
        parts = ["cwndlab assess", shlex.quote(self.content["file"] or self.algorithm)]
        parts += [f"--section {one}" for one in self.content["sections"]]
        parts += ["--quick"] if self.content["size"] == "quick" else []
        parts += [f"--{PARTS[key].argument}" for key in self.parts]
        parts += [f"--live {shlex.quote(one.get('folder', 'DIR'))}" for one in self.content.get("live", ())]
        usual = QUICK_SEEDS if self.content["size"] == "quick" else SEEDS
        parts += [f"--seeds {self.content['seeds']}"] if self.content["seeds"] != usual else []
        return " ".join([*parts, *([] if self.content["perturbed"] else ["--no-perturb"])])

    def facts(self) -> list[str]:
        """What was run, in sentences."""
        cells = sum(self._cells(name) for name in self.content["families"])
        if self.parts or self.is_live:
            places = " or ".join(PARTS[key].where for key in self.parts)
            more = [f"{places} where a column says so"] if places else []
            more += ["live in a table of its own"] if self.is_live else []
            environments = f"Environments: simulated, and {', and '.join(more)}."
        else:
            environments = "Environment of every number: simulated. "
            environments += "The emulator, kernels, QUIC stacks and live paths are not in it."
        return [
            f"{cells:,} cells × {self.content['seeds']} seeds, each with {self.algorithm}, CUBIC and Reno in the same "
            f"place; cwndlab {self.content['version']}.",
            environments,
            *(line for part in self.parts for line in self._facts_of(part)),
            "A change is (value − CUBIC's) / the larger of both, with the sign such that more than 0 is better, paired "
            "over equal cells and seeds, with its 95 % interval; the range is that of the cells' means.",
        ]

    def _facts_of(self, part: str) -> list[str]:
        """What another environment ran, and how its findings agree with the simulator's."""
        real = self.content[part]
        if "reason" in real:
            return [f"{PARTS[part].absent} because {real['reason']}."]
        cells = sum(map(len, real["families"].values()))
        counts = self.agreement(part)
        opposite = f"{counts['opposite']} {'is' if counts['opposite'] == 1 else 'are'} opposite"
        lines = [
            f"{PARTS[part].ran.format(cells=cells, **real)}; "
            f"{counts['equal']} of {counts['all']} findings are those of the simulator on the same cells, "
            f"{opposite}; the intervals overlap in {counts['overlap']}."
        ]
        if real.get("late"):
            lines.append(f"{real['late']} emulated runs are left out, whose deliveries were late at each attempt.")
        return lines

    def markdown(self) -> str:
        """Markdown for a draft's appendix: the sentences of section 3.2, the table, controls, worst cells, limits."""
        from cwndlab.assessment.markdown import markdown

        return markdown(self)

    def to_json(self) -> str:
        """The bundle, which depends on algorithm, size, seeds and version only: the same bytes on any machine."""
        return json_text(self.content, indent=1, ensure_ascii=False) + "\n"

    def report(self, path: Path | str) -> None:
        """Writes one HTML page: the table, surfaces, the worst cells, the controls."""
        from cwndlab.assessment.page import page

        save(page(self), path)

    def save(self, place: Path | str) -> None:
        """Writes ``dossier.json``, ``dossier.md``, ``dossier.html``, the scenarios of the worst cells, and of the
        emulated ones, and the file of an assessed class into a folder, for `cwndlab.load`."""
        folder = Path(place)
        for name, text in self.sources.items():
            save(text, folder / name)
        save(self.to_json(), folder / FILE)
        save(self.markdown(), folder / "dossier.md")
        self.report(folder / "dossier.html")
        for kind, scenarios in {"worst": self.scenarios, **self.part_scenarios}.items():
            for where, document in scenarios.items():
                save(Scenario.from_json(document).to_toml(), folder / kind / f"{_name(where)}.toml")

    @classmethod
    def read(cls, place: Path | str) -> Dossier:
        """The dossier in a folder, or in its file ``dossier.json``."""
        file = Path(place) / FILE if Path(place).is_dir() else Path(place)
        try:
            content = parsed(file.read_bytes())
            if content["rows"] and content["families"]:
                return cls(content)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise RecordsError(Fault(str(file), "holds no dossier", "a folder that `cwndlab assess --out` wrote"))

    def worsened(self, earlier: Dossier) -> list[str]:
        """The measures that got worse since an earlier dossier of the same cells and seeds: now worse than a baseline
        where it was not, or the whole interval below the earlier one.

        Raises
        ------
        ScenarioError
            It has other cells or seeds.
        """
        for name in ("size", "seeds", "perturbed", "sections"):
            if self.content[name] != earlier.content[name]:
                what = f"{name}: {earlier.content[name]} there, {self.content[name]} here"
                raise ScenarioError(Fault("--against", what, "compare dossiers of the same cells and seeds"))
        if self._labels() != earlier._labels():
            what = "has other cells, of another version"
            raise ScenarioError(Fault("--against", what, "make the earlier dossier again with this version"))
        before = {_key(row, one): one for row, one, _ in earlier._measures()}
        made = []
        for row, one, _ in self._measures():
            old = before.get(_key(row, one), one)
            for base in BASELINES:
                was, now = old["against"][base], one["against"][base]
                if _is_worse(was, now):
                    text = f"{words(was, base)} ({_change(was)} %), now {words(now, base)} ({_change(now)} %)"
                    made.append(f"{row['section']} {measure_name(row, one)}: {text}")
        return made


def measure_name(row: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """A measure with the title of its row.

    >>> measure_name({"title": "varying minimum delay"}, {"what": "goodput"})
    'varying minimum delay: goodput'
    """
    return f"{row['title']}: {one['what']}"


def _key(row: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[str, ...]:
    """What distinguishes a measure, whatever the words of the version."""
    return row["section"], one["family"], one["metric"]


def _is_worse(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    fell = now["finding"] == "worse" and was["finding"] != "worse"
    below = None not in (now.get("high"), was.get("low")) and now["high"] < was["low"]
    return fell or below


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two intervals of a change have a common part; a change without an interval is one point."""
    if "mean" not in one or "mean" not in other:
        return False
    (low, high), (least, most) = (
        (each["mean"], each["mean"]) if each["low"] is None else (each["low"], each["high"]) for each in (one, other)
    )
    return bool(low <= most and least <= high)


def _harms(one: Mapping[str, Any]) -> bool:
    """Whether a measure is worse than CUBIC in a cell."""
    return bool(one["against"]["cubic"].get("least", 0.0) < -one["margin"])


def _sign(value: float | None, margin: float) -> int:
    return 0 if value is None or abs(value) <= margin else 1 if value > 0 else -1


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def _change(one: Mapping[str, Any]) -> str:
    if "mean" not in one:
        return "–"
    if one["low"] is None:
        return f"{100 * one['mean']:+.1f}"
    return f"{100 * one['mean']:+.1f} [{100 * one['low']:+.1f}, {100 * one['high']:+.1f}]"


def _range(one: Mapping[str, Any]) -> str:
    return "–" if "least" not in one else f"{100 * one['least']:+.0f} … {100 * one['most']:+.0f}"


def _shown(value: float | None, factor: float) -> str:
    return "–" if value is None else number(value * factor)


def _flat(algorithm: str, one: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"family": one["family"], "metric": one["metric"]}
    names = ("finding", "mean", "low", "high", "least", "most")
    for base, found in one["against"].items():
        made |= {f"{name}_{base}": found.get(name) for name in names}
    for part in PARTS:
        for base in BASELINES if part in one else ():
            found = one[part].get("against", {}).get(base, {})
            made |= {f"{part}_{name}_{base}": found.get(name) for name in names[:4]}
    # The raw values of a baseline that is assessed are there once.
    shown = {"mine": algorithm, **{base: base for base in BASELINES}}
    return made | {f"raw_{at}": one["raw"][name]["mean"] for at, name in shown.items()}

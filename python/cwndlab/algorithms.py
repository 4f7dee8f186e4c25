"""The catalogue: every algorithm, slow start, recovery and mechanism, with its source and parameters."""

from __future__ import annotations

from dataclasses import dataclass

from cwndlab.errors import Fault, ScenarioError
from cwndlab.run import aliases, canonical_algorithm, entries


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of an entry; either a range or ``words``."""

    name: str
    unit: str
    default: float | str
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    doc: str

    @property
    def domain(self) -> str:
        """What it may be, in words."""
        return " | ".join(self.words) if self.words else f"{_number(self.low)} … {_number(self.high)}"

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name}={_number(self.default)}{unit}"


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An entry of the catalogue."""

    name: str
    title: str
    kind: str
    source: str
    year: int
    confidence: str
    summary: str
    parameters: tuple[Parameter, ...]
    choices: tuple[str, ...]
    pitfalls: tuple[str, ...]
    companion: str
    model_based: bool
    aliases: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def algorithms(kind: str | None = None) -> tuple[Algorithm, ...]:
    """All entries, or those of one ``kind``: growth, slow-start, recovery, whole, router, mechanism.

    >>> [entry.name for entry in algorithms("recovery")]
    ['tahoe', 'reno', 'newreno', 'sack', 'fack', 'rack']
    """
    others = aliases()
    found = []
    for entry in entries():
        if kind is not None and entry["kind"] != kind:
            continue
        parameters = tuple(
            Parameter(**{**parameter, "words": tuple(parameter.get("words", ()))}) for parameter in entry["parameters"]
        )
        lists = {key: tuple(entry[key]) for key in ("choices", "pitfalls")}
        names = tuple(alias for alias, target in others if target == entry["name"])
        found.append(Algorithm(**{**entry, **lists, "parameters": parameters, "aliases": names}))
    return tuple(found)


def explain(name: str) -> str:
    """What is known of ``name``: an entry, an alias, or a whole text such as ``cubic+ccm-ss(mu=1.5)/sack``.

    >>> print(explain("hstcp").splitlines()[0])
    hstcp means highspeed+standard
    """
    name = name.strip()
    known = algorithms()
    found = [entry for entry in known if name in (entry.name, *entry.aliases)]
    heading = ""
    presets = dict(aliases())
    if not found:
        if not any(mark in name for mark in "+/(") and name not in presets:
            raise ScenarioError(_unknown(name, [entry.name for entry in known] + list(presets)))
        whole = canonical_algorithm(name)
        heading = f"{name} means {whole}\n\n"
        found = [entry for part, kinds in _parts(whole) for entry in known if entry.name == part and entry.kind in kinds]
    elif name in presets:
        heading = f"{name} means {presets[name] if found[0].kind not in _GROWTHS else canonical_algorithm(name)}\n\n"
    return heading + "\n\n".join(_page(entry) for entry in found)


_GROWTHS = ("growth", "whole", "router")


def _parts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Names and possible kinds of the parts of a canonical text."""
    plain, depth = "", 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        plain += letter if depth == 0 and letter != ")" else ""
    rest, _, recovery = plain.partition("/")
    growth, _, start = rest.partition("+")
    parts = [(growth, _GROWTHS), (start, ("slow-start",)), (recovery, ("recovery",))]
    return [(name, kinds) for name, kinds in parts if name]


def _unknown(name: str, names: list[str]) -> Fault:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'? `cwndlab list` shows them all" if near else "`cwndlab list` shows them all"
    return Fault("", f"no algorithm is called '{name}'", hint)


def _page(entry: Algorithm) -> str:
    from textwrap import fill

    def block(text: str, first: str = "") -> str:
        return fill(text, 100, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)

    lines = [f"{entry.name} — {entry.title} ({entry.kind})", f"source: {entry.source}, confidence {entry.confidence}"]
    if entry.aliases:
        lines.append(f"also called: {', '.join(entry.aliases)}")
    if entry.companion:
        lines.append(f"comes with the slow start: {entry.companion}")
    lines += ["", *(line if line.startswith(" ") else block(line) for line in entry.summary.splitlines())]
    if entry.parameters:
        lines += ["", "parameters"]
        for parameter in entry.parameters:
            lines.append(f"  {parameter}  ({parameter.domain})")
            lines.append(block(parameter.doc, "      "))
    for title, items in (("where the source is ambiguous", entry.choices), ("beware", entry.pitfalls)):
        if items:
            lines += ["", title, *(block(item, "  - ") for item in items)]
    return "\n".join(lines)


def _number(value: float | str | None) -> str:
    return value if isinstance(value, str) else f"{value:g}"

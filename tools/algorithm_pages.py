"""Generates docs/algorithms/: a page per entry of the catalogue, with pictures of two simulated runs.

`make docs` calls it. A page has the digest of the hashes of the two runs. Every fact of a page has another home, where
it is changed: the catalogue, the header of the source, `tools/deployment.toml`, the generated tables of docs/matrix.md
and docs/validity.md, `known-answers/`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import algorithm_pictures
import equations
from algorithm_pictures import DURATION_S
from cwndlab.catalogue import Algorithm, algorithms, other_names
from cwndlab.files import save
from cwndlab.simulate import run_jobs

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "algorithms"
HASHES = ROOT / "known-answers" / "algorithm-hashes.json"
#: Increased by hand when the same runs are drawn in another way: all figures are then stale.
FORM = 2
SEED = 1
#: Pictures of a page.
PICTURES = ("window", "states", "share")
KINDS = {
    "growth": "Congestion avoidance",
    "whole": "Whole algorithms, with their own slow start",
    "slow-start": "Slow start",
    "recovery": "Recovery",
    "router": "Router-assisted",
    "mechanism": "Mechanisms of the transport",
}


#: What an entry of a kind is, in a sentence.
KIND_OF = {
    "growth": "a congestion avoidance",
    "whole": "a whole algorithm, with its own slow start",
    "slow-start": "a slow start",
    "recovery": "a recovery",
    "router": "a sender of a router-assisted scheme",
    "mechanism": "a mechanism of the transport",
}


#: Parameters of an entry's figures, where the default shows nothing.
SHOWN = {"careful-resume": "(saved_cwnd=100, saved_rtt=0.04)"}


class Run(NamedTuple):
    """A run of a page."""

    page: str
    """The name of the page, without its suffix."""
    picture: str
    """`window` or `share`."""
    text: str
    """The algorithm shown."""
    document: dict[str, Any]


def text_of(entry: Algorithm) -> str | None:
    """The text of an algorithm that demonstrates the entry; none for entries that a flow cannot select."""
    match entry.kind:
        case "slow-start":
            return f"cubic+{entry.name}{SHOWN.get(entry.name, '')}"
        case "recovery":
            return f"reno+standard/{entry.name}"
        case "mechanism":
            return None
    return None if entry.name == "sirens" else entry.name


def document(entry: Algorithm, text: str, rival: str | None) -> dict[str, Any]:
    """The scenario: 20 Mbit/s, 40 ms, a drop-tail queue of one BDP, and the router agents that the entry needs."""
    queue: dict[str, Any] = {"capacity": "1 bdp"}
    if "ecn" in entry.needs:
        queue |= {"kind": "step-ecn", "mark_above": 20}
    flows = [{"algorithm": text, "rtt": "40 ms"}]
    if rival is not None:
        flows.append({"algorithm": rival, "rtt": "40 ms", "start": "0.1 s"})
    return {
        "schema_version": 1,
        "duration": f"{DURATION_S} s",
        "sample_interval": "20 ms",
        "dumbbell": {
            "bottleneck": {"rate": "20 Mbps", "delay": "10 ms", "queue": queue, "agents": entry.agents},
            "access": {"rate": "200 Mbps"},
        },
        "flow": flows,
    }


def runs(entry: Algorithm) -> list[Run]:
    """The two runs of an entry's page; none for entries without figures."""
    text = text_of(entry)
    if text is None:
        return []
    rivals = {"window": None, "share": "cubic"}
    return [Run(file_of(entry), picture, text, document(entry, text, rival)) for picture, rival in rivals.items()]


@cache
def _hashes() -> Mapping[str, Mapping[str, str]]:
    hashes: dict[str, dict[str, str]] = json.loads(HASHES.read_text(encoding="utf-8"))
    return hashes


def digest(entry: Algorithm) -> str:
    """The digest of the hashes of an entry's runs in known-answers/algorithm-hashes.json."""
    return sha256(json.dumps([FORM, _hashes().get(file_of(entry), {})]).encode()).hexdigest()[:16]


MARK = re.compile(r"<!-- output: pictures [^>]*?; from: (?P<digest>[0-9a-f]+) -->")


def digest_on_page(entry: Algorithm) -> str:
    """The digest on the page of an entry; empty if there is none."""
    try:
        mark = MARK.search((FOLDER / f"{file_of(entry)}.md").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    return mark["digest"] if mark else ""


def is_drawn(entry: Algorithm) -> bool:
    """Whether the pictures of an entry exist and show the current runs."""
    if not runs(entry):
        return digest_on_page(entry) == ""
    pictures = [FOLDER / f"{file_of(entry)}-{picture}.svg" for picture in PICTURES]
    return digest_on_page(entry) == digest(entry) and all(file.is_file() for file in pictures)


def _bullets(title: str, items: Iterator[str] | list[str]) -> list[str]:
    items = list(items)
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []


def _equations(entry: Algorithm) -> list[str]:
    header = equations.header(entry.kind, entry.name)
    if not header.equations:
        return []
    lines = ["## Equations", "", "```{equations}", *header.equations.splitlines(), "```", ""]
    lines.append(f"With the symbols and numbers of the source, [`{header.file.name}`](../../{header.file}).")
    if units := header.notes.get("Units"):
        lines.append(f"Units: {_sentence(_plain(units))}")
    if entry.kind in ("growth", "whole", "router"):
        lines.append(
            "w is the window, n what the ACK acknowledges, R the RTT, base its minimum, if nothing else is said."
        )
    return [*lines, ""]


def _plain(text: str) -> str:
    """A text of a source's header: links of rustdoc as code."""
    return re.sub(r"\[(`[^`]*`)\](?!\()", r"\1", text)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _pictures(entry: Algorithm, text: str, made_from: str) -> list[str]:
    name = file_of(entry)
    alone = "A single flow: its window, with the states as areas and the events by name."
    return [
        f"<!-- output: pictures {name}{made_from and f'; from: {made_from}'} -->",
        "",
        "## Pictures",
        "",
        f"{alone} The run is the playground's preset `{name}-window`.",
        "",
        f"![Congestion window of {text}, with its phases and events]({name}-window.svg)",
        "",
        f"![States of {text} and the events between them]({name}-states.svg)",
        "",
        f"![Goodput of {text} and of a CUBIC flow on the same path]({name}-share.svg)",
        "",
        "<!-- end -->",
        "",
    ]


@cache
def _block(page: str, name: str) -> str:
    """The text of a generated block of docs/."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- output: {re.escape(name)}; [^>]*-->(.*?)<!-- end -->", text, re.DOTALL)
    return found[1] if found else ""


def _in_the_matrix(entry: Algorithm) -> list[str]:
    """The row of docs/matrix.md, with the meaning of its columns."""
    lines = [line.strip() for line in _block("matrix.md", "matrix").splitlines() if line.strip()]
    heading = next(line for line in lines if line.startswith("algorithm "))
    row = next((line for line in lines if line.split()[0] == entry.name), "")
    if not row:
        return []
    names = re.split(r"\s{2,}", heading)[1:]
    shown = [f"| {name} | {value} |" for name, value in zip(names, row.split()[1:], strict=True)]
    about = (
        "20 Mbit/s, 50 ms, a buffer of 0.1/1/4 BDP; [all algorithms](../matrix.md) has the columns and the other rows."
    )
    return ["## In the matrix", "", about, "", "| column | value |", "|---|---|", *shown, ""]


def _beside_cubic(entry: Algorithm) -> list[str]:
    """The published ratios of docs/validity.md."""
    if entry.name != "prague":
        return []
    about = (
        "Prague's rate over CUBIC's at equal RTTs, here and as published; "
        "[validity](../validity.md#prague-beside-cubic) has all runs."
    )
    return ["## Beside CUBIC through DualPI2", "", about, "", _block("validity.md", "l4s ratios").strip(), ""]


@cache
def _deployments() -> dict[str, dict[str, str]]:
    return tomllib.loads((ROOT / "tools" / "deployment.toml").read_text(encoding="utf-8"))


def _deployment(entry: Algorithm) -> list[str]:
    known = _deployments().get(file_of(entry))
    text = f"{known['text'][0].upper()}{known['text'][1:]} ({known['source']})." if known else "None that we know of."
    return ["## Where it is deployed", "", text, ""]


@cache
def _references() -> dict[str, list[str]]:
    """What the references of `validate` say, by the name of the entry."""
    said: dict[str, list[str]] = {}
    for row in re.findall(r"^\| (\S+) \| `([^`]+)` \| (\d+) \| (\d+) \|", _block("validity.md", "validate"), re.M):
        reference, sender, judged, held = row
        file = ROOT / "known-answers" / reference / "reference.json"
        senders = json.loads(file.read_text(encoding="utf-8"))["senders"] if file.is_file() else {}
        parts = re.split(r"[+/]", re.sub(r"\([^)]*\)", "", senders.get(sender) or ""))
        for name in parts[:1]:
            said.setdefault(name, []).append(f"{held} of {judged} quantities of `{sender}` in {reference}")
    return said


def _verified(entry: Algorithm) -> list[str]:
    """What references, suites and audits say."""
    items = []
    if found := _references().get(entry.name):
        items.append(f"[References](../validity.md), within tolerance: {'; '.join(found)}.")
    unpatched = json.loads((ROOT / "known-answers" / "faults.json").read_text(encoding="utf-8"))["unpatched"]
    own = {
        "rfc9406": "hystart-pp",
        "rfc6298": "rto",
        "rfc6675": "recovery-sack",
        "rfc8985": "recovery-rack",
        "rfc9937": "prr",
    }
    for suite in unpatched["suites"]:
        if own.get(suite["suite"], suite["algorithm"]) == file_of(entry):
            failed = f"fails {', '.join(suite['failed'])}" if suite["failed"] else "no case fails"
            items.append(f"[Suite](../suites.md) `{suite['suite']}` with `{suite['algorithm']}`: {failed}.")
    rows = json.loads((ROOT / "known-answers" / "stacks.json").read_text(encoding="utf-8"))["rows"]
    stacks: dict[str, list[str]] = {}
    for row in rows:
        if re.split(r"[+/(]", row["reference"])[0] == entry.name:
            share = 100 * row["decisive_explained"] / row["decisive"]
            stacks.setdefault(f"{row['stack']} {row['version']} `{row['algorithm']}`", []).append(
                f"{share:.0f} % ({row['path']})"
            )
    if stacks:
        explained = "; ".join(f"{stack} {', '.join(shares)}" for stack, shares in stacks.items())
        items.append(f"[Audit](../audit.md) of other stacks, decisive ACKs that this algorithm explains: {explained}.")
    return _bullets("What references, suites and audits say", items)


def _try_it(entry: Algorithm, text: str) -> list[str]:
    """The same run in the playground, on the command line and in Python."""
    rival = "reno" if text == "cubic" else "cubic"
    bottleneck = document(entry, text, None)["dumbbell"]["bottleneck"]
    if bottleneck["agents"] or "ecn" in entry.needs:
        return ["## Try it", "", f"In the [playground](../playground.md): the preset `{file_of(entry)}-window`.", ""]
    return [
        "## Try it",
        "",
        f"In the [playground](../playground.md): the preset `{file_of(entry)}-window`. On the command line:",
        "",
        "```sh",
        f".venv/bin/cwndlab explain {text if entry.kind in ('growth', 'whole', 'router') else entry.name}",
        f".venv/bin/cwndlab compare two-flows --algorithms '{rival},{text}' --seed 1 --repetitions 3",
        f".venv/bin/cwndlab debug two-flows --set 'flow[0].algorithm={text}' --at '12.4 s'",
        "```",
        "",
        "In Python:",
        "",
        "```python",
        "import cwndlab",
        "",
        'line = cwndlab.Link(rate="20 Mbit/s", delay="10 ms", queue=cwndlab.DropTail("1 bdp"))',
        f'flow = cwndlab.Flow("{text}", rtt="40 ms")',
        'alone = cwndlab.Scenario(duration="60 s", dumbbell=cwndlab.Dumbbell(bottleneck=line), flows=[flow])',
        'cwndlab.run(alone, seed=1).plot("cwnd")',
        "```",
        "",
    ]


def _parameters(entry: Algorithm) -> list[str]:
    if not entry.parameters:
        return []
    lines = ["## Parameters", "", "| name | default | range | meaning |", "|---|---|---|---|"]
    for one in entry.parameters:
        unit = f" {one.unit}" if one.unit else ""
        default = str(one).partition("=")[2]
        domain = one.domain.replace("|", "\\|")
        lines.append(f"| `{one.name}` | {default} | {domain}{unit if not one.words else ''} | {one.doc} |")
    return [*lines, ""]


def page(entry: Algorithm, made_from: str) -> str:
    """The page of an entry, with this digest of its figures."""
    text = text_of(entry)
    also = [name["alias"] for name in other_names() if name["means"] == entry.name]
    year = "" if re.search(r"\b(19|20)\d\d\b", entry.source.replace("RFC ", "RFC")) else f" ({entry.year})"
    lines = [f"# {entry.name}", "", f"**{entry.title}**, {KIND_OF[entry.kind]}. Source: {entry.source}{year}."]
    lines[-1] += f" Confidence: {entry.confidence}" + (" — reconstructed." if entry.confidence == "low" else ".")
    if also:
        lines[-1] += f" Also called {', '.join(f'`{name}`' for name in also)}."
    lines += ["", entry.summary, ""]
    if entry.companion:
        lines += [f"Default slow start: [`{entry.companion}`]({entry.companion}.md).", ""]
    lines += _equations(entry)
    if text is not None:
        lines += _pictures(entry, text, made_from)
    lines += _parameters(entry)
    lines += _in_the_matrix(entry)
    lines += _beside_cubic(entry)
    lines += _deployment(entry)
    lines += _verified(entry)
    model_based = ["model-based: it may increase an unused window"] if entry.model_based else []
    lines += _bullets("Needs", [*entry.needs, *model_based])
    lines += _bullets("Incompatible with", [f"`{name}`: {reason}" for name, reason in entry.incompatible])
    lines += _bullets("Choices where the source is ambiguous", list(entry.choices))
    differs = equations.header(entry.kind, entry.name).notes.get("Differs from the source", "")
    lines += _bullets("Differs from the source", [_plain(differs)] if differs else [])
    lines += _bullets("Pitfalls", list(entry.pitfalls))
    lines += _bullets("Over QUIC", list(entry.quic))
    lines += _bullets("Sources", [_plain(equations.header(entry.kind, entry.name).notes.get("Source", entry.source))])
    if text is not None:
        lines += _try_it(entry, text)
    return "\n".join(lines).rstrip() + "\n"


def index(entries: tuple[Algorithm, ...]) -> str:
    """The index of the pages."""
    lines = [
        "# Algorithms",
        "",
        "`make docs` generates these pages from the entries of the catalogue; `cwndlab explain NAME` prints the same.",
        "",
    ]
    for kind, title in KINDS.items():
        lines += [f"## {title}", "", "| name | title | source | confidence |", "|---|---|---|---|"]
        for entry in entries:
            if entry.kind == kind:
                lines.append(
                    f"| [`{entry.name}`]({file_of(entry)}.md) | {entry.title} | {entry.source} | {entry.confidence} |"
                )
        lines.append("")
    lines += ["## Other names", "", "| alias | means |", "|---|---|"]
    lines += [f"| `{name['alias']}` | `{name['means']}` |" for name in other_names()]
    return "\n".join(lines) + "\n"


def file_of(entry: Algorithm) -> str:
    """The name of an entry's page, which is unique although entries of two kinds may have the same name."""
    return f"recovery-{entry.name}" if entry.kind == "recovery" else entry.name


def write_pages() -> None:
    """Writes index and pages. Each page keeps the digest of its figures."""
    entries = algorithms()
    for entry in entries:
        save(page(entry, digest_on_page(entry)), FOLDER / f"{file_of(entry)}.md")
    save(index(entries), FOLDER / "README.md")


def draw(names: Collection[str]) -> None:
    """Draws the pictures of these pages, and writes their digests."""
    entries = {file_of(entry): entry for entry in algorithms() if file_of(entry) in names}
    shown = [run for entry in entries.values() for run in runs(entry)]
    left = {name: len(runs(entry)) for name, entry in entries.items()}
    for number, records in run_jobs([(run.document | algorithm_pictures.NAMED, SEED) for run in shown]):
        run = shown[number]
        path = FOLDER / f"{run.page}-{run.picture}.svg"
        if run.picture == "window":
            algorithm_pictures.draw_window(entries[run.page].kind, run.text, records, path)
            algorithm_pictures.draw_states(run.text, records, FOLDER / f"{run.page}-states.svg")
        else:
            algorithm_pictures.draw_share(run.text, records, path)
        left[run.page] -= 1
        if left[run.page] == 0:
            save(page(entries[run.page], digest(entries[run.page])), FOLDER / f"{run.page}.md")

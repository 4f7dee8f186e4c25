"""A dossier as Markdown, for the appendix of an Internet-Draft."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cwndlab.assessment.parts import PARTS
from cwndlab.study.rendering import Table

if TYPE_CHECKING:
    from cwndlab.assessment.dossier import Dossier

_LIMITS = (
    "The mix of applications of a real path: flows are bulk transfers, Poisson arrivals, calls and video.",
    "Real radio: cellular traces are synthetic, and 802.11 has one cell without hidden stations.",
    "Policers, proxies and other middleboxes of real paths; congestion control of tunnels; multipath.",
    "Long runs: most last 30 s and are measured from 10 s on, so that on paths with long RTTs and deep buffers flows "
    "are measured before they converge.",
)
_CODE = (
    "The implementation of a kernel or a QUIC stack: the code assessed is that of this simulator, or a class for it. "
    "`cwndlab suite`, `check` and `audit` say whether it conforms to its source."
)
_CODE_ELSEWHERE = (
    "The implementation of a kernel or a QUIC stack beyond the cells named above: the code of all other findings is "
    "that of this simulator. `cwndlab suite`, `check` and `audit` say whether it conforms to its source."
)

#: The chapters of the RFC with its criteria, and with environments.
_CRITERIA, _ENVIRONMENTS = ("5",), ("6", "7")

#: What the live findings are of.
LIVE = (
    "Transfers of one flow at a time over real paths (`cwndlab measure`), each compared with CUBIC and NewReno of the "
    "same complete block, by the same rules. Other traffic on these paths is that of the day."
)

#: What the list of `Dossier.turns` means.
TURNS = (
    "Along the rates, against CUBIC: neighbouring rates between which the mean of the seeds passes from beyond the "
    "margin on one side to beyond it on the other. Single cells are not tested for significance."
)

#: What the list of `Dossier.contradicted` means.
CONTRADICTED = (
    "A change weights all cells alike. The mean of the values is that of the cells with the largest ones, and leaves "
    "out runs without a value. Values point the other way than the finding in:"
)


def limits(one: Dossier) -> list[str]:
    """What no dossier of this kind shows."""
    return [*_LIMITS, _CODE_ELSEWHERE if one.parts else _CODE]


def markdown(one: Dossier) -> str:
    """The dossier as Markdown."""
    return "\n".join([*_head(one), *_statements(one), *_findings(one), *_rest(one)]) + "\n"


def _head(one: Dossier) -> Iterator[str]:
    yield from (f"# {one.algorithm} by the criteria of RFC 9743", "")
    yield from (f"Made by `{one.command()}`.", "")
    yield from (" ".join(one.facts()), "")
    yield "RFC 9743 sets no thresholds and is no checklist to be passed. The findings compare; they do not decide."
    yield ""


def _statements(one: Dossier) -> Iterator[str]:
    """The two sentences that section 3.2 requires in the abstract, as far as they can be filled."""
    yield from ("## Statements of section 3.2", "")
    yield f"> There [is / is not] IETF consensus that {one.algorithm} is considered safe for use on the Internet."
    yield ">"
    where = _worse(one, "cubic", _ENVIRONMENTS) or "none of those measured here"
    yield f"> {one.algorithm} is not recommended for deployment in these environments: [choose from: {where}]."
    yield ""
    criteria = _worse(one, "cubic", _CRITERIA) or "none"
    yield (
        "The list has the environments of sections 6 and 7 with a finding *worse than CUBIC*. The criteria of "
        f"section 5 with one, on which the first sentence depends: {criteria}. A row is listed if one of its measures "
        "is worse, whatever the others are. The choice and the consensus are the authors' and the IETF's."
    )
    yield ""
    if only := _worse(one, "reno", (*_CRITERIA, *_ENVIRONMENTS), but="cubic"):
        yield from (f"Worse than Reno, and not than CUBIC: {only}.", "")


def _worse(one: Dossier, baseline: str, chapters: Sequence[str], *, but: str = "") -> str:
    """The rows of chapters in which a measure is worse than a baseline, and none worse than another one."""
    return "; ".join(
        f"{row['title']} ({row['section']})"
        for row in one.rows
        if row["section"].split(".")[0] in chapters and _is_worse(row, baseline) and not (but and _is_worse(row, but))
    )


def _is_worse(row: Mapping[str, Any], baseline: str) -> bool:
    places = (place for measure in row["measures"] for place in (measure, *(measure.get(part, {}) for part in PARTS)))
    return any(place["against"][baseline]["finding"] == "worse" for place in places if "against" in place)


def _findings(one: Dossier) -> Iterator[str]:
    yield from ("## Findings", "")
    yield from (f"- {line}" for line in one.verdicts())
    yield from ("", one.table().to("markdown"), "")
    reasons = [
        f"- {row['section']}, {row['title']}: not assessed because {row['reason']}."
        for row in one.rows
        if row["reason"]
    ]
    reasons += [f"- {row['section']}, {row['title']}: {row['partly']}." for row in one.rows if row["partly"]]
    yield from (*reasons, "")
    if lines := one.contradicted():
        yield from (CONTRADICTED, "", *(f"- {line}." for line in lines), "")
    for part in one.parts:
        yield from _part(one, part)
    if one.is_live:
        yield from ("## Live", "", LIVE, "", one.live_table().to("markdown"), "")


def _part(one: Dossier, part: str) -> Iterator[str]:
    """Another environment: the findings beside those of the simulator on the same cells, and what is missing."""
    yield from (f"## {PARTS[part].heading}", "", PARTS[part].about, "")
    table = one.part_table(part)
    if table.rows:
        yield from (table.to("markdown"), "")
    yield from (*(f"- {line}." for line in one.part_reasons(part)), "")


def _rest(one: Dossier) -> Iterator[str]:
    yield from (
        "## Worst cells",
        "",
        "The mean effect against CUBIC over the seeds; the files are in the dossier's folder.",
        "",
    )
    worst = [[each[name] for name in ("section", "what", "cell", "effect", "command")] for each in one.worst()]
    titles = ["§", "criterion", "cell", "change", "command"]
    yield from (Table("", titles, worst, 5).to("markdown") if worst else "None is worse than CUBIC in any cell.", "")
    if turns := one.turns():
        yield from ("## Where the sign changes", "", TURNS, "")
        rows = [[each[name] for name in ("section", "what", "path", "turn")] for each in turns]
        yield from (Table("", ["§", "criterion", "RTT, buffer", "change"], rows, 4).to("markdown"), "")
    yield from ("## Controls", "", "Known results that must come out, or nothing is printed.", "")
    yield from (f"- {each['what']}: {each['found']}." for each in one.content["controls"])
    yield from ("", "## What it cannot show", "")
    yield from (f"- {each}" for each in limits(one))

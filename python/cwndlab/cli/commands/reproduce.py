"""`cwndlab reproduce`: published experiments, and one site with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed, span, write, write_rows, write_table
from cwndlab.cli.findings import judge
from cwndlab.cli.options import Argument, Option, command, pairs_of
from cwndlab.cli.progress import Stopped, progress_bar
from cwndlab.cli.show import show_reproductions
from cwndlab.errors import Fault, RecordsError, ScenarioError

if TYPE_CHECKING:
    from cwndlab.reproduction.multiverse import Multiverse, Robustness


def reproduce(
    target: Annotated[str | None, Argument("PAPER[/FIGURE]", "A paper, or one of its figures.")] = None,
    all_: Annotated[bool, "Every experiment of every paper."] = False,
    quick: Annotated[bool, "A reduced size that takes minutes, instead of the paper's."] = False,
    list_: Annotated[bool, "Print the experiments and exit."] = False,
    out: Annotated[Path | None, "Folder for pages; finished runs in it are not repeated."] = None,
    results: Annotated[
        Path | None,
        Option("DIR", "Folder for the rows of finished runs, which are not repeated while behaviour is unchanged."),
    ] = None,
    multiverse: Annotated[bool, "Evaluate headline claims over combinations of open assumptions."] = False,
    joint: Annotated[bool, "Search the choices with which most headline claims hold together."] = False,
    kept: Annotated[bool, "Make the pages of --out from --results alone; run nothing."] = False,
    dry_run: Annotated[bool, "Estimate runs and hours; run nothing."] = False,
    check: Annotated[bool, "Name kept results of an earlier behaviour, and exit with 1 if there are any."] = False,
    only: Annotated[list[str] | None, Option("LABEL=VALUE", "Run cases with this label; evaluate nothing.")] = None,
    perturb: bool | None = None,
    seed: int = 1,
    workers: int | None = None,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Run published experiments and evaluate their claims."""
    if list_:
        write_rows(cwndlab.reproduction.listing(), ("id", "title"), format)
        return
    if (target is None) is not all_:
        what = "no paper is named" if target is None else f"'{target}' and --all exclude each other"
        raise ScenarioError(Fault("cwndlab reproduce", what, "`cwndlab reproduce --list` lists the experiments"))
    if check:
        others = {"--kept": kept, "--multiverse": multiverse, "--joint": joint, "--dry-run": dry_run}
        others |= {"--only": bool(only), "--quick": quick, "--out": out is not None, "--perturb": perturb is not None}
        _refuse_both({"--check": True, **others})
        _check(target or "", results)
        return
    if kept:
        _write_kept(target or "", seed, out, results)
        return
    asked: dict[str, Any] = {"quick": quick, "seed": seed, "out": out, "results": results, "perturb": perturb}
    if multiverse or joint:
        _refuse_both({"--multiverse": multiverse, "--joint": joint, "--dry-run": dry_run, "--only": bool(only)})
        run_them = _run_universes if multiverse else _search_readings
        run_them(target or "", format, workers=workers, **asked)
        return
    labels = dict(pairs_of(only, "--only", "flows=20"))
    if labels and out is None and results is None:
        what = "the runs of --only would not be kept"
        raise ScenarioError(Fault("--only", what, "name a folder by --results or --out"))
    if dry_run:
        _show_plan(target or "", format, only=labels, **asked)
        return
    with progress_bar() as progress:
        result = cwndlab.reproduce(target or "", workers=workers, progress=progress, only=labels, message=say, **asked)
    show_reproductions(result, format, counts=all_)
    say_seed(seed)
    if out is not None and len(result):
        say(f"site: {out / 'index.html'}")
    if result.stopped:
        what = f"stopped after {len(result)} experiments, whose findings are above"
        raise Stopped(what + _resumes(out, results))
    judge(result.finding_rows(), strict)


def _resumes(*folders: Path | None) -> str:
    """What happens to the finished runs, for the message after a stop."""
    named = " and ".join(str(folder) for folder in folders if folder is not None)
    return f"; finished runs are kept in {named}, the same command resumes" if named else ""


def _write_kept(target: str, seed: int, out: Path | None, results: Path | None) -> None:
    if out is None or results is None:
        what = "pages are made from --results and written to --out"
        raise ScenarioError(Fault("--kept", what, "name both folders"))
    cwndlab.reproduction.multiverse.copy(results, out, target.partition("/")[0])
    cwndlab.reproduction.standing.read(results, target, seed=seed).save(out)
    say(f"site: {out / 'index.html'}")


def _check(target: str, results: Path | None) -> None:
    if results is None:
        raise ScenarioError(Fault("--check", "no kept results are named", "name their folder by --results"))
    if not results.is_dir():
        raise RecordsError(Fault("--results", f"{results} is no folder", "name the folder of kept results"))
    are_stale = False
    for line in cwndlab.reproduction.stale_results(results, target):
        are_stale = True
        write(line)
    if are_stale:
        raise typer.Exit(1)


def _run_universes(target: str, format: Format, **asked: Any) -> None:
    spaces: list[Multiverse] = []
    stop: Stopped | None = None
    try:
        with (
            progress_bar() as progress,
            closing(cwndlab.reproduction.multiverse.multiverse(target, progress=progress, **asked)) as tried,
        ):
            spaces += tried
    except Stopped:
        stop = Stopped(f"stopped after {len(spaces)} sets of claims{_resumes(asked['out'], asked['results'])}")
    rows = [_robustness(one, claim) for one in spaces for claim in one.claims]
    columns = ("label", *cwndlab.reproduction.multiverse.TALLIES, "flips with")
    if format is Format.table:
        for row, claim in zip(rows, _claims(spaces), strict=True):
            row["claim"] = claim
        write_rows(rows, ("claim", *columns), format, wrap=("claim", "flips with"))
    else:
        write_rows(rows, ("headline", "quantity", *columns), format)
    for one in spaces:
        say(f"{one.space.id}: {one.sampled}, {one.runs} runs")
    say_seed(asked["seed"])
    if asked["out"] is not None and spaces:
        say(f"site: {cwndlab.reproduction.site.write_index(asked['out'])}")
    if stop is not None:
        raise stop


def _refuse_both(given: Mapping[str, bool]) -> None:
    one, *others = [name for name, is_given in given.items() if is_given]
    if others:
        raise ScenarioError(Fault(one, f"it excludes {others[0]}", "leave out one of them"))


def _search_readings(target: str, format: Format, **asked: Any) -> None:
    if asked.pop("perturb") is False:
        raise ScenarioError(Fault("--joint", "its runs are perturbed", "leave out --no-perturb"))
    results, out, multiverse = asked.pop("results"), asked["out"], cwndlab.reproduction.multiverse
    papers = [target] if target else [name for name, one in cwndlab.reproduction.PAPERS.items() if one.spaces]
    for paper in papers:
        with progress_bar() as progress:
            found = multiverse.joint.search(paper, kept=results, progress=progress, **asked)
        columns = multiverse.joint_rows.COLUMNS
        write_rows(multiverse.joint_rows.rows(found), columns, format, wrap=columns[:1])
        for sentence in multiverse.joint_rows.verdict(found):
            say(sentence)
        for folder in (results, out):
            if folder is not None:
                multiverse.joint.save(found, folder)
    say_seed(asked["seed"])
    if out is not None and (out / "index.html").exists():
        say(f"site: {cwndlab.reproduction.site.write_index(out)}")


def _claims(spaces: Sequence[Multiverse]) -> list[str]:
    """The quantity of each row, the first one of a headline below the sentence of it."""
    sentences = {one.key: f"{one.claim} ({one.section})" for one in cwndlab.reproduction.headlines.headlines()}
    claims = [claim.claim for one in spaces for claim in one.claims]
    return ["\n".join(filter(None, (sentences.pop(one.headline, ""), f"· {one.quantity}"))) for one in claims]


def _robustness(one: Multiverse, claim: Robustness) -> dict[str, Any]:
    flips = ", ".join(effect.dimension for effect in claim.flips)
    row = {"headline": claim.claim.headline, "quantity": claim.claim.quantity, "label": claim.label}
    counts = {str(tally): many for tally, many in claim.counts.items()}
    return {"space": one.space.id, **row, **counts, "flips with": flips or "–"}


def _show_plan(target: str, format: Format, **asked: Any) -> None:
    plan = cwndlab.reproduction.plan.plan(target, message=say, **asked)
    rows = [one.as_dict() for one in plan.experiments]
    if format is not Format.table:
        write_rows(rows, tuple(rows[0]), format)
        return
    cells = [(*_counts(row), span(row["cpu_s"]) if row["left"] else "–") for row in rows]
    sums = {name: sum(row[name] for row in rows) for name in ("cases", "runs", "shared", "left")}
    cells.append((*_counts({"id": "all", **sums}), span(plan.cpu_s)))
    header = ("experiment", "cases", "runs", "shared", "left", "CPU time")
    write_table(cells, header, right=header[1:])
    say(f"CPU time of the remaining runs, estimated from short runs of a few ({plan.took_s:.0f} s)")


def _counts(row: dict[str, Any]) -> tuple[str, ...]:
    return (str(row["id"]), *(f"{row[name]:,}" for name in ("cases", "runs", "shared", "left")))


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, reproduce, "reproduce ccm-ss/fig14 --quick --out site")

"""`cwndlab reproduce`: published experiments, and one site of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cwndlab.errors import Fault, ScenarioError
from cwndlab.options import FormatOption, SeedOption, WorkersOption
from cwndlab.output import Format, say, say_seed, write_rows
from cwndlab.progress import Stopped, several

if TYPE_CHECKING:
    from cwndlab.reproduce import Reproduction


def add(app: typer.Typer) -> None:
    """Adds the verb."""

    @app.command(epilog="Example: cwndlab reproduce ccm-ss/fig14 --quick --out site")
    def reproduce(
        target: Annotated[
            str | None,
            typer.Argument(help="A paper, or one of its figures.", metavar="PAPER[/FIGURE]", show_default=False),
        ] = None,
        all_: Annotated[bool, typer.Option("--all", help="Every experiment of every paper.")] = False,
        quick: Annotated[bool, typer.Option("--quick", help="Minutes instead of the paper's size.")] = False,
        list_: Annotated[bool, typer.Option("--list", help="Print what can be reproduced, and end.")] = False,
        out: Annotated[
            Path | None,
            typer.Option(
                "--out",
                help="Folder for pages; finished runs in it are not repeated.",
                metavar="DIR",
                show_default=False,
            ),
        ] = None,
        seed: SeedOption = 1,
        workers: WorkersOption = None,
        format: FormatOption = Format.table,
    ) -> None:
        """Run published experiments and judge their claims."""
        from cwndlab.reproduce import COLUMNS, listing, reproduce

        if list_:
            write_rows(listing(), ("id", "title"), format)
            return
        if (target is None) is not all_:
            what = "no paper is named" if target is None else f"'{target}' and --all are two answers"
            raise ScenarioError(Fault("cwndlab reproduce", what, "`cwndlab reproduce --list` shows what can be named"))
        outcomes: list[Reproduction] = []
        stop: Stopped | None = None
        runs = None if out is None else out / "runs"
        try:
            with several() as progress:
                for outcome in reproduce(
                    target or "", quick=quick, seed=seed, workers=workers, progress=progress, runs=runs
                ):
                    outcomes.append(outcome)
                    if out is not None:
                        from cwndlab.reproduce.site import write_experiment

                        write_experiment(outcome, out)
        except Stopped:
            kept = f"; finished runs are kept in {out}, the same command goes on" if out is not None else ""
            stop = Stopped(f"stopped after {len(outcomes)} experiments, whose findings are above{kept}")
        index = None
        if out is not None and outcomes:
            from cwndlab.reproduce.site import write_index

            index = write_index(out)
        if all_ and format is Format.table:
            _show_counts(outcomes)
        else:
            rows: list[dict[str, Any]] = [finding.as_dict() for outcome in outcomes for finding in outcome.findings]
            if format is Format.table:
                columns = ("id", "quantity", "published", "measured", "low", "high", "outcome", "reason")
                write_rows(rows, columns, format, wrap=("quantity", "published", "reason"))
            else:
                write_rows(rows, COLUMNS, format)
        if format is Format.table and len(outcomes) == 1:
            for sentence in outcomes[0].why:
                say(sentence)
        say_seed(seed)
        if index is not None:
            say(f"site: {index}")
        if stop is not None:
            raise stop


def _show_counts(outcomes: list[Reproduction]) -> None:
    from cwndlab.reproduce.claims import OUTCOMES
    from cwndlab.reproduce.verdicts import counts

    rows = [
        {"id": outcome.experiment.id, **counts(outcome.findings), "cpu_s": round(outcome.cpu_s, 1)}
        for outcome in outcomes
    ]
    write_rows(rows, ("id", *OUTCOMES, "cpu_s"), Format.table)

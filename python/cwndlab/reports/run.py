"""The page of one run, and of two or three runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS, convergence, fairness, per_flow, per_link, summary
from cwndlab.plot.series import algorithms_of, flow_labels
from cwndlab.records import Records
from cwndlab.reports.page import Page
from cwndlab.reports.sections import MOST_ABREAST, described_scenario, over_time
from cwndlab.reports.tables import Table, frame_table, presented, table
from cwndlab.service.judgement import levels
from cwndlab.statistics.digits import number
from cwndlab.study.tables import levels_of


def _command(records: Records, scenario: str, out: str) -> str:
    """The command that repeats a run from the scenario on the page."""
    engine = str(records.rows("runs")[0]["engine"])
    words = ["cwndlab run", scenario, f"--seed {records.seed}", f"--out {out}"]
    return " ".join(words if engine == "simulate" else [*words, f"--engine {engine}"])


def run_page(records: Records) -> str:
    """The page of one run."""
    fair = fairness(records)["jain"][0]
    facts = [described_scenario(records.scenario, titled=False)]
    facts += [] if fair is None else [f"Jain's index of the flows' goodputs: {number(fair)}."]
    facts += _convergence(records)
    page, service = Page(), levels_of(levels(records))
    flows = flow_labels(records)
    return page.render(
        "run.html",
        data={"flows": flows},
        algorithms=bool(flows),
        title=records.scenario.title or f"A run of {_algorithms(records, short=True)}",
        footer=f"scenario {records.scenario_hash} · seed {records.seed}",
        commands=[_command(records, "scenario.toml", "out"), "cwndlab report out"],
        run_findings=records.rows("findings"),
        facts=facts,
        flows=frame_table("Flows of the run (n = 1 run: no intervals)", _flows(records)),
        stations=_stations(records),
        cell_users=_cell_users(records),
        levels=presented(service) if service.rows else None,
        links=frame_table("Bottlenecks of the run (n = 1 run: no intervals)", per_link(records)),
        over_time=over_time(page, {"run": records}, "Over time", linked=True),
        scenarios=[("Scenario", records.scenario.to_toml())],
    )


def _flows(records: Records) -> pl.DataFrame:
    """A row per flow: its metrics, and its airtime as a share of the run if it crosses a wireless medium."""
    frame, duration = per_flow(records).drop("flow"), int(records.rows("runs")[0]["duration_ns"])
    for what, column in (("data", "airtime_ns"), ("ACKs", "ack_airtime_ns")):
        frame = frame.with_columns((100 * records.flows[column] / duration).alias(f"airtime of {what}\n%"))
    return frame


def _stations(records: Records) -> Table | None:
    """The stations of the wireless media at the end of a run; ``None`` without a medium."""
    frame = records.stations
    if not len(frame):
        return None
    last = frame.group_by("medium", "station", maintain_order=True).last()
    seconds = int(records.rows("runs")[0]["duration_ns"]) / 1e9
    header = [
        "station",
        "airtime\n%",
        "carried\nMbit/s",
        "attempts",
        "without response\n%",
        "collisions\n%",
        "given up\npackets",
    ]
    rows = [
        [
            row["station"],
            number(100 * row["airtime_ns"] / 1e9 / seconds),
            number(8e-6 * row["sent_bytes"] / seconds),
            str(row["attempts"]),
            *(
                number(100 * row[name] / row["attempts"]) if row["attempts"] else "–"
                for name in ("failures", "collisions")
            ),
            str(row["given_up_packets"]),
        ]
        for row in last.sort("medium", "airtime_ns", descending=[False, True]).iter_rows(named=True)
    ]
    return table("Stations: transmissions of each, with the responses to it (n = 1 run: no intervals)", header, rows)


def _cell_users(records: Records) -> Table | None:
    """The users of cells at the end of a run, by direction; ``None`` without a cell."""
    if not len(records.cell_users):
        return None
    share = 100 * pl.col("resource_blocks") / pl.col("resource_blocks").sum().over("cell", "direction")
    last = records.cell_users.group_by("link", maintain_order=True).last().with_columns(share=share)
    names = dict(records.links.select("link", "name").rows())
    header = [
        "link",
        "share of the resource blocks\n%",
        "BLER\n%",
        "HARQ retransmissions",
        "RLC retransmissions",
        "scheduling requests",
        "promotions",
        "hand-overs",
    ]
    rows = [
        [
            names[row["link"]],
            number(row["share"]) if row["resource_blocks"] else "–",
            number(100 * row["failed_blocks"] / row["transport_blocks"]) if row["transport_blocks"] else "–",
            *(
                str(row[name])
                for name in (
                    "harq_retransmissions",
                    "rlc_retransmissions",
                    "scheduling_requests",
                    "promotions",
                    "handovers",
                )
            ),
        ]
        for row in last.iter_rows(named=True)
    ]
    return table("Users of the cells by direction (n = 1 run: no intervals)", header, rows)


def _convergence(records: Records) -> list[str]:
    """The convergence time of the second of two flows; with more flows, two windows show nothing."""
    if len(records.flows) != 2:
        return []
    near = convergence(records).row(0, named=True)
    if near["convergence_s"] is None:
        return [f"Convergence time: none, {near['reason']}."]
    return [f"The second flow's window reached 80 % of the first one's after {number(near['convergence_s'])} s."]


def runs_page(runs: Sequence[Records]) -> str:
    """The page of two or three runs side by side: linked panels, one column per run."""
    if not 2 <= len(runs) <= MOST_ABREAST:
        raise RecordsError(Fault("report", f"{len(runs)} runs side by side", f"name 2 to {MOST_ABREAST} runs"))
    page, named = Page(), side_by_side(runs)
    values = {name: summary(records) for name, records in named.items()}
    metrics = [name for name in COLUMNS if any(one.get(name) is not None for one in values.values())]
    rows = [
        [COLUMNS[metric].heading, *(_shown(one.get(metric), COLUMNS[metric].factor) for one in values.values())]
        for metric in metrics
    ]
    commands = [_command(records, f"scenario-{at}.toml", f"run-{at}") for at, records in enumerate(runs, 1)]
    return page.render(
        "runs.html",
        title=" beside ".join(named),
        footer=" · ".join(f"scenario {records.scenario_hash}, seed {records.seed}" for records in runs),
        commands=[*commands, "cwndlab report " + " ".join(f"run-{at}" for at in range(1, len(runs) + 1))],
        metrics=table("Metrics of each run (n = 1 run each: no intervals)", ["metric", *named], rows),
        over_time=over_time(page, named, "Over time", linked=True),
        run_findings=[
            {**row, "text": f"{name}: {row['text']}"}
            for name, records in named.items()
            for row in records.rows("findings")
        ],
        scenarios=[(f"Scenario of {name}", records.scenario.to_toml()) for name, records in named.items()],
    )


def side_by_side(runs: Sequence[Records]) -> Mapping[str, Records]:
    """The runs by algorithms and seed; runs that agree in both also have a number. The first part of an algorithm's
    name suffices if it distinguishes the runs equally well."""
    texts = [[f"{_algorithms(one, short=short)}, seed {one.seed}" for one in runs] for short in (True, False)]
    names = min(texts, key=lambda some: -len(set(some)))
    unique = [f"{name} ({at})" if names.count(name) > 1 else name for at, name in enumerate(names, 1)]
    return dict(zip(unique, runs, strict=True))


def _algorithms(records: Records, *, short: bool) -> str:
    """The algorithms of a run, each once; ``short`` without slow start and recovery."""
    names = [one.split("/")[0].split("+")[0] if short else one for one in algorithms_of(records.flows) if one]
    return ", ".join(dict.fromkeys(names)) or "UDP"


def _shown(value: float | None, factor: float) -> str:
    return "–" if value is None else number(value * factor)

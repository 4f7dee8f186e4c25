"""The page of one run."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from cwndlab.metrics import convergence, fairness, per_flow, per_link
from cwndlab.records import Records
from cwndlab.reports.page import page
from cwndlab.reports.sections import about, over_time
from cwndlab.reports.tables import frame_table
from cwndlab.statistics.digits import number

if TYPE_CHECKING:
    pass


def run_page(records: Records) -> str:
    """The page of one run."""
    fair, near = fairness(records)["jain"][0], convergence(records).row(0, named=True)
    told = [] if fair is None else [f"Jain's index of the flows' goodputs: {number(fair)}."]
    if near["convergence_s"] is not None:
        told.append(
            f"The second flow's window reached 80 % of the first one's after {number(near['convergence_s'])} s."
        )
    elif len(records.flows) > 1:
        told.append(f"Convergence time: none, {html.escape(near['reason'])}.")
    parts = [f"<p>{' '.join(told)}</p>", "<h2>Flows</h2>", frame_table(per_flow(records).drop("flow"))]
    parts += ["<h2>Bottlenecks</h2>", frame_table(per_link(records)), *over_time({"run": records}, "Over time")]
    parts += about(records.scenario.to_toml(), records.notes)
    return page(
        records.scenario.title or "A run",
        parts,
        footer=f"cwndlab {records.version} · scenario {records.scenario_hash} · seed {records.seed}",
    )

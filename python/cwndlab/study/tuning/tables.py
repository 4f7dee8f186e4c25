"""Results of tunings as tables: default, published and tuned on both sides; the range of good parameters."""

from __future__ import annotations

from typing import Any

from cwndlab.metrics.margins import verdict_of
from cwndlab.statistics import difference
from cwndlab.statistics.digits import number
from cwndlab.study.rendering import Table
from cwndlab.study.tuning.search import TuningResult

COLUMNS = (
    "scenarios",
    "parameters",
    "values",
    "score",
    "against",
    "difference",
    "low",
    "high",
    "verdict",
)
# The part of the trials whose parameters are shown as good ones.
_GOOD = 0.1


def verdicts(result: TuningResult) -> list[dict[str, Any]]:
    """A row for each set of parameters on each side; ``difference``, ``low`` and ``high`` are of the paired differences
    over seeds to what ``against`` names."""
    rows: list[dict[str, Any]] = []
    spec = result.spec
    values = {"default": spec.default, "published": spec.tried[-1], "tuned": result.best}
    both = len(spec.tried) == 1 and spec.published
    for side, title in (("train", "training"), ("test", "held back")):
        for which in ("default", "published", "tuned"):
            score = result.scores.get((side, which))
            if score is None:
                continue
            for against in _against(result, which, side):
                row: dict[str, Any] = {
                    "scenarios": title,
                    "parameters": "default, published" if both and which == "default" else which,
                    "values": _values(values[which]),
                    "score": score.mean,
                }
                if against is not None:
                    delta = difference(result.scores[side, against].by_seed, score.by_seed)
                    row |= {"against": against, "difference": delta.paired.mean, "low": delta.paired.low}
                    row |= {"high": delta.paired.high, "verdict": str(verdict_of("score", delta, None))}
                rows.append(row)
    return rows


def table(result: TuningResult) -> Table:
    """The table of `TuningResult.table`."""
    finished = result.complete and bool(result.scores)
    rows = verdicts(result) if finished else result.trials
    names = list(COLUMNS) if finished else ["trial", *result.spec.parameters, "score", "feasible"]
    words = [name for name in names if any(isinstance(row.get(name), str) for row in rows)]
    ordered = [*words, *(name for name in names if name not in words)]
    cells = [[_cell(row.get(name)) for name in ordered] for row in rows]
    return Table("Scores with paired differences" if finished else "Trials", ordered, cells, max(1, len(words)), rows)


def _cell(value: Any) -> str:
    # Ratios near one: four digits would hide differences.
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _against(result: TuningResult, which: str, side: str) -> list[str | None]:
    if which == "default":
        return [None]
    others = ["default", *(["published"] if which == "tuned" else [])]
    return [one for one in others if (side, one) in result.scores]


def _values(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name.rpartition('.')[2]} = {one if isinstance(one, str) else f'{one:.4g}'}" for name, one in values.items()
    )


def landscape(result: TuningResult) -> list[dict[str, Any]]:
    """For each parameter: where it was searched, default, published, best, and the span of the best tenth of the
    trials: where that is wide, the objective hardly depends on it."""
    spec = result.spec
    sign = -1 if spec.goal == "maximise" else 1
    feasible = sorted((row for row in result.trials if row["feasible"]), key=lambda row: sign * row["score"])
    # With their equals.
    worst = feasible[max(1, round(_GOOD * len(feasible))) - 1]["score"]
    good = [row for row in feasible if sign * row["score"] <= sign * worst]
    rows = []
    for name, one in spec.ranges.items():
        tried = [row[name] for row in good]
        is_choice = bool(one.values)
        rows.append(
            {
                "parameter": name,
                "searched": ", ".join(map(str, one.values)) if is_choice else f"{one.low:g} … {one.high:g}",
                "default": spec.default[name],
                "published": spec.published.get(name),
                "tuned": result.best.get(name),
                "best tenth": ", ".join(sorted(set(map(str, tried))))
                if is_choice
                else f"{min(tried):.3g} … {max(tried):.3g}",
            }
        )
    return rows


def spread(result: TuningResult) -> str:
    """How much the parameters matter, in a line."""
    scores = [row["score"] for row in result.trials if row["feasible"]]
    low, high = min(scores), max(scores)
    return f"scores of {len(scores)} trials: {low:.6g} to {high:.6g}, {number(high - low)} apart"

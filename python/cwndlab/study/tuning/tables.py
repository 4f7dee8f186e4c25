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
    """A row for each set of parameters on each side; ``difference``, ``low`` and ``high`` describe the paired
    differences over seeds from the set that ``against`` names."""
    rows: list[dict[str, Any]] = []
    asked = result.question
    values = {"default": asked["default"], "published": asked["tried"], "tuned": result.best}
    both = asked["tried"] == asked["default"] and asked["published"]
    for side, title in (("train", "training"), ("test", "held back")):
        for which in ("default", "published", "tuned"):
            score = result.scores.get((side, which))
            if score is None:
                continue
            for against in _against(result, which, side):
                row: dict[str, Any] = dict.fromkeys(COLUMNS) | {
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
    if not result.scores:
        return trials(result)
    rows = verdicts(result)
    cells = [[_cell(row[name], 6 if name == "score" else 4) for name in COLUMNS] for row in rows]
    return Table("Scores with paired differences", COLUMNS, cells, 3, rows, words=("against", "verdict"))


def trials(result: TuningResult) -> Table:
    """Every trial."""
    names = ["trial", *result.question["ranges"], "score", "feasible"]
    return Table("Trials", names, [[_cell(row[name]) for name in names] for row in result.trials], 0, result.trials)


def _cell(value: Any, digits: int = 4) -> str:
    # Scores are ratios near one: four digits would hide differences.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _against(result: TuningResult, which: str, side: str) -> list[str | None]:
    if which == "default":
        return [None]
    others = ["default", *(["published"] if which == "tuned" else [])]
    return [one for one in others if (side, one) in result.scores]


def _values(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name.rpartition('.')[2]} = {one if isinstance(one, str) else f'{one:.4g}'}" for name, one in values.items()
    )


def landscape(result: TuningResult) -> Table:
    """For each parameter: its range, default, published and best value, and the span of the best tenth of the trials.
    If that is wide, the objective hardly depends on the parameter."""
    asked = result.question
    sign = -1 if asked["goal"] == "maximise" else 1
    feasible = sorted((row for row in result.trials if row["feasible"]), key=lambda row: sign * row["score"])
    # With their equals.
    worst = feasible[max(1, round(_GOOD * len(feasible))) - 1]["score"]
    good = [row for row in feasible if sign * row["score"] <= sign * worst]
    rows = []
    for name, one in asked["ranges"].items():
        tried, choices = [row[name] for row in good], one["values"]
        row = {"parameter": name}
        row["searched"] = ", ".join(map(str, choices)) if choices else f"{one['low']:g} … {one['high']:g}"
        row |= {which: values.get(name) for which, values in (*((w, asked[w]) for w in _SETS), ("tuned", result.best))}
        span = sorted(set(map(str, tried))) if choices else [f"{min(tried):.3g} … {max(tried):.3g}"]
        rows.append(row | {"best tenth": ", ".join(span)})
    cells = [[_cell(value) for value in row.values()] for row in rows]
    return Table("The best tenth of the trials", list(rows[0]), cells, 2, rows, words=("best tenth",))


_SETS = ("default", "published")


def spread(result: TuningResult) -> str:
    """The spread of the scores, in a line."""
    scores = [row["score"] for row in result.trials if row["feasible"]]
    low, high = min(scores), max(scores)
    return f"scores of {len(scores)} trials: {low:.6g} to {high:.6g}, {number(high - low)} apart"

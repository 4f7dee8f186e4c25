"""What a tuning found, as tables: default, published and tuned on both sides; where good parameters lie."""

from __future__ import annotations

from typing import Any

from cwndlab.metrics.margins import judged as word_for
from cwndlab.statistics import difference
from cwndlab.statistics.digits import number
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


def verdicts(found: TuningResult) -> list[dict[str, Any]]:
    """A row for each set of parameters on each side; ``difference``, ``low`` and ``high`` are of the paired differences
    over seeds to what ``against`` names."""
    rows: list[dict[str, Any]] = []
    question = found.question
    values = {"default": question.default, "published": question.tried[-1], "tuned": found.best}
    both = len(question.tried) == 1 and question.published
    for side, title in (("train", "training"), ("test", "held back")):
        for who in ("default", "published", "tuned"):
            score = found.scores.get((side, who))
            if score is None:
                continue
            for against in _against(found, who, side):
                row: dict[str, Any] = {
                    "scenarios": title,
                    "parameters": "default, published" if both and who == "default" else who,
                    "values": _values(values[who]),
                    "score": score.mean,
                }
                if against is not None:
                    delta = difference(found.scores[side, against].by_seed, score.by_seed)
                    row |= {"against": against, "difference": delta.paired.mean, "low": delta.paired.low}
                    row |= {"high": delta.paired.high, "verdict": word_for("score", delta, None)}
                rows.append(row)
    return rows


def _against(found: TuningResult, who: str, side: str) -> list[str | None]:
    if who == "default":
        return [None]
    others = ["default", *(["published"] if who == "tuned" else [])]
    return [one for one in others if (side, one) in found.scores]


def _values(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name.rpartition('.')[2]} = {one if isinstance(one, str) else f'{one:.4g}'}" for name, one in values.items()
    )


def landscape(found: TuningResult) -> list[dict[str, Any]]:
    """For each parameter: where it was searched, default, published, best, and the span of the best tenth of the
    trials: where that is wide, the objective hardly depends on it."""
    question = found.question
    sign = -1 if question.goal == "maximise" else 1
    feasible = sorted((row for row in found.trials if row["feasible"]), key=lambda row: sign * row["score"])
    # With their equals.
    worst = feasible[max(1, round(_GOOD * len(feasible))) - 1]["score"]
    good = [row for row in feasible if sign * row["score"] <= sign * worst]
    rows = []
    for name, one in question.ranges.items():
        tried = [row[name] for row in good]
        words = bool(one.values)
        rows.append(
            {
                "parameter": name,
                "searched": ", ".join(map(str, one.values)) if words else f"{one.low:g} … {one.high:g}",
                "default": question.default[name],
                "published": question.published.get(name),
                "tuned": found.best.get(name),
                "best tenth": ", ".join(sorted(set(map(str, tried))))
                if words
                else f"{min(tried):.3g} … {max(tried):.3g}",
            }
        )
    return rows


def spread(found: TuningResult) -> str:
    """How much the parameters matter, in a line."""
    scores = [row["score"] for row in found.trials if row["feasible"]]
    low, high = min(scores), max(scores)
    return f"scores of {len(scores)} trials: {low:.6g} to {high:.6g}, {number(high - low)} apart"

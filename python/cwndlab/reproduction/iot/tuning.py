"""Figures 2 and 3 of the IoT paper: its own choice of alpha, rho, sigma and tau."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size
from cwndlab.reproduction.claims import Claim, Greater, Less, ValueIn
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.iot.path import (
    ASSUMPTIONS,
    READINGS,
    bands,
    flow,
    kind,
    measure,
    proposed,
    scenario,
    troubles,
)
from cwndlab.reproduction.measured import Measured

#: Sources, and the delay of the bottleneck.
_SOURCES, _DELAY_MS = 10, 20.0
_SILENT = (
    f"{_SOURCES} FTP sources of the proposed algorithm, no background and {_DELAY_MS:g} ms at the bottleneck, as § 3.3 "
    "states for Figure 3; § 3.1 gives Figure 2 the same sources and 200 s, which Figure 3 takes over, and no delay.",
    f"{_SOURCES} sources fill the line whatever the parameter: throughput is judged as a share of what the line "
    "carries of payload, of which nothing can show where every other value has 99 % of it.",
)


def _cases(size: Size, parameter: str) -> list[Case]:
    return [
        Case(
            {"reading": reading, parameter: value},
            scenario(
                [flow(proposed(reading, **{parameter: value}), 2 * _DELAY_MS, _SOURCES)],
                delay_ms=_DELAY_MS,
                duration_s=size.duration_s,
            ),
            measure,
        )
        for reading in READINGS
        for value in size[parameter]
    ]


def _claims(size: Size, parameter: str, best: float) -> list[Claim]:
    """One claim per sentence: the paper's value against all others."""
    claims = []
    for reading in READINGS:
        what = kind(reading)
        key = "iot:parameters" if what == "claim" else ""
        values = [best, *(value for value in size[parameter] if value != best)]
        sides: list[Labels] = [{"reading": reading, parameter: value} for value in values]
        words, title = (
            f"best at {parameter} = {best:g}",
            f"{reading}: throughput, {parameter} = {best:g} / each other value",
        )
        claims.append(Claim(title, words, "delivered_share", sides, Greater(), kind=what, headline=key))
        if parameter == "alpha":
            words, title = f"least at {best:g}", f"{reading}: timeouts, {parameter} = {best:g} / each other value"
            claims.append(Claim(title, words, "timeouts", sides, Less(), kind=what, headline=key))
        else:
            # "A similar pattern" of sigma and tau: throughput is largest and there are no timeouts.
            quantity = f"{reading}: timeouts at {parameter} = {best:g}"
            none = ValueIn(-inf, 0)
            claims.append(Claim(quantity, "no timeouts", "timeouts", sides[:1], none, kind=what, headline=key))
    return claims


def _charts(measured: Measured, name: str, parameter: str) -> list[Chart]:
    charts = []
    for metric, title, unit, factor in (
        ("goodput_bps", "Throughput of all sources", "throughput, kbit/s", 1e-3),
        ("timeouts", "Timeouts", "timeouts a run", 1.0),
    ):
        values = measured.points(parameter)
        curves = [
            Curve.of(
                reading,
                values,
                [measured.estimate(metric, reading=reading, **{parameter: value}) for value in values],
                factor=factor,
            )
            for reading in READINGS
        ]
        charts.append(
            Chart(
                f"{name}-{metric.split('_')[0]}",
                title,
                parameter,
                unit,
                curves,
                from_zero=metric == "timeouts",
                log_x=parameter == "alpha",
            )
        )
    return charts


def _why(measured: Measured) -> list[str]:
    sentences = []
    for reading in READINGS:
        sentences.append(f"{reading}: {bands(measured, reading=reading)}; {troubles(measured, reading=reading)}.")
    return sentences


def _experiment(figure: str, parameter: str, best: float, title: str, published: str, **sizes: Any) -> Experiment:
    return Experiment(
        f"iot/{figure}",
        title,
        f"§ 3, Fig. {figure[3:4]}{f'({figure[4:]})' if figure[4:] else ''}",
        published,
        [*ASSUMPTIONS, *_SILENT],
        Size(200.0, 5, {parameter: sizes["quick"]}),
        Size(200.0, 10, {parameter: sizes["full"]}),
        partial(_cases, parameter=parameter),
        partial(_claims, parameter=parameter, best=best),
        partial(_charts, name=figure, parameter=parameter),
        why=_why,
    )


FIG2 = _experiment(
    "fig2",
    "alpha",
    4.0,
    "throughput and timeouts over alpha",
    "10 sources, 200 s: of all alpha from 1 up, 4 gives the highest throughput and the fewest timeouts.",
    quick=(1.0, 2.0, 4.0, 8.0, 32.0),
    full=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 16.0, 32.0, 64.0),
)
_TENTHS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
FIG3A = _experiment(
    "fig3a",
    "rho",
    0.5,
    "throughput and timeouts over rho",
    "Throughput is best at rho = 0.50, where there are no timeouts.",
    quick=(0.1, 0.3, 0.5, 0.7, 1.0),
    full=_TENTHS,
)
FIG3B = _experiment(
    "fig3b",
    "sigma",
    0.8,
    "throughput over sigma",
    "Throughput is best at sigma = 0.80, in a similar pattern: no timeouts there.",
    quick=(0.1, 0.5, 0.7, 0.8, 1.0),
    full=_TENTHS,
)
FIG3C = _experiment(
    "fig3c",
    "tau",
    0.9,
    "throughput over tau",
    "Throughput is best at tau = 0.90, in a similar pattern: no timeouts there.",
    quick=(0.1, 0.5, 0.8, 0.9, 1.0),
    full=_TENTHS,
)

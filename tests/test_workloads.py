"""Workloads as classes, in the records, and as `cwndlab run` shows them."""

from __future__ import annotations

from pathlib import Path

import cwndlab
import polars as pl
import pytest
from cwndlab.cli.app import status
from cwndlab.errors import ScenarioError
from cwndlab.scenario.workloads import (
    Arrivals,
    Bulk,
    Cbr,
    Cdf,
    Distribution,
    Exponential,
    Gamma,
    LogNormal,
    Mqtt,
    OnOff,
    PageLoads,
    Pareto,
    RequestResponse,
    Transfers,
    Uniform,
    Vbr,
    Workload,
)
from hypothesis import given, settings
from hypothesis import strategies as st

PATH = cwndlab.Dumbbell(cwndlab.Link(rate="20 Mbit/s", delay="10 ms"))
sizes = st.integers(1, 10**6).map("{} B".format)
times = st.integers(1, 10**4).map("{} ms".format)


def distributions(values: st.SearchStrategy[str]) -> st.SearchStrategy[Distribution | str]:
    numbers = st.floats(0.1, 5.0)
    return st.one_of(
        values,
        st.builds(Exponential, mean=values),
        st.builds(Uniform, max=values),
        st.builds(Gamma, mean=values, cv=numbers),
        st.builds(LogNormal, median=values, sigma=numbers),
        st.builds(LogNormal, mean=values, cv=numbers),
        st.builds(Pareto, shape=st.floats(1.1, 3.0), mean=values),
        values.map(lambda value: Cdf([(value, 0.5), ("100 MB" if value.endswith("B") else "100 s", 1.0)])),
    )


tcp = st.one_of(
    st.builds(Bulk, st.none() | sizes),
    st.builds(Transfers, sizes, count=st.none() | st.integers(1, 9), new_connection=st.none() | st.booleans()),
    st.builds(OnOff, on=distributions(times), off=distributions(times)),
    st.builds(Arrivals, size=distributions(sizes), per_second=st.floats(0.1, 100.0), count=st.none() | st.just(3)),
    st.builds(Arrivals, size=distributions(sizes), load=st.floats(0.1, 2.0), connections=st.none() | st.just(7)),
    st.builds(RequestResponse, request=distributions(sizes), response=distributions(sizes), think=distributions(times)),
    st.builds(
        PageLoads, main=st.none() | distributions(sizes), objects=st.none() | st.just(7), parse=distributions(times)
    ),
    st.builds(Mqtt, period=times, qos=st.sampled_from([None, 0, 1]), payload=st.none() | distributions(sizes)),
)
udp = st.one_of(
    st.builds(Cbr, st.just("2 Mbit/s"), packet=st.none() | st.just("500 B")),
    st.builds(Vbr, rate=st.just("2 Mbit/s"), cv=st.none() | st.just(0.7), sizes=st.sampled_from([None, "gamma"])),
    st.builds(OnOff, on=distributions(times), off=distributions(times), rate=st.just("2 Mbit/s")),
)


@given(tcp, udp)
@settings(max_examples=60)
def test_every_workload_survives_toml(one: Workload, other: Workload) -> None:
    flows = [
        cwndlab.Flow("reno", rtt="40 ms", workload=one),
        cwndlab.Flow(transport="udp", rtt="40 ms", workload=other),
    ]
    scenario = cwndlab.Scenario(duration="1 s", dumbbell=PATH, flows=flows)
    again = cwndlab.Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert again.flows[0].workload == one
    assert again.to_document() == scenario.to_document()


def test_datagrams_have_delays_and_no_window() -> None:
    flows = [
        cwndlab.Flow("reno", rtt="40 ms"),
        cwndlab.Flow(transport="udp", rtt="40 ms", direction="reverse", workload=Cbr("2 Mbit/s")),
    ]
    records = cwndlab.run(cwndlab.Scenario(duration="2 s", dumbbell=PATH, flows=flows), seed=1)
    first, second = records.flows.iter_rows(named=True)
    assert (first["min_delay_ns"], second["min_rtt_ns"], second["algorithm"]) == (None, None, "none")
    # 20 ms of propagation and 0.6 ms for 1500 bytes on the line; ACKs of the other flow may be in front.
    assert 20_600_000 <= second["min_delay_ns"] < 20_700_000
    windows = records.samples.group_by("flow", maintain_order=True).agg(pl.col("cwnd_bytes").null_count(), pl.len())
    assert windows.sort("flow")["cwnd_bytes"].to_list() == [0, windows.filter(pl.col("flow") == 1)["len"].item()]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cross-traffic", ("max delay", "bursts")),
        ("short-flows", ("transfers", "95 %")),
        ("web", ("reader-20", "all")),
        ("mqtt", ("sensor-1", "transfers")),
    ],
)
def test_presets_show_what_they_are_about(
    name: str, shown: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["run", name, "--seed", "1", "--set", "duration=12 s"]) == 0
    printed = capsys.readouterr().out
    for word in shown:
        assert word in printed


def test_algorithms_are_compared_in_flows_that_have_one() -> None:
    scenario = cwndlab.presets.load("cross-traffic").with_({"duration": "3 s", "measure_from": "1 s"})
    found = cwndlab.compare(scenario, ["reno", "cubic"], seeds=2)
    assert set(found.summary()["algorithm"]) == {"reno", "cubic"}
    alone = cwndlab.Scenario(
        duration="1 s", dumbbell=PATH, flows=[cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr("1 Mbit/s"))]
    )
    with pytest.raises(ScenarioError, match="every flow uses UDP"):
        cwndlab.compare(alone, ["reno"], seeds=2)


def test_a_file_of_sizes_is_kept_with_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("size,probability\n1000,0.5\n9000,1\n", encoding="utf-8")
    text = cwndlab.Scenario(
        duration="5 s",
        dumbbell=PATH,
        flows=[
            cwndlab.Flow("reno", rtt="40 ms", workload=Arrivals(per_second=50, size=Cdf([("1 kB", 0.5), ("9 kB", 1)])))
        ],
    )
    toml = text.to_toml().replace('points = [["1 kB", 0.5], ["9 kB", 1]]', 'file = "sizes.csv"')
    assert "sizes.csv" in toml
    scenario = cwndlab.Scenario.from_toml(toml, folder=tmp_path)
    assert scenario.hash == text.hash
    drawn = cwndlab.run(scenario, seed=1).transfers["size_bytes"]
    assert drawn.min() == 1000
    assert drawn.max() <= 9000  # type: ignore[operator]

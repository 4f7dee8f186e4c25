"""The question: Python and TOML say the same, and every fault is told at once."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
import pytest
from cwndlab import (
    Access,
    Bernoulli,
    Bulk,
    Control,
    DropTail,
    Dumbbell,
    Flow,
    GilbertElliott,
    Jitter,
    Link,
    LossList,
    Node,
    OnOff,
    ParkingLot,
    Scenario,
    ScenarioError,
    Transfers,
)
from cwndlab.scenario import Harq, Step
from cwndlab.scenario.cells import Cell, Grants, Rlc, Rrc
from cwndlab.scenario.media import AccessCategory, Beacon, Edca, Medium, Wlan, WlanStation
from cwndlab.scenario.queues import Ared, Codel, DualPi2, Fq, FqCodel, FqPie, Pie, Red, StepEcn
from hypothesis import given, settings
from hypothesis import strategies as st

FULL = Scenario(
    title="every field that a dumbbell has",
    duration="10 s",
    sample_interval="50 ms",
    packets=True,
    measure_from="1 s",
    start_jitter="rtt",
    dumbbell=Dumbbell(
        Link(
            rate="100 Mbps",
            delay="10 ms",
            queue=StepEcn("200 packets", mark_above=20, counts_in_service=True),
            loss=[
                Bernoulli(1e-4),
                GilbertElliott(p=0.01, r=0.3, loss_bad=0.5, loss_good=0.0),
                LossList([17, 403], counts="payload"),
            ],
            jitter=Jitter("1 ms", reorder=True),
            duplicate=1e-5,
        ),
        reverse=Link(rate="50 Mbps"),
        access=Access(rate="1 Gbps", queue=DropTail("600 packets")),
    ),
    flows=[
        Flow("cubic+ccm-ss(mu=2)/sack", rtt="50 ms", name="long", profile="ns2", stack={"initial_window": 2}),
        Flow("reno", rtt="60 ms", count=3, start_step="100 ms", start_jitter="0 s", workload=Bulk("10 MB")),
        Flow("bic", rtt="70 ms", direction="reverse", start="1 s", stop="9 s", workload=OnOff(on="1 s", off="500 ms")),
        Flow("scalable", rtt="80 ms", workload=Transfers("100 kB", count=20, gap="10 ms", new_connection=False)),
        Flow("ctcp", rtt="90 ms", control=Control(delay="64 us", interval="1 ms")),
    ],
)

GRAPH = Scenario(
    duration="1 s",
    nodes=[Node("a"), Node("b"), Node("c")],
    links=[
        Link("first", from_="a", to="b", rate="10 Mbps", delay="5 ms"),
        Link("second", from_="b", to="c", rate="20 Mbps", delay="5 ms", queue=DropTail("20 ms"), duplex=True),
    ],
    flows=[Flow("reno", from_="a", to="c", route=["first", "second"])],
)

QUEUES = Scenario(
    duration="1 s",
    parking_lot=ParkingLot(
        [
            Link(rate="10 Mbps", delay="1 ms", queue=queue)
            for queue in (
                Red("100 packets", weight="auto", min_th=10, max_th=30, gentle=False, wait=True, ecn=True),
                Ared(interval="1 s", target="10 ms", mean_packet="1000 B"),
                Codel(target="10 ms", interval="200 ms", ecn=True),
                Pie(update="30 ms", alpha=0.1, beta=1.0, burst="0 s", mark_below=0.2),
                DualPi2(target="20 ms", rtt_max="200 ms", coupling=1.5, l_min="1 ms", l_range="0 s", min_qlen_step=0),
                Fq("1 MB", quantum="300 B", batch=1),
                FqCodel(queues=16, ecn=False, ce_threshold="1 ms", ce_threshold_ect1=True),
                FqPie(queues=1, target="5 ms"),
            )
        ]
    ),
    flows=[Flow("reno", rtt="50 ms", enter=1, leave=9)],
)

LOT = Scenario(
    duration="1 s",
    parking_lot=ParkingLot([Link(rate="10 Mbps", delay="5 ms"), Link(rate="20 Mbps", delay="5 ms")]),
    flows=[Flow("reno", rtt="50 ms", enter=1, leave=3), Flow("cubic", rtt="30 ms", enter=2, leave=3)],
)


WLAN = Scenario(
    duration="1 s",
    wlan=Wlan(
        standard="802.11g",
        rate="48 Mbps",
        frame_error=0.01,
        slot="20 us",
        cw_min=31,
        cw_max=511,
        short_attempts=5,
        long_attempts=3,
        rts_above="1000 B",
        eifs=True,
        keeps_turn=True,
        beacon=Beacon(interval="102.4 ms", size="200 B"),
        edca=Edca(
            dscp_mapping="rfc8325", voice=AccessCategory(aifsn=1, txop_limit="0 s"), video=AccessCategory(cw_max=31)
        ),
        queue=FqCodel(),
        station_queue=DropTail("30 packets", counts_in_service=True),
        wire=Access(rate="1 Gbps"),
        stations=[WlanStation(rate="6 Mbps"), WlanStation(frame_error=0.2)],
    ),
    flows=[Flow("reno", rtt="50 ms"), Flow("cubic", rtt="30 ms", direction="upload")],
)

MEDIA = Scenario(
    duration="1 s",
    media=[
        Medium(name="cell", standard="802.11n", mcs=3, streams=2, short_guard=True, aggregation=False),
        Medium(name="other", standard="802.11g", beacon="100 ms", access_point="b", edca="precedence"),
    ],
    links=[
        Link(from_="a", to="b", medium="cell", mcs=1, frame_error=0.1),
        Link(from_="b", to="c", medium="other", rate="12 Mbps"),
    ],
    flows=[Flow("reno", from_="a", to="c")],
)

CELLS = Scenario(
    duration="1 s",
    cells=[
        Cell(
            name="lte",
            base_station="a",
            harq=Harq(probability=0.2),
            rlc=Rlc(mode="um"),
            grants=Grants(first="100 B"),
        ),
        Cell(name="nr", base_station="c", technology="nr", resource_blocks=51, rrc=Rrc(promotion="80 ms")),
    ],
    links=[
        Link(
            from_="a",
            to="b",
            cell="lte",
            snr=-1.5,
            fading="20 ms",
            schedule=[Step("1 s", handover="50 ms", snr=12.0)],
        ),
        Link(from_="b", to="c", cell="nr", snr=20.0),
    ],
    flows=[Flow("reno", from_="a", to="c")],
)

KINDS = {
    "dumbbell": FULL,
    "graph": GRAPH,
    "parking lot": LOT,
    "queues": QUEUES,
    "wlan": WLAN,
    "media": MEDIA,
    "cells": CELLS,
}


@pytest.mark.parametrize("scenario", KINDS.values(), ids=KINDS)
def test_a_scenario_comes_back_from_toml_and_json(scenario: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    scenario.save(file)
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    for read in (Scenario.load(file), Scenario.from_toml(scenario.to_toml()), Scenario.from_json(scenario.to_json())):
        assert read == scenario
        assert hash(read) == hash(scenario)
        assert read.to_document() == scenario.to_document()
        assert (read.dumbbell, read.flows, read.links) == (scenario.dumbbell, scenario.flows, scenario.links)
        assert (read.wlan, read.media) == (scenario.wlan, scenario.media)


def test_toml_and_python_mean_the_same(path: Path, scenario: Scenario) -> None:
    assert Scenario.load(path) == scenario


def test_units_and_defaults_do_not_make_a_difference(scenario: Scenario) -> None:
    same = scenario.with_({"flow[0].rtt": "0.04 s", "dumbbell.bottleneck.rate": "0.01 Gbit/s"}, duration="2000 ms")
    assert same == scenario
    assert scenario.with_({"flow[0].rtt": "41 ms"}) != scenario
    assert scenario != "a scenario"


def test_a_field_may_be_changed_to_a_table(scenario: Scenario) -> None:
    changed = scenario.with_({"dumbbell.bottleneck.loss": [Bernoulli(0.5), LossList([1, 2])]}, packets=True)
    assert changed.dumbbell is not None
    assert changed.dumbbell.bottleneck.loss == (Bernoulli(0.5), LossList((1, 2)))
    assert changed.packets is True


def test_a_field_that_is_set_to_none_has_its_default(scenario: Scenario) -> None:
    """As in the constructor, where a field left at None takes the schema's default."""
    named = scenario.with_({"flow[0].name": "up"}, title="a title", packets=True)
    plain = named.with_({"flow[up].name": None}, title=None, packets=None)
    assert plain.title is None
    assert plain == scenario.with_({"flow[0].name": None}, packets=None)
    with pytest.raises(ScenarioError, match=r"^titel: no such field\n  hint: did you mean 'title'\?$"):
        scenario.with_(titel=None)
    with pytest.raises(ScenarioError, match=r"^duration: is missing"):
        scenario.with_(duration=None)


def test_numbers_of_numpy_and_paths_are_plain_values(scenario: Scenario, tmp_path: Path) -> None:
    trace: Any = tmp_path / "trace.txt"
    count: Any = np.int64(2)
    trace.write_text("1\n")
    dumbbell = Dumbbell(Link(trace=trace, delay="10 ms"))
    made = Scenario(duration="1 s", dumbbell=dumbbell, flows=[Flow("cubic", rtt="40 ms", count=count)])
    assert made.document["flow"][0]["count"] == 2
    assert made.document["dumbbell"]["bottleneck"]["trace"] == {"text": "1\n"}
    assert scenario.with_({"flow[0].count": count}) == scenario.with_({"flow[0].count": 2})


def test_values_are_frozen(scenario: Scenario) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.flows[0].algorithm = "reno"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.duration = "1 s"  # type: ignore[misc]


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ScenarioError) as told:
        Scenario(
            duration="2",
            dumbbell=Dumbbell(Link(rate="10", delay="10 ms")),
            flows=[Flow("cubik", rtt="40 ms"), Flow("cubic", rtt="-1 ms")],
        )
    assert [fault.where for fault in told.value.faults] == [
        "duration",
        "dumbbell.bottleneck.rate",
        "flow[1].rtt",
        "flow[0].algorithm",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"flow[0].algorithm": "cubik"},
            "flow[0].algorithm: no algorithm is called 'cubik'\n"
            "  hint: did you mean 'cubic'? `cwndlab list` shows them all",
        ),
        (
            {"flow[5].rtt": "1 ms"},
            "flow[5]: the list has 2 items\n  hint: indices start at 0; 'flow[+]' adds one",
        ),
        (
            {"dumbbell.bottleneck.rat": "1 Mbps"},
            "dumbbell.bottleneck.rat: no such field\n  hint: did you mean 'rate'?",
        ),
    ],
)
def test_a_fault_names_field_cause_and_cure(scenario: Scenario, change: dict[str, str], message: str) -> None:
    with pytest.raises(ScenarioError) as told:
        scenario.with_(change)
    assert str(told.value) == message


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    hint = "\n  hint: name a scenario in TOML"
    missing = tmp_path / "missing.toml"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"title = '\xff'")
    for file, what in [
        (missing, "there is no such file"),
        (tmp_path, "is a folder, not a file"),
        (binary, "is not UTF-8 text (byte 9)"),
        (Path("x\0y"), "cannot be read (embedded null byte)"),
    ]:
        with pytest.raises(ScenarioError) as told:
            Scenario.load(file)
        assert str(told.value) == f"{file}: {what}{hint}"


def test_a_line_of_recorded_delays_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "delays.txt").write_text("3\n\n")
    document = tmp_path / "scenario.toml"
    line = 'rate = "10 Mbps", delay = "10 ms", delay_trace = { file = "delays.txt", interval = "1 s" }'
    document.write_text(
        f'schema_version = 1\nduration = "1 s"\n[dumbbell]\nbottleneck = {{ {line} }}\n'
        '[[flow]]\nalgorithm = "reno"\nrtt = "40 ms"\n'
    )
    with pytest.raises(ScenarioError) as told:
        Scenario.load(document)
    assert str(told.value) == (
        "dumbbell.bottleneck.delay_trace.file: delays.txt:2: the line is empty\n"
        "  hint: one integer number of milliseconds per line"
    )


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_list_of_losses_is_read_from_its_file(tmp_path: Path, mark: str) -> None:
    """With the byte order mark of spreadsheets, too."""
    (tmp_path / "drops.csv").write_text(f"{mark}packet_index\n3\n8\n", encoding="utf-8")
    document = tmp_path / "scenario.toml"
    document.write_text(
        'schema_version = 1\nduration = "1 s"\n[dumbbell]\n'
        'bottleneck = { rate = "10 Mbps", delay = "10 ms", loss = { kind = "list", file = "drops.csv" } }\n'
        '[[flow]]\nalgorithm = "reno"\nrtt = "40 ms"\n'
    )
    read = Scenario.load(document)
    assert read.dumbbell is not None
    assert read.dumbbell.bottleneck.loss == LossList((3, 8))


rates = st.integers(1, 10_000).map("{} kbps".format)
delays = st.integers(0, 500_000).map("{} us".format)
sizes = st.integers(1, 10_000).map("{} packets".format) | st.just("unlimited")
queues = st.none() | st.builds(DropTail, sizes)
indices = st.lists(st.integers(0, 99), unique=True).map(sorted)
losses = st.none() | st.builds(Bernoulli, st.floats(0, 1)) | st.builds(LossList, indices)
flows = st.builds(
    Flow,
    st.sampled_from(["reno", "cubic+hystart/sack", "bic", "hstcp"]),
    rtt=st.integers(1000, 2000).map("{} ms".format),
    start=st.none() | delays,
    direction=st.sampled_from([None, "forward", "reverse"]),
    workload=st.none() | st.builds(Bulk, st.none() | st.integers(1, 10**9).map("{} B".format)),
)
scenarios = st.builds(
    Scenario,
    duration=st.integers(1, 100).map("{} s".format),
    dumbbell=st.builds(Dumbbell, st.builds(Link, rate=rates, delay=delays, queue=queues, loss=losses)),
    flows=st.lists(flows, min_size=1, max_size=4),
)


@given(scenarios)
@settings(max_examples=100)
def test_any_scenario_survives_toml(scenario: Scenario) -> None:
    again = Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert again.to_document() == scenario.to_document()


def test_the_public_names_are_there() -> None:
    assert cwndlab.__all__ == sorted(cwndlab.__all__)
    for name in cwndlab.__all__:
        assert getattr(cwndlab, name) is not None
    with pytest.raises(AttributeError, match="module 'cwndlab' has no attribute 'walk'"):
        _ = cwndlab.walk  # type: ignore[attr-defined]


def test_the_table_of_a_notebook_has_path_and_flows(scenario: Scenario) -> None:
    """The fields as they were set, each link, medium and flow in a row; texts are escaped."""
    changed = scenario.with_({"title": "a <b>", "flow[0].name": "long", "dumbbell.bottleneck.queue": DropTail("1 bdp")})
    html = changed._repr_html_()
    assert f"<caption>a &lt;b&gt;, {changed.duration} ({changed.hash[:12]})</caption>" in html
    assert "<td>dumbbell</td><td>bottleneck</td>" in html
    assert "capacity = &quot;1 bdp&quot;" in html
    assert "<td>flow</td><td>long</td><td>algorithm = cubic" in html
    assert html.count("<tr>") == 1 + 1 + len(changed.flows)
    hops = [Link(rate="10 Mbit/s", delay="1 ms") for _ in range(2)]
    row = Scenario(duration="1 s", parking_lot=ParkingLot(hops), flows=[Flow("reno", rtt="40 ms")] * 40)._repr_html_()
    assert "<td>parking_lot</td><td>hops[1]</td><td>delay = 1 ms, rate = 10 Mbit/s</td>" in row
    assert row.count("<tr>") == 1 + 30 + 1
    assert "12 more" in row


def test_tables_are_written_as_they_are_made() -> None:
    """Fields that are not set are left out: the text can be typed."""
    queue = FqCodel(target="5 ms", capacity="100 packets")
    link = Link(rate="10 Mbit/s", queue=queue)
    assert repr(link) == f"Link(rate='10 Mbit/s', queue={queue!r})"
    assert eval(repr(link)) == link
    assert repr(Flow("reno", rtt="40 ms")) == "Flow(algorithm='reno', rtt='40 ms')"

"""Published figures of three papers, by hand; and what their experiments take from a run."""

from __future__ import annotations

import pytest
from cwndlab.metrics import jain
from cwndlab.reproduction import PAPERS, find
from cwndlab.reproduction.cases import Size
from cwndlab.reproduction.catalogue import spaces
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.reproduction.papers import iot_measures, iot_paths, phcc_measures, phcc_paths
from cwndlab.simulate import run_many

#: The IoT paper's algorithm at the base assumptions.
PROPOSED = "iotcc(increase=literal, mode=literal)/fack"


def records_of(document: dict[str, object], seed: int = 1):  # type: ignore[no-untyped-def]
    """The records of one run."""
    (found,) = (records for _, records in run_many([(document, seed)]))
    return found


def test_the_phcc_papers_utilisation_is_its_throughput_over_the_line() -> None:
    """Table 1: each percentage is the throughput over 200 Mbit/s, rounded (195/200 = 97.5 to 98 %)."""
    for row in PAPERS["phcc"].document["published"]["table1"].values():
        assert abs(row["kbps"] * 1e3 / 200e6 - row["share"]) <= 0.00501


def test_one_index_of_the_phcc_paper_does_not_follow_from_its_throughputs() -> None:
    """Table 2: STCP at 600 packets alone is off by more than the rounding: 62, 48, 85 give 0.948, printed is 0.99."""
    off = {}
    for buffer in (600, 2000):
        for name, row in PAPERS["phcc"].document["published"][f"table2-{buffer}"].items():
            assert jain(row["kbps"]) == row["follows"]
            if abs(row["follows"] - row["index"]) > 0.0101:
                off[buffer, name] = round(row["follows"], 3)
    assert off == {(600, "STCP"): 0.948}


def test_headlines_without_universes_name_as_many_buffers_as_their_experiment_has() -> None:
    """100 to 4000 packets: nine buffers at full size, which the universes do not have."""
    (one,) = find("phcc/fig9")
    assert len(one.full.points["buffer_packets"]) == 9
    reasons = {each.key: each.no_universes for each in PAPERS["phcc"].headlines}
    for key in ("adapts", "buffers", "uniformly"):
        assert reasons[f"phcc:{key}"] == "all nine buffers of the experiment; the universes have two"


def test_the_phcc_path_holds_three_thousand_packets() -> None:
    """200 Mbit/s × 120 ms / 8000 bit; and one flow of a window beyond it fills the line to the last bit."""
    assert phcc_measures._BDP_PACKETS == 200e6 * 120.0 / 1e3 / 8000
    document = phcc_paths.shared(["scalable"], buffer=3000, duration_s=20)
    found = phcc_measures.measure_flows(records_of(document))
    assert found["time_to_full_utilisation_s"] is not None
    assert 1.0 < found["time_to_full_utilisation_s"] < 3.0
    assert found["goodput_2_bps"] is None


def test_the_phases_of_a_start_of_reno_are_measured_as_doubling_and_halving() -> None:
    """By hand: slow start doubles, and a loss halves. The measurement is the PHCC paper's; the algorithm is Reno, of
    which both are known."""
    document = phcc_paths.shared(["reno"], buffer=2000, duration_s=10, sample_ms=20)
    found = phcc_measures.measure_phases(records_of(document))
    assert found["cut"] == pytest.approx(0.5, abs=0.01)
    assert found["first_growth"] is not None
    assert 1.7 < found["first_growth"] < 2.1


def test_a_share_beside_three_is_a_quarter() -> None:
    """Four flows of one kind; the first one's share is its part of the TCP flows' throughput, datagrams left out."""
    flows = [iot_paths.flow(("cubic-ns2", {}), 100, 4), *iot_paths.background(500, 100)]
    found = iot_measures.measure_tcp(records_of(iot_paths.scenario(flows, delay_ms=50, duration_s=60)))
    assert found["share"] is not None
    assert 0.15 < found["share"] < 0.35
    assert found["off_share"] == pytest.approx(abs(found["share"] - 0.25))
    assert found["goodput_50_bps"] is not None
    assert found["goodput_75_bps"] is None


def test_beta_stays_below_what_the_queue_allows() -> None:
    """By hand: 50 packets of 1040 bytes at 1.5 Mbit/s wait 277 ms and one is in service, so at a base RTT of 100 ms and
    9 ms of access β is at most 283/392 = 0.72 where no ACK waits for a repair."""
    chosen: iot_paths.Chosen = ("iotcc(mode=literal)/fack", {})
    records = records_of(
        iot_paths.scenario([iot_paths.flow(chosen, 100), *iot_paths.background(1000, 100)], delay_ms=50, duration_s=60)
    )
    found = iot_measures.measure_tcp(records)
    assert found["beta_largest"] is not None
    assert 0.5 < found["beta_largest"] < 0.8
    assert found["beta_decrease"] == 0
    assert found["unstamped"] == 0


def test_readings_are_texts_of_the_algorithm() -> None:
    """Parameters stand in the text, and no two readings are the same."""
    (fig2,) = find("iot/fig2")
    cases = [case for case in fig2.cases(fig2.quick) if case.labels["alpha"] == 4]
    flows = {case.labels["reading"]: case.scenario["flow"][0] for case in cases}
    assert len({(flow["algorithm"], str(flow["stack"])) for flow in flows.values()}) == len(flows) == 6
    assert flows["proposed"]["algorithm"] == "iotcc(increase=literal, mode=literal, pacing=off, alpha=4)/fack"
    assert flows["native agent"]["algorithm"] == "iotcc(increase=literal, mode=literal, pacing=off, alpha=4)/newreno"


def stamps_of(start_s: float, stamped: iot_paths.Stamped = "syn") -> list[float]:
    """What routers stamp on a flow's handshake beside the background, bit/s, of eight seeds."""
    flows = [iot_paths.flow((PROPOSED, {}), 100, start_s=start_s), *iot_paths.background(1000, 100)]
    document = iot_paths.scenario(flows, delay_ms=50, duration_s=6, stamped=stamped) | {"sample_interval": "20 ms"}
    stamps = []
    for seed in range(1, 9):
        records = records_of(document, seed)
        pipe = records.events.filter(records.events["kind"] == "slow-start-exit")["pipe_segments"].to_list()[0]
        rtt_ns = records.samples.filter(records.samples["flow"] == 0)["rtt_ns"].drop_nulls().to_list()[0]
        stamps.append(pipe * 1000 * 8 / (rtt_ns / 1e9))
    return stamps


def test_the_handshake_meets_the_background() -> None:
    """By hand: 1000 kbit/s of payload in packets of 1000 bytes are 1.03 Mbit/s with IP and UDP headers, half of it of
    varying rate, so that about 0.47 of 1.5 Mbit/s are left. A SYN that starts with the background is mostly stamped its
    access link's 1 Mbit/s, since it finds the line empty. The load of one round trip, that of the SYN-ACK, has
    the same mean."""
    together, later = stamps_of(0.0), stamps_of(iot_paths.FIRST_S)
    assert sum(stamp > 0.99e6 for stamp in together) > len(together) / 2
    assert max(later) < 0.9e6
    assert 0.4e6 < sum(later) / len(later) < 0.7e6
    answered = stamps_of(iot_paths.FIRST_S, "syn-ack")
    assert 0.4e6 < sum(answered) / len(answered) < 0.7e6


def test_exits_where_mu_matters_are_counted_on_the_side_of_mu_1() -> None:
    """CCM-SS' own lower bound is 0.3 of B·D: between 0.2 and 0.3 it cannot leave, so that none of its exits counts."""
    (fig12b,) = find("ccm-ss/fig12b")
    (claim,) = fig12b.claims(fig12b.quick)
    module, base = claim.sides
    rows = [Row(side, 0, {"exits": 7.0, "exits_in_band": inside}) for side, inside in ((module, 5.0), (base, 2.0))]
    assert (
        "both bounds: 2 of 7 slow-start exits of cubic-ns2+ccm-ss(mu=1)/sack"
        in fig12b.why(Measured(Size(1.0, 1), rows))[0]
    )
    assert [(control.metric, control.side) for control in claim.controls] == [("exits_in_band", base)]


def test_an_initial_window_at_the_lower_bound_is_its_share_of_the_path() -> None:
    """By hand: 50 Mbit/s · 50 ms one way / 8 / 1460 bytes = 214.0 segments; 0.3 of them are 64, 0.2 are 43. With 95 ms
    one way they are 406.7, 122 and 81."""
    space = next(one for one in spaces("ccm-ss") if one.id == "ccm-ss/hystart")
    cases = space.cases({**space.base, "initial window": "lower bound"})
    windows = {
        case.labels["side"]: [flow["stack"]["initial_window"] for flow in case.scenario["flow"]] for case in cases
    }
    assert windows == {"CCM-SS": [64, 122], "HyStart": [43, 81]}


def test_a_sentence_of_two_parts_has_evidence_for_both() -> None:
    """PHCC paper, § 4 on Fig. 14: some variants squeeze Reno, "TCP-Illinois acts well", and Illinois, HCC and FAST have
    less than Reno with the larger buffer. A row that has the first part alone would hold by it."""
    claims = [claim for one in find("phcc") for claim in one.claims(one.full) if claim.headline == "phcc:squeezes"]
    names = [claim.quantity.partition("beside two of ")[2] for claim in claims]
    assert set(names) == {
        "STCP, HSTCP, BIC, H-TCP",
        "Illinois / each of STCP, HSTCP, BIC, H-TCP",
        "Illinois, HCC, FAST",
    }


def test_the_level_of_a_universe_is_that_of_the_flows_that_are_compared() -> None:
    """In the wireless cell ten uploads have nearly all of the air: with them in the level, the downloads that they
    starve would be ranked. The claims of a space name the same groups as those of the experiment."""
    groups = {"cubic-study/fig7": "cubic-study/reverse", "cubic-study/fig11a": "cubic-study/wireless"}
    known = {one.id: one for one in spaces("cubic-study")}
    for id, space in groups.items():
        (experiment,) = find(id)
        stated = {claim.flows for claim in experiment.claims(experiment.full)}
        assert {claim.flows for claim in known[space].claims(known[space].base)} == stated != {()}

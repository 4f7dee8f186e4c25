"""Real TCP over the simulator's links. Function is asserted, timing is not; skips where it may not be tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import cwndlab
import pytest
from cwndlab.emulation import Settings, Substitution, deviations, emulate, substitutions
from cwndlab.records import Records
from cwndlab.reports.run import runs_page
from cwndlab.scenario.workloads import AdaptiveVideo, Cbr


def scenario(algorithm: str, **changes: str) -> cwndlab.Scenario:
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="5 ms", queue=cwndlab.DropTail("80 packets"))
    flow = cwndlab.Flow(algorithm, rtt="30 ms")
    return cwndlab.Scenario(duration="4 s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=[flow]).with_(**changes)


def emulated(question: cwndlab.Scenario, settings: Settings | None = None) -> Records:
    try:
        return emulate(question, seed=1, accept_late=True, settings=settings)
    except cwndlab.RunError as error:
        if "unshare" in str(error) or "/dev/net/tun" in str(error):
            pytest.skip(str(error))
        raise


def entries(folder: str) -> set[str]:
    return {one.name for one in Path(folder).iterdir()}


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_the_kernel_fills_the_link_and_the_records_are_the_simulators(algorithm: str) -> None:
    """At most 1448/1500 of 20 Mbit/s; a queue of 80 packets and one in service, no more than the link holds."""
    records = emulated(scenario(algorithm))
    flow = records.flows.row(0, named=True)
    assert flow["algorithm"] == f"kernel:{algorithm}"
    assert 0.5 * 20e6 < 8 * flow["delivered_bytes"] / 4 <= 20e6 * 1448 / 1500
    assert flow["min_rtt_ns"] >= 30e6
    link = records.links.row(0, named=True)
    assert link["max_queue_packets"] <= 80
    assert link["arrived_packets"] >= link["sent_packets"] + link["dropped_packets"]
    assert len(records.samples) > 30
    assert len(records.link_samples) > 30
    assert records.runs["engine"][0] == "emulate"


def test_transfers_end_and_are_timed() -> None:
    workload = {"flow[0].workload": {"kind": "transfers", "bytes": "100 kB", "count": 5, "gap": "50 ms"}}
    records = emulated(scenario("cubic").with_(workload))
    sizes = records.transfers["size_bytes"].to_list()
    assert sizes == [100_000] * 5
    # A handshake apart, no transfer of 100 kB is quicker than its serialisation and half a round trip.
    spans = (records.transfers["end_ns"] - records.transfers["start_ns"]).to_list()
    assert min(spans) > 8 * 100_000 / 20e6 * 1e9 + 15e6


def test_simulator_and_kernel_deliver_as_much_of_an_application_that_pauses_and_stops() -> None:
    """2 Mbit/s, active for 500 ms of each 1.5 s until 3.2 s: 1.2 s of the line, 290 kB, on either side; the kernel may
    send two segments more at each of three ends. Half of it where the machine is busy, and a queue of 20 packets."""
    workload = {"kind": "on-off", "on": "500 ms", "off": "1 s"}
    changes: dict[str, Any] = {
        "dumbbell.bottleneck.rate": "2 Mbps",
        "dumbbell.bottleneck.queue": {"capacity": "20 packets"},
    }
    changes |= {"flow[0].workload": workload, "flow[0].stop": "3200 ms"}
    question = scenario("cubic", duration="5 s").with_(changes)
    ours, theirs = (one.flows["delivered_bytes"][0] for one in (cwndlab.run(question, seed=1), emulated(question)))
    assert 0.9 * 290e3 <= ours <= 290e3 + 3 * 30 * 1448
    assert 0.5 * ours <= theirs <= ours + 3 * 25 * 1448


def test_settings_are_those_of_a_side() -> None:
    """ip-sysctl.rst: `tcp_comp_sack_nr` is a setting of a network namespace; `kernel.hostname` is none."""
    question = scenario("cubic", duration="1 s")
    records = emulated(question, settings={"receiver": {"net.ipv4.tcp_comp_sack_nr": 0}})
    assert "receiver: net.ipv4.tcp_comp_sack_nr = 0" in records.notes
    message = r"settings\.sender\.kernel\.hostname: is no setting of a network namespace\n  hint: name a setting below"
    with pytest.raises(cwndlab.RunError, match=message):
        emulate(question, seed=1, settings={"sender": {"kernel.hostname": "here"}})


def test_arrivals_are_those_of_the_simulator() -> None:
    """Both engines draw starts and sizes from the same random streams."""
    workload = {"kind": "arrivals", "per_second": 20, "size": "10 kB", "count": 20}
    question = scenario("cubic", duration="3 s").with_({"flow[0].workload": workload})
    columns = ["flow", "transfer", "start_ns", "size_bytes"]
    simulated, real = cwndlab.run(question, seed=1).transfers, emulated(question).transfers
    assert real.select(columns).equals(simulated.select(columns))


#: Runs the scenario of its first argument with 60 file descriptors more than it has, and prints the transfers and the
#: causes of what was refused.
_FEW_DESCRIPTORS = """
import json, os, resource, sys
from cwndlab.emulation import emulate
most = len(os.listdir("/proc/self/fd")) + 60
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
try:
    records = emulate(json.loads(sys.argv[1]), seed=1, accept_late=True)
except Exception as error:
    sys.exit(str(error))
refused = [row["cause"] for row in records.rows("events") if row["kind"] == "refused"]
print(json.dumps([len(records.rows("transfers")), refused]))
"""


def test_arrivals_without_a_file_descriptor_are_refused() -> None:
    """getrlimit(2), RLIMIT_NOFILE: no process has more descriptors. By hand: the line carries 62 transfers of 20 kB in
    the first second, in which 200 arrive; all of them end within 4 s, or are refused."""
    workload = {"kind": "arrivals", "per_second": 200, "size": "20 kB", "count": 200}
    changes: dict[str, Any] = {"flow[0].workload": workload, "dumbbell.bottleneck.rate": "10 Mbps"}
    question = scenario("cubic", duration="8 s").with_(changes)
    emulated(scenario("cubic", duration="100 ms"))
    done = subprocess.run(
        [sys.executable, "-c", _FEW_DESCRIPTORS, question.to_json()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    transfers, refused = json.loads(done.stdout)
    assert set(refused) == {"descriptors"}
    assert transfers + len(refused) == 200


def test_flows_over_udp_are_those_of_the_simulator() -> None:
    """They run on computed times in both engines: all that is recorded of them is the same, with the last datagram,
    which is due at the end of the run; what the path does afterwards is not recorded. The window of SCReAM holds
    packets back until feedback arrives; none is sent before. The run's perturbations are the same."""
    flows = [
        cwndlab.Flow(rtt="80 ms", transport="udp", workload=AdaptiveVideo(control="scream2")),
        cwndlab.Flow(rtt="80 ms", transport="udp", workload=Cbr(rate="1 Mbps", packet="500 B")),
        cwndlab.Flow(rtt="80 ms", transport="udp", workload=Cbr(rate="1 Mbps"), stop="1 s"),
    ]
    line = cwndlab.Link(rate="10 Mbps", delay="20 ms", queue=cwndlab.DropTail("50 packets"))
    question = cwndlab.Scenario(
        duration="2 s", sample_interval="10 ms", perturb=True, dumbbell=cwndlab.Dumbbell(line), flows=flows
    )
    ours, theirs = cwndlab.run(question, seed=1), emulated(question)
    for table in ("flows", "samples", "links", "link_samples"):
        one, other = getattr(ours, table), getattr(theirs, table)
        differing = [name for name in one.columns if not one[name].equals(other[name])]
        assert (one.height, differing) == (other.height, []), table


def test_nothing_arrives_after_the_end_of_the_run() -> None:
    """At most 1448/1500 of 20 Mbit/s for 1 s, less the base one-way delay: the last sample is that of the end."""
    records = emulated(scenario("cubic", duration="1 s", sample_interval="10 ms"))
    flow = records.flows.row(0, named=True)
    assert flow["delivered_bytes"] <= 20e6 / 8 * 1448 / 1500
    assert records.link_samples["time_ns"].max() == 1_000_000_000


def test_a_transfer_over_a_connection_of_its_own_begins_with_the_handshake() -> None:
    """6 kB in the initial window: 30 ms for the handshake, half a round trip for the data, as in the simulator."""
    workload = {"kind": "transfers", "bytes": "6 kB", "count": 5, "new_connection": True}
    records = emulated(scenario("cubic", duration="1 s").with_({"flow[0].workload": workload}))
    spans = (records.transfers["end_ns"] - records.transfers["start_ns"]).to_list()
    assert len(spans) == 5
    assert min(spans) >= 45e6


def test_what_was_late_and_what_was_calibrated_is_recorded(tmp_path: Path) -> None:
    """The queue of the scenario holds 80 packets; its base RTT is 30 ms and its line 20 Mbit/s."""
    records = emulated(scenario("cubic", duration="1 s"))
    records.save(tmp_path / "out")
    read = Records.read(tmp_path / "out")
    assert read.hash() == records.hash()
    assert read.lateness["late_ns"].is_sorted()
    assert read.lateness["packets"].sum() > 500
    rows = {row["quantity"]: row for row in read.rows("calibration")}
    assert (rows["capacity_packets"]["expected"], rows["capacity_packets"]["measured"]) == (80, 80)
    assert rows["rate_bps"]["expected"] == 20e6
    # A probe of 64 bytes is on the line for 25.6 us in each direction.
    assert rows["base_rtt_ns"]["expected"] == 30e6 + 2 * 25_600
    assert rows["base_rtt_ns"]["measured"] >= 30e6
    assert "deliveries were late by" in read.notes[-1]


def test_a_run_that_was_late_fails_unless_told_otherwise() -> None:
    """No delivery is earlier than its moment, and none within a nanosecond."""
    with pytest.raises(
        cwndlab.RunError, match=r"1 % of the deliveries were .* ms late or more, 0.000001 ms are allowed"
    ):
        emulate(scenario("cubic", duration="1 s"), seed=1, late_s=1e-9)
    records = emulate(scenario("cubic", duration="1 s"), seed=1, late_s=1e-9, accept_late=True)
    assert any(note.startswith("unreliable: 1 %") for note in records.notes)


def test_the_senders_own_queue_is_not_the_bottleneck() -> None:
    """Where the bottleneck is the sender's own queueing discipline, TCP small queues hold packets back and the queue
    is not seen: at least as many as the queue holds must be in it when the first one is dropped."""
    records = emulated(scenario("reno"))
    link = records.links.row(0, named=True)
    assert link["dropped_packets"] > 0
    assert link["max_queue_packets"] == 80
    flow = records.flows.row(0, named=True)
    assert flow["retransmitted_packets"] >= flow["queue_drops"] > 0


def test_packets_are_no_larger_than_the_paths_mtu() -> None:
    """Segmentation is the kernel's: no super-packet of 64 kB passes as one."""
    records = emulated(scenario("cubic", duration="2 s"))
    link = records.links.row(0, named=True)
    assert link["sent_bytes"] <= 1500 * link["sent_packets"]
    assert link["sent_bytes"] > 1400 * 0.9 * link["sent_packets"]


def test_a_wire_that_loses_everything_ends_the_run_all_the_same() -> None:
    lost = {"dumbbell.bottleneck.loss": {"kind": "bernoulli", "p": 1.0}}
    records = emulated(scenario("reno", duration="2 s").with_(lost))
    assert records.flows["delivered_bytes"][0] == 0


def test_nothing_is_left_behind() -> None:
    places = ("/sys/class/net", "/proc/self/task", "/proc/self/fd")
    devices, threads, descriptors = (entries(place) for place in places)
    emulated(scenario("cubic", duration="1 s"))
    after = [entries(place) for place in places]
    assert after[0] == devices
    assert len(after[1]) <= len(threads)
    assert len(after[2]) <= len(descriptors)


def test_what_the_kernel_does_not_have_is_said() -> None:
    with pytest.raises(cwndlab.RunError, match=r"flow\[0\].algorithm: this kernel has no 'cwndlab_phcc'"):
        emulate(scenario("phcc"), seed=1)
    with pytest.raises(cwndlab.RunError, match="packets: the emulator does not record packets"):
        emulate(scenario("reno").with_(packets=True), seed=1)
    workload = {"kind": "rest", "http": "3", "gap": "1 s", "tls": "1.3"}
    quic = scenario("cubic").with_({"flow[0].workload": workload})
    with pytest.raises(cwndlab.RunError, match=r"flow\[0\].workload.http: the kernel has no QUIC"):
        emulate(quic, seed=1)


@pytest.mark.parametrize(("resume", "arrived"), [(True, {6}), (False, {1, 2, 3, 4, 5})])
def test_xmpp_resumes_its_stream_after_an_outage(resume: bool, arrived: set[int]) -> None:
    """XEP-0198, section 5: a resumed stream loses none of six stanzas, of which an outage of a second holds two.

    Without resumption those that were sent on the lost connection do not arrive.
    """
    workload = {"kind": "xmpp", "payload": "100 B", "period": "500 ms", "count": 6, "ack_every": 1}
    workload |= {"response_timeout": "600 ms", "resume": resume}
    outage = [{"at": "1 s", "rate": "0 bps"}, {"at": "2 s", "rate": "20 Mbps"}]
    changes = {"flow[0].workload": workload, "dumbbell.bottleneck.schedule": outage}
    records = emulated(scenario("cubic", duration="6 s").with_(changes))
    assert len(records.transfers) in arrived


def test_both_engines_stand_side_by_side() -> None:
    question = scenario("reno", duration="2 s")
    simulated, real = cwndlab.run(question, seed=1), emulated(question)
    rows = deviations(simulated, real)
    assert {row["quantity"] for row in rows} >= {"goodput_bps", "mean_rtt_ns", "queue_drops"}
    goodput = next(row for row in rows if row["quantity"] == "goodput_bps")
    assert goodput["deviation"] == pytest.approx(goodput["kernel"] / goodput["simulated"] - 1)
    assert substitutions(simulated, real) == []
    page = runs_page([simulated, real])
    assert "cwndlab run scenario-1.toml --seed 1 --out run-1\n" in page
    assert "cwndlab run scenario-2.toml --seed 1 --out run-2 --engine emulate\n" in page
    other = cwndlab.run(scenario("reno+limited", duration="1 s"), seed=1)
    assert substitutions(other, real) == [Substitution("flow0", "reno+limited/rack", "reno+standard/rack")]


def test_the_command_keeps_the_runs_of_both_engines(tmp_path: Path) -> None:
    """The simulated run is that of `cwndlab.run`; the report of the two folders has a column for each."""
    question, file, out = scenario("reno", duration="2 s"), tmp_path / "path.toml", tmp_path / "out"
    question.save(file)
    command = [sys.executable, "-m", "cwndlab"]
    both = ["run", str(file), "--engine", "both", "--accept-late", "--out", str(out)]
    done = subprocess.run([*command, *both], capture_output=True, text=True, timeout=120)
    if done.returncode and any(word in done.stderr for word in ("unshare", "/dev/net/tun")):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-2:] == [f"records: {out / name}" for name in ("simulate", "emulate")]
    simulated, real = (Records.read(out / name) for name in ("simulate", "emulate"))
    assert simulated.hash() == cwndlab.run(question, seed=1).hash()
    assert (real.rows("runs")[0]["engine"], real.scenario_hash) == ("emulate", simulated.scenario_hash)
    page = tmp_path / "both.html"
    places = [str(out / name) for name in ("simulate", "emulate")]
    subprocess.run([*command, "report", *places, "--report", str(page)], check=True, capture_output=True, timeout=120)
    assert "reno, seed 1 beside kernel:reno, seed 1" in page.read_text()


def test_a_recovery_of_the_kernel_ends() -> None:
    """A loss of an 80-packet queue is repaired within round trips of 30 ms and its queue, and the run takes 4 s. A
    reduction begins before it ends (RFC 6582, section 3.2)."""
    records = emulated(scenario("reno"))
    is_reduced, ended = False, 0
    for kind in records.events.sort("time_ns")["kind"]:
        if kind == "recovered":
            assert is_reduced
            ended += 1
        is_reduced = kind in ("recovery", "ecn", "timeout") or (is_reduced and kind != "recovered")
    assert ended > 0


class AsIfEmulated:
    """The records of a simulation under the names that an emulation gives its algorithms."""

    def __init__(self, records: Records, *algorithms: str) -> None:
        self._records, self._algorithms = records, algorithms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def rows(self, table: str) -> list[dict[str, Any]]:
        rows = self._records.rows(table)
        if table != "flows":
            return rows
        return [row | {"algorithm": name} for row, name in zip(rows, self._algorithms, strict=True)]


def test_a_substitution_stands_in_every_row() -> None:
    """The kernel has no `cubic+ccm-ss`; its own `bbr` is `bbr1`, its `cubic` is `cubic-linux+hystart-linux`."""
    question = scenario("cubic+ccm-ss", duration="500 ms")
    two = cwndlab.run(question.with_({"flow[+].algorithm": "bbr1"}), seed=1)
    rows = deviations(two, cast("Records", AsIfEmulated(two, "kernel:cubic", "kernel:bbr")))
    told = {(row["flow"], row["simulated_algorithm"], row["kernel_algorithm"], row["same_algorithm"]) for row in rows}
    assert told == {
        ("flow0", "cubic+ccm-ss/rack", "kernel:cubic", False),
        ("flow1", "bbr1/rack", "kernel:bbr", True),
    }
    assert all(row["deviation"] in (0, None) for row in rows)
    kernel = cast("Records", AsIfEmulated(two, "kernel:cubic", "kernel:bbr"))
    assert substitutions(two, kernel) == [Substitution("flow0", "cubic+ccm-ss/rack", "cubic-linux+hystart-linux/rack")]

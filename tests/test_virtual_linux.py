"""Linux in virtual time: paths, results, resumption, judgement and the build. No kernel runs here."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path as File
from typing import Any

import cwndlab
import pytest
from virtual_linux import comparison, runs
from virtual_linux.paths import ALGORITHMS, KINDS, SETTINGS, Path, random_path
from virtual_linux.runs import Row, VirtualLinuxError, campaign, read

TOOLS = runs.ROOT / "tools"
PLAIN = Path("p", "plain", rate_mbps=10.0, rtt_ms=40, queue=50)
LOSSY = Path("l", "loss", rate_mbps=10.0, rtt_ms=40, queue=50, loss=0.002)
REORDERING = Path("r", "reordering", rate_mbps=10.0, rtt_ms=40, queue=50, spread_ms=6)


def test_a_path_depends_on_seed_and_index_alone() -> None:
    paths = [random_path(3, index) for index in range(200)]
    assert paths[7] == random_path(3, 7)
    assert paths[7] != random_path(4, 7)
    assert len({path.name for path in paths}) == 200
    assert all(1.4 <= path.rate_mbps <= 64 and 12 <= path.rtt_ms <= 159 and path.queue >= 2 for path in paths)
    assert [path.kind for path in paths[:6]] == list(KINDS)
    assert all(path.spread_ms < path.rtt_ms / 2 for path in paths)
    plain = [path for path in paths if path.kind != "settings"]
    for kind, value in (("loss", "loss"), ("reordering", "spread_ms"), ("marks", "marking"), ("ack-loss", "ack_loss")):
        assert all(bool(getattr(path, value)) == (path.kind == kind) for path in plain)
    assert all(bool(path.setting) == (path.kind == "settings") for path in paths)
    assert {path.setting for path in paths if path.setting} == set(SETTINGS)


def test_the_scenario_has_the_same_line_queue_and_delays() -> None:
    """By hand: a delay of 20 ± 6 ms is one of 14 ms and up to 12 ms more: the base RTT is 34 ms."""
    plain = PLAIN.scenario("reno", 30)
    line = plain["dumbbell"]["bottleneck"]
    assert line == {"rate": "10 Mbps", "delay": "20 ms", "queue": {"capacity": "50 packets"}}
    assert (plain["duration"], plain["flow"][0]["rtt"], plain["flow"][0]["algorithm"]) == (
        "30 s",
        "40 ms",
        ALGORITHMS["reno"],
    )
    assert LOSSY.scenario("reno", 30)["dumbbell"]["bottleneck"]["loss"] == {"kind": "bernoulli", "p": 0.002}
    reordering = REORDERING.scenario("bbr", 30)
    line = reordering["dumbbell"]["bottleneck"]
    assert (line["delay"], line["jitter"]) == ("14 ms", {"spread": "12 ms", "reorder": True})
    # What is not said of the reverse line is as the bottleneck's: ACKs do not overtake each other there.
    assert reordering["dumbbell"]["reverse"]["jitter"] == {"spread": "0 ms"}
    assert reordering["flow"][0]["rtt"] == "34 ms"
    for index in range(48):
        for algorithm in ALGORITHMS:
            cwndlab.Scenario.from_json(json.dumps(random_path(1, index).scenario(algorithm, 5)))


def test_the_simulators_names_are_those_of_the_validation_against_this_kernel() -> None:
    from cwndlab.validation.references.paths import read as paths_of
    from cwndlab.validation.references.reference import kernel_paths

    trials = paths_of(kernel_paths(), paths=["plain-20"]).trials
    assert {trial.algorithm: trial.document["flow"][0]["algorithm"] for trial in trials} == ALGORITHMS


def test_the_kernels_take_the_place_of_the_flow_on_the_same_path() -> None:
    ours, theirs = (LOSSY.scenario("bbr", 5), LOSSY.hosted("bbr", 5, {"net.ipv4.tcp_comp_sack_nr": "0"}))
    assert {name: value for name, value in theirs.items() if name != "flow"} == {
        name: value for name, value in ours.items() if name != "flow"
    }
    (flow,) = theirs["flow"]
    buffers = "net.ipv4.tcp_rmem=4096 8388608 67108864,net.ipv4.tcp_wmem=4096 8388608 67108864"
    assert flow["rtt"] == ours["flow"][0]["rtt"] == "40 ms"
    assert flow["workload"]["options"] == flow["workload"]["peer_options"] == f"{buffers},net.ipv4.tcp_comp_sack_nr=0"
    cwndlab.Scenario.from_json(json.dumps(theirs))


def test_marks_and_settings_are_those_of_both_hosts() -> None:
    """A setting of the kernel (ip-sysctl.rst) is a field of the simulator's stack; without timestamps a segment has
    1460 bytes in a packet of 1500."""
    marked = Path("m", "marks", rate_mbps=10.0, rtt_ms=40, queue=60, marking="step-ecn")
    queue = {"kind": "step-ecn", "mark_above": 10, "capacity": "60 packets"}
    assert marked.scenario("reno", 5)["dumbbell"]["bottleneck"]["queue"] == queue
    assert marked.scenario("reno", 5)["flow"][0]["stack"]["ecn"] == "classic"
    (flow,) = marked.hosted("reno", 5, {})["flow"]
    assert flow["workload"]["options"].endswith(",net.ipv4.tcp_ecn=1")
    for setting in SETTINGS:
        path = Path("s", "settings", rate_mbps=10.0, rtt_ms=40, queue=60, setting=setting)
        (flow,) = path.hosted("reno", 5, {})["flow"]
        assert flow["workload"]["peer_options"].endswith(f",net.ipv4.{setting}")
    stack = path.scenario("reno", 5)["flow"][0]["stack"]
    assert stack["sack_compression"] == 0
    assert SETTINGS["tcp_timestamps=0"]["mss"] == "1460 B"
    lost = Path("a", "ack-loss", rate_mbps=10.0, rtt_ms=40, queue=60, ack_loss=0.3).scenario("reno", 5)["dumbbell"]
    assert ("loss" in lost["bottleneck"], lost["reverse"]["loss"]["p"]) == (False, 0.3)


def values(algorithm: str, **changes: float) -> Row:
    return {"algorithm": algorithm, "goodput_bps": 9e6, "mean_srtt_s": 0.05, "retransmissions": 40} | changes


class Simulated:
    """In place of the kernels: the simulator on the same path."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def run_jobs(self, jobs: list[tuple[dict[str, Any], int]], **_: Any) -> Iterator[tuple[int, Any]]:
        for index, (document, seed) in enumerate(jobs):
            self.calls.append((document["title"], seed))
            yield index, cwndlab.run({**document, "flow": [{"algorithm": "reno", "rtt": "40 ms"}]}, seed=seed)


def test_a_campaign_resumes_where_it_was(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Simulated()
    monkeypatch.setattr(import_module("cwndlab.simulate"), "run_jobs", machine.run_jobs)
    monkeypatch.setattr(import_module("cwndlab.linux"), "release", lambda: None)
    said: list[str] = []
    file = tmp_path / "out" / "runs.jsonl"
    options: dict[str, Any] = {"seconds": 1.0, "settings": {}, "say": said.append}
    options |= {"algorithms": ["reno"], "repetitions": 1}
    campaign(file, [PLAIN, LOSSY], **options)
    assert said[0].startswith("p plain 10 Mbit/s 40 ms 50 packets, run 1: reno ")
    options |= {"algorithms": ["reno", "cubic"]}
    campaign(file, [PLAIN, LOSSY], **options)
    assert machine.calls == [("p reno", 1), ("l reno", 1), ("p cubic", 1), ("l cubic", 1)]
    campaign(file, [PLAIN], **(options | {"repetitions": 2}))
    assert machine.calls[4:] == [("p reno", 2), ("p cubic", 2)]
    # Other settings and durations are other runs.
    for change in ({"settings": {"net.ipv4.tcp_sack": "0"}}, {"seconds": 2.0}):
        campaign(file, [PLAIN], **(options | change))
    assert len(read(file)) == len(machine.calls) == 4 + 2 + 2 * 2
    # Results of another kernel do not count as those of the stack.
    monkeypatch.setattr(import_module("cwndlab.linux"), "release", lambda: "9.9")
    with pytest.raises(VirtualLinuxError, match=r"has results of Linux .*, and the stack is Linux 9\.9"):
        campaign(file, [PLAIN], **options)
    assert len(read(file)) == len(machine.calls)
    file.write_text(file.read_text(encoding="utf-8") + '{"cut', encoding="utf-8")
    with pytest.raises(VirtualLinuxError, match=r"runs\.jsonl, line 11: .*; remove this line"):
        read(file)


def row(path: Path, repetition: int, algorithm: str = "reno", **changes: float) -> Row:
    from dataclasses import asdict

    about = {"path": asdict(path), "repetition": repetition, "seconds": 60.0, "settings": {}, "kernel": "6.1"}
    return about | values(algorithm, **changes)


def test_means_are_judged_by_the_larger_tolerance() -> None:
    """Kernel: 8 and 10 Mbit/s, mean 9: 5 % are 0.45; 8 % of 50 ms are 4; 25 % of 100 are 25, of 40 less than 12."""
    rows = [row(PLAIN, 1, goodput_bps=8e6), row(PLAIN, 2, goodput_bps=10e6), row(LOSSY, 1, retransmissions=100)]

    def simulated(path: Path, algorithm: str, seconds: float, seeds: Any) -> dict[str, list[float]]:
        assert (algorithm, seconds, list(seeds)) == ("reno", 60.0, [1, 2])
        return {
            "goodput_bps": [9.44e6, 9.44e6],
            "mean_srtt_s": [0.0541, 0.0541],
            "retransmissions": [51.0, 53.0] if path == PLAIN else [126.0, 126.0],
        }

    found = comparison.compare(rows, (1, 2), simulated)
    tolerances = [0.45e6, 0.004, 12.0, 0.45e6, 0.004, 25.0]
    assert [one.tolerance for one in found] == pytest.approx(tolerances)
    assert [one.holds for one in found] == [True, False, True, True, False, False]
    assert found[0].spread == pytest.approx(2e6)
    lines = comparison.report(found, worst=2).splitlines()
    assert "all         all        all              3 of 6" in lines
    assert "loss        reno       retransmissions  0 of 1" in lines
    # The seeds' standard deviation is 1.4: 52 for 40 is within the tolerance, and 126 for 100 a segment beyond it.
    assert found[2].error == pytest.approx(2**0.5)
    assert lines[-3] == "3 beyond tolerance, 0 of them by at most three standard errors; the largest of the others:"
    assert lines[-2] == (
        "l loss 10 Mbit/s 40 ms 50 packets loss 0.002: reno, retransmissions: 126 for 100 (spread 0), 1.0 tolerances; "
        "Linux 6.1"
    )


def test_results_beyond_the_path_are_named() -> None:
    """10 Mbit/s carry 1460 of 1500 bytes: 9.73 Mbit/s of payload. No RTT is below 40 ms, or 34 ms with 20 ± 6 ms."""
    rows = [row(PLAIN, 1, goodput_bps=9.9e6), row(PLAIN, 2, mean_srtt_s=0.039), row(REORDERING, 1, mean_srtt_s=0.035)]
    assert comparison.impossible([*rows, row(PLAIN, 3)]) == rows[:2]


def test_the_simulator_gives_what_is_compared() -> None:
    """10 Mbit/s with a queue of 1.5 BDP: Reno fills the line (9.65 Mbit/s), and the RTT is between 40 and 101 ms."""
    found = comparison.simulate(PLAIN, "reno", 10.0, (1,))
    assert 8.5e6 <= found["goodput_bps"][0] <= 9.66e6
    assert 0.04 <= found["mean_srtt_s"][0] <= 0.101
    assert found["retransmissions"][0] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--paths", "1"], "no program 'cwndlab-stack-linux' is in a folder of CWNDLAB_STACKS or PATH"),
        (["run", "--algorithms", "tahoe"], "'tahoe' is not among reno, cubic, bbr"),
        (["run", "--paths", "0"], "'0' is not a number above zero"),
        (["run", "--set", "kernel.x=1"], "'kernel.x=1' is not a setting; write net.ipv4.tcp_comp_sack_nr=0"),
        (["compare", "--out", "absent"], "absent: no results; `python -m virtual_linux run` makes them"),
    ],
)
def test_bad_input_is_an_error_with_a_remedy(words: list[str], message: str, tmp_path: File) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "virtual_linux", *words],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{TOOLS}:{runs.ROOT / 'python'}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr


#: A tree with the parts of Linux' build that build.sh uses.
KCONFIG = "config HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n\tint\n\tdefault 1\n"
MAKEFILE = """\
allnoconfig:
\ttest "$(ARCH)" = um && echo CONFIG_UML=y > .config
olddefconfig:
\tawk '/^config HZ/ {at = 1} at && /default/ {print "CONFIG_HZ=" $$2; at = 0}' arch/um/Kconfig >> .config
linux:
\tprintf '#!/bin/sh\\necho 9.9\\n' > linux && chmod +x linux
"""
CONFIG = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -e) [ "$2" = "$WITHOUT" ] || echo "CONFIG_$2=y" >> .config; shift 2 ;;
    -d) shift 2 ;;
    --set-str) echo "CONFIG_$2=\\"$3\\"" >> .config; shift 3 ;;
    esac
done
"""
#: What build.sh changes in the clock of ARCH=um, in the words of Linux 6.1 to 6.12.
CLOCK = """\
#include <shared/init.h>
\tif (time_travel_mode == TT_MODE_EXTERNAL && time_travel_ext_request(ns))
\t\ttime_travel_ext_wait(idle);
\telse
\t\ttime_travel_set_time(ns);
"""
CHANGED = """\
#include <shared/init.h>
bool hosted_wait(u64 present, u64 until, bool is_idle);
\tif (time_travel_mode == TT_MODE_EXTERNAL && time_travel_ext_request(ns))
\t\ttime_travel_ext_wait(idle);
\telse if (hosted_wait(time_travel_time, ns, idle))
\t\treturn;
\telse
\t\ttime_travel_set_time(ns);
"""
#: A first process that needs nothing of a kernel's headers.
NOLIBC = """\
#define LINUX_REBOOT_CMD_POWER_OFF 0
static int open(const char *path, int flags) { return !path + flags; }
static int reboot(int command) { return command; }
int main(void);
void _start(void) { main(); }
"""
TREE = {
    "Makefile": MAKEFILE,
    "arch/um/Kconfig": KCONFIG,
    "arch/um/drivers/Makefile": "obj-y := stdio_console.o fd.o\ninclude rules\n",
    "arch/um/kernel/time.c": CLOCK,
    "arch/um/include/linux/time-internal.h": "#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n",
    "tools/include/nolibc/nolibc.h": NOLIBC,
}


def build(tmp_path: File, *arguments: str, without: str = "") -> subprocess.CompletedProcess[str]:
    programs = tmp_path / "bin"
    for name in ("flex", "bison", "bc"):
        program(programs / name, "#!/bin/sh\n")
    return subprocess.run(
        [str(TOOLS / "virtual_linux" / "build.sh"), *arguments],
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "WITHOUT": without},
        capture_output=True,
        text=True,
        check=False,
    )


def program(file: File, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)


def test_the_build_takes_an_archive_and_has_a_tick_of_a_millisecond(tmp_path: File) -> None:
    tree = tmp_path / "linux-9.9"
    program(tree / "scripts" / "config", CONFIG)
    for name, text in TREE.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    archive = tmp_path / "linux-9.9.tar.xz"
    subprocess.run(["tar", "-cJf", archive, "-C", tmp_path, tree.name], check=True)
    done = build(tmp_path, str(tmp_path / "out"), str(archive))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"{tmp_path}/out/linux: Linux 9.9"
    config = (tmp_path / "out" / "linux-9.9" / ".config").read_text(encoding="utf-8").splitlines()
    assert "CONFIG_HZ=1000" in config
    assert {"CONFIG_UML_TIME_TRAVEL_SUPPORT=y", "CONFIG_TCP_CONG_BBR=y"} < set(config)
    assert f'CONFIG_INITRAMFS_SOURCE="{tmp_path}/out/initramfs"' in config
    assert f"file /hosted {tmp_path}/out/init 0755 0 0" in (tmp_path / "out" / "initramfs").read_text(encoding="utf-8")
    built = tmp_path / "out" / "linux-9.9"
    assert (built / "arch/um/Kconfig").read_text(encoding="utf-8").count("default 1\n") == 1
    # Building again changes nothing more.
    assert build(tmp_path, str(tmp_path / "out"), str(archive)).returncode == 0
    assert (built / "arch/um/kernel/time.c").read_text(encoding="utf-8") == CHANGED
    steps = (built / "arch/um/include/linux/time-internal.h").read_text(encoding="utf-8")
    assert steps == "#define TIMER_MULTIPLIER 1\n#define TIMER_MIN_DELTA  500\n"
    drivers = (built / "arch/um/drivers/Makefile").read_text(encoding="utf-8")
    assert drivers == "obj-y := stdio_console.o fd.o\nobj-y += hosted.o\ninclude rules\n"
    assert (built / "arch/um/drivers/hosted.c").is_file()

    done = build(tmp_path, str(tmp_path / "other"), str(archive), without="INET")
    assert (done.returncode, done.stderr) == (1, "linux: this kernel has no CONFIG_INET\n")
    (built / "arch/um/kernel/time.c").write_text("", encoding="utf-8")
    done = build(tmp_path, str(tmp_path / "out"), str(built))
    assert done.stderr == "linux: arch/um/kernel/time.c of this kernel is unknown\n"
    done = build(tmp_path, str(tmp_path / "none"), str(tmp_path / "bin"))
    assert done.stderr == f"linux: {tmp_path}/bin is not a source of Linux with ARCH=um\n"


#: Retransmissions of Linux 6.1 in 60 s of virtual time, over netem with 8.42, 3.3 and 5.4 Mbit/s: its rate counts 1514
#: bytes of a packet of 1500, and its queue of 54, 5 and 8 packets the one in transmission.
LINUX = [
    ("cubic", Path("a", "plain", 8.42 * 1500 / 1514, 52, 53), 24),
    ("reno", Path("b", "plain", 3.3 * 1500 / 1514, 30, 4), 274),
    ("reno", Path("c", "plain", 5.4 * 1500 / 1514, 29, 7), 224),
]


#: The same in 30 s, with kernels as hosts: a recovery that begins while the window is reduced because of marks, and one
#: without SACK.
HOSTED = [
    ("bbr", Path("d", "marks", 9.97, 72, 90, marking="step-ecn"), 60),
    ("bbr", Path("e", "marks", 52.06, 139, 905, marking="step-ecn"), 548),
    ("reno", Path("f", "settings", 3.88, 148, 14, setting="tcp_sack=0"), 39),
]


@pytest.mark.parametrize(
    ("algorithm", "path", "seconds", "linux"),
    [(*one[:2], 60.0, one[2]) for one in LINUX] + [(*one[:2], 30.0, one[2]) for one in HOSTED],
)
def test_a_path_loses_as_much_as_in_linux(algorithm: str, path: Path, seconds: float, linux: int) -> None:
    found = statistics.fmean(comparison.simulate(path, algorithm, seconds, [1, 2, 3])["retransmissions"])
    relative, absolute = comparison.TOLERANCES["retransmissions"]
    assert found == pytest.approx(linux, abs=max(relative * linux, absolute))

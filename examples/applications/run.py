"""Real applications over an emulated line: 200 MQTT sensors at a mosquitto broker while curl downloads over HTTPS.

Once per congestion control of the kernel; prints what sensors and downloads got, and what waited on the line. Needs
mosquitto, curl, openssl, aiomqtt (`pip install aiomqtt`), and the rights of an emulation (root, on most machines).

    python examples/applications/run.py
    python examples/applications/run.py --algorithms reno,bbr1 --clients 20 --seconds 5
    python examples/applications/run.py --algorithms cubic,cwndlab_phcc     # while `cwndlab kernel run` has it
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import cwndlab
from cwndlab.cli.console import Format, write_rows
from cwndlab.emulation import EmulatedPath
from cwndlab.errors import Fault

HERE = Path(__file__).parent
NEEDED = {"mosquitto": "mosquitto", "curl": "curl", "openssl": "openssl"}  # program: Debian's package
COLUMNS = (
    "algorithm",
    "messages",
    "lost_qos0",
    "lost_qos1",
    "delay_p50_ms",
    "delay_p95_ms",
    "delay_p99_ms",
    "puback_p95_ms",
    "downloads",
    "tls_ms",
    "download_s",
    "goodput_mbps",
    "queue_mean_ms",
    "queue_max_ms",
    "drops",
)


def missing():
    """Programs that are not there."""
    return [program for program in NEEDED if shutil.which(program) is None]


def certificate(folder, address):
    """A key and a certificate of its own for the server's address."""
    key, paper = folder / "key.pem", folder / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=files", "-addext", f"subjectAltName=IP:{address}"]
    subprocess.run([*command, *names, "-keyout", key, "-out", paper], check=True, capture_output=True)
    return paper, key


def broker(path, folder):
    """Mosquitto at the servers' end."""
    lines = ["listener 1883 0.0.0.0", "allow_anonymous true", "set_tcp_nodelay true", "user root", "log_dest none"]
    # Twenty unacknowledged messages, its default, would be the listener's bottleneck: all of a site in a round trip.
    lines += ["max_inflight_messages 0", "max_queued_messages 0", "persistence false"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with (folder / "mosquitto.log").open("w+", encoding="utf-8") as log:
        try:
            path.serve("sender", ["mosquitto", "-c", str(folder / "mosquitto.conf")], stderr=log)
        except cwndlab.RunError:
            log.seek(0)
            raise cwndlab.RunError(Fault("mosquitto", log.read().strip() or "did not start", "")) from None


def download(path, paper, size, until):
    """Downloads one after another while there is time for another one; curl's own figures of each."""
    url = f"https://{path.address('sender')}:8443/{size}"
    found = []
    while not found or time.monotonic() + found[-1]["time_total"] < until:
        command = ["curl", "--silent", "--show-error", "--fail", "--cacert", str(paper)]
        command += ["--output", "/dev/null", "--write-out", "%{json}", "--max-time", "120", url]
        curl = path.popen("receiver", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, error = curl.communicate()
        if curl.returncode != 0:
            raise cwndlab.RunError(Fault("curl", error.strip() or f"ended with status {curl.returncode}", ""))
        found.append(json.loads(out))
    return found


def once(scenario, algorithm, asked, folder):
    """One congestion control: a row of the table."""
    with EmulatedPath(scenario, seed=1, algorithm=algorithm) as path:
        zero = time.monotonic()
        address = path.address("sender")
        paper, key = certificate(folder, address)
        broker(path, folder)
        path.serve("sender", [sys.executable, str(HERE / "files.py"), address, str(paper), str(key)])
        command = [sys.executable, str(HERE / "sensors.py"), address, "--clients", str(asked.clients)]
        command += ["--seconds", str(asked.seconds), "--period", str(asked.period)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        sensors = path.popen("receiver", command, **pipes)
        if sensors.stdout.readline() != "connected\n":
            raise cwndlab.RunError(Fault("sensors.py", sensors.communicate()[1].strip() or "ended early", ""))
        sensors.stdin.write("go\n")
        sensors.stdin.flush()
        begin = time.monotonic()
        downloads = download(path, paper, asked.bytes, begin + asked.seconds)
        end = time.monotonic()
        out, error = sensors.communicate(timeout=asked.seconds + 60)
        if sensors.returncode != 0:
            raise cwndlab.RunError(Fault("sensors.py", error.strip(), ""))
    return row(algorithm, json.loads(out), downloads, path, begin - zero, end - zero)


def percentile(values, share):
    """``share`` in percent."""
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def row(algorithm, site, downloads, path, begin, end):
    """The table's row; the line's queue counts from ``begin`` to ``end``, seconds of the path's clock."""
    line = next(one for one in path.records.rows("links") if one["name"] == "bottleneck")
    samples = [one for one in path.records.rows("link_samples") if one["link"] == line["link"]]
    waiting = [one["queue_bytes"] * 8 / line["rate_bps"] for one in samples if begin <= one["time_ns"] / 1e9 <= end]
    delays = site["delays"]["0"] + site["delays"]["1"]
    return {
        "algorithm": algorithm,
        "messages": sum(site["sent"].values()),
        "lost_qos0": site["sent"]["0"] - len(site["delays"]["0"]),
        "lost_qos1": site["sent"]["1"] - len(site["delays"]["1"]),
        **{f"delay_p{share}_ms": 1e3 * percentile(delays, share) for share in (50, 95, 99)},
        "puback_p95_ms": 1e3 * percentile(site["acknowledged"], 95),
        "downloads": len(downloads),
        "tls_ms": 1e3 * statistics.fmean(one["time_appconnect"] for one in downloads),
        "download_s": statistics.fmean(one["time_total"] for one in downloads),
        "goodput_mbps": 8e-6 * statistics.fmean(one["speed_download"] for one in downloads),
        "queue_mean_ms": 1e3 * statistics.fmean(waiting),
        "queue_max_ms": 1e3 * max(waiting),
        "drops": line["dropped_packets"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", default="reno,cubic,bbr1", help="algorithms of the kernel, joined by commas")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--period", type=float, default=1.0, help="seconds between two messages of a sensor")
    parser.add_argument("--bytes", type=int, default=4_000_000, help="of a download")
    parser.add_argument("--format", type=Format, default=Format.table, choices=list(Format))
    asked = parser.parse_args()
    if lacking := missing():
        packages = " ".join(NEEDED[program] for program in lacking)
        sys.exit(str(Fault("applications", f"{', '.join(lacking)} is not installed", f"apt-get install {packages}")))
    with suppress(PermissionError):
        # The programs inherit it: delays shall be the line's, not a busy machine's. The path's thread stands above.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    scenario = cwndlab.Scenario.load(HERE / "path.toml")
    rows = []
    for algorithm in asked.algorithms.split(","):
        with tempfile.TemporaryDirectory(prefix="cwndlab-applications-") as folder:
            try:
                rows.append(once(scenario, algorithm, asked, Path(folder)))
            except cwndlab.Error as error:
                sys.exit(str(error))
    write_rows(rows, COLUMNS, asked.format)


if __name__ == "__main__":
    main()

"""Real applications over an emulated path: 200 MQTT sensors at a mosquitto broker while curl downloads over HTTPS.

Runs once per congestion control of the kernel; prints message delays, download times and the queue of the bottleneck.
Needs mosquitto, curl, openssl, aiomqtt (`pip install aiomqtt`), and the privileges of an emulation (root, on most
machines).

    python examples/applications/run.py
    python examples/applications/run.py --algorithms reno,bbr1 --clients 20 --seconds 5
    python examples/applications/run.py --algorithms cubic,cwndlab_phcc     # while `cwndlab kernel run` registers it
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
PACKAGES = {"mosquitto": "mosquitto", "curl": "curl", "openssl": "openssl"}  # program: Debian package
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


def missing_programs():
    """Programs that are not installed."""
    return [program for program in PACKAGES if shutil.which(program) is None]


def create_certificate(folder, address):
    """Creates a key and a self-signed certificate for the server's address."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
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
    subprocess.run([*command, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def start_broker(path, folder):
    """Starts mosquitto on the servers' side."""
    lines = ["listener 1883 0.0.0.0", "allow_anonymous true", "set_tcp_nodelay true", "user root", "log_dest none"]
    # The default limit of 20 unacknowledged messages would limit the subscriber, which receives all messages of a site.
    lines += ["max_inflight_messages 0", "max_queued_messages 0", "persistence false"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with (folder / "mosquitto.log").open("w+", encoding="utf-8") as log:
        try:
            path.serve("sender", ["mosquitto", "-c", str(folder / "mosquitto.conf")], stderr=log)
        except cwndlab.RunError:
            log.seek(0)
            raise cwndlab.RunError(Fault("mosquitto", log.read().strip() or "did not start", "")) from None


def download(path, certificate, size, deadline):
    """Downloads repeatedly until the next download would exceed the deadline; returns curl's statistics of each."""
    url = f"https://{path.address('sender')}:8443/{size}"
    downloads = []
    while not downloads or time.monotonic() + downloads[-1]["time_total"] < deadline:
        command = ["curl", "--silent", "--show-error", "--fail", "--cacert", str(certificate)]
        command += ["--output", "/dev/null", "--write-out", "%{json}", "--max-time", "120", url]
        curl = path.popen("receiver", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, error = curl.communicate()
        if curl.returncode != 0:
            raise cwndlab.RunError(Fault("curl", error.strip() or f"ended with status {curl.returncode}", ""))
        downloads.append(json.loads(out))
    return downloads


def measure(scenario, algorithm, options, folder):
    """Runs all applications with one congestion control; returns a row of the table."""
    with EmulatedPath(scenario, seed=1, algorithm=algorithm) as path:
        zero = time.monotonic()
        address = path.address("sender")
        certificate, key = create_certificate(folder, address)
        start_broker(path, folder)
        path.serve("sender", [sys.executable, str(HERE / "files.py"), address, str(certificate), str(key)])
        command = [sys.executable, str(HERE / "sensors.py"), address, "--clients", str(options.clients)]
        command += ["--seconds", str(options.seconds), "--period", str(options.period)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        sensors = path.popen("receiver", command, **pipes)
        if sensors.stdout.readline() != "connected\n":
            raise cwndlab.RunError(Fault("sensors.py", sensors.communicate()[1].strip() or "ended early", ""))
        sensors.stdin.write("go\n")
        sensors.stdin.flush()
        start = time.monotonic()
        downloads = download(path, certificate, options.bytes, start + options.seconds)
        end = time.monotonic()
        out, error = sensors.communicate(timeout=options.seconds + 60)
        if sensors.returncode != 0:
            raise cwndlab.RunError(Fault("sensors.py", error.strip(), ""))
    return row(algorithm, json.loads(out), downloads, path, start - zero, end - zero)


def percentile(values, percent):
    """The percentile ``percent`` (1 to 99) of the values."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def row(algorithm, site, downloads, path, start, end):
    """A row of the table. Queueing delays are from ``start`` to ``end``, seconds of the path's clock."""
    link = next(one for one in path.records.rows("links") if one["name"] == "bottleneck")
    samples = [one for one in path.records.rows("link_samples") if one["link"] == link["link"]]
    queueing = [one["queue_bytes"] * 8 / link["rate_bps"] for one in samples if start <= one["time_ns"] / 1e9 <= end]
    delays = site["delays"]["0"] + site["delays"]["1"]
    return {
        "algorithm": algorithm,
        "messages": sum(site["sent"].values()),
        "lost_qos0": site["sent"]["0"] - len(site["delays"]["0"]),
        "lost_qos1": site["sent"]["1"] - len(site["delays"]["1"]),
        **{f"delay_p{percent}_ms": 1e3 * percentile(delays, percent) for percent in (50, 95, 99)},
        "puback_p95_ms": 1e3 * percentile(site["acknowledged"], 95),
        "downloads": len(downloads),
        "tls_ms": 1e3 * statistics.fmean(one["time_appconnect"] for one in downloads),
        "download_s": statistics.fmean(one["time_total"] for one in downloads),
        "goodput_mbps": 8e-6 * statistics.fmean(one["speed_download"] for one in downloads),
        "queue_mean_ms": 1e3 * statistics.fmean(queueing),
        "queue_max_ms": 1e3 * max(queueing),
        "drops": link["dropped_packets"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", default="reno,cubic,bbr1", help="algorithms of the kernel, separated by commas")
    parser.add_argument("--clients", type=int, default=200, help="number of sensors")
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of the measurement")
    parser.add_argument("--period", type=float, default=1.0, help="interval of a sensor's messages, s")
    parser.add_argument("--bytes", type=int, default=4_000_000, help="size of a download")
    parser.add_argument("--format", type=Format, default=Format.table, choices=list(Format))
    options = parser.parse_args()
    if missing := missing_programs():
        packages = " ".join(PACKAGES[program] for program in missing)
        sys.exit(str(Fault("applications", f"{', '.join(missing)} is not installed", f"apt-get install {packages}")))
    with suppress(PermissionError):
        # The programs inherit this priority, so that other processes of the machine do not delay them. It is below the
        # priority of the path's thread.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    scenario = cwndlab.Scenario.load(HERE / "path.toml")
    rows = []
    for algorithm in options.algorithms.split(","):
        with tempfile.TemporaryDirectory(prefix="cwndlab-applications-") as folder:
            try:
                rows.append(measure(scenario, algorithm, options, Path(folder)))
            except cwndlab.Error as error:
                sys.exit(str(error))
    write_rows(rows, COLUMNS, options.format)


if __name__ == "__main__":
    main()

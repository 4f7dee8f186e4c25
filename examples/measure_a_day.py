"""A campaign of `cwndlab measure` over days on a path that changes by the hour, in minutes.

Server and client of the campaign run on the two sides of an emulated path, and its clock runs faster than the wall
clock. The rate of the path follows a table of 24 hours: much at night, little in the evening. The report shows whether
the algorithms differ, whether the part of the day matters, and whether the one depends on the other. Needs the
privileges of an emulation (root, on most machines).

    python examples/measure_a_day.py
    python examples/measure_a_day.py --days 4 --minutes-per-day 3 --algorithms newreno,cubic,bbr1
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cwndlab
from cwndlab.cli.commands.measure import show
from cwndlab.cli.console import Format, say
from cwndlab.emulation import EmulatedPath
from cwndlab.errors import Fault
from cwndlab.live.campaign import Access, Clock, Progress, campaign
from cwndlab.live.results import Measurement
from cwndlab.live.spec import CampaignSpec

#: Rate of the bottleneck in each hour of the day, Mbit/s: a shared access line with its busy hours in the evening.
RATES = (40, 40, 40, 40, 40, 36, 30, 26, 24, 24, 24, 22, 20, 20, 20, 18, 16, 14, 10, 8, 6, 6, 10, 20)
#: Midnight of the first day.
MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
SCHEDULE = "night,morning,afternoon,evening"
TOKEN = "example-of-a-day"


def scenario(day_s, days):
    """The path: a schedule of 24 rates, repeated each day of ``day_s`` seconds."""
    steps = [{"at": f"{hour * day_s / 24:.6f} s", "rate": f"{rate} Mbps"} for hour, rate in enumerate(RATES)]
    bottleneck = {
        "rate": f"{RATES[0]} Mbps",
        "delay": "15 ms",
        "queue": {"capacity": "150 kB"},
        "schedule": steps[1:],
        "repeat": f"{day_s:.6f} s",
    }
    return {
        "schema_version": 1,
        "title": "a line whose rate changes by the hour",
        "duration": f"{(days + 1) * day_s:.6f} s",
        "dumbbell": {"bottleneck": bottleneck, "reverse": {"rate": "10 Mbps"}},
        "flow": [{"algorithm": "cubic", "rtt": "30 ms"}],
    }


def scaled_clock(day_s, zero, now=time.monotonic, sleep=time.sleep):
    """A clock whose day takes ``day_s`` seconds of the monotonic clock; its first midnight is at ``zero``."""
    scale = 86_400 / day_s
    return Clock(
        now=lambda: MIDNIGHT + timedelta(seconds=(now() - zero) * scale), sleep=lambda seconds: sleep(seconds / scale)
    )


def run_client(options):
    """Runs the campaign from the receivers' side of the path."""
    url, zero, trust = options.client
    spec = CampaignSpec(
        servers=(url,),
        algorithms=tuple(options.algorithms.split(",")),
        rounds=4 * options.days,
        schedule=SCHEDULE,
        size_bytes=options.bytes,
        zone="UTC",
    )
    clock = scaled_clock(60 * options.minutes_per_day, float(zero))
    access = {url: Access(TOKEN, trust)}
    campaign(spec, options.out, fetch=cwndlab.live.fetch, access=access, clock=clock, progress=Progress(say))


def measure(options, folder):
    """Starts server and client on the two sides of the path; returns the results of the campaign."""
    tokens = folder / "tokens"
    tokens.write_text(f"example {TOKEN}\n", encoding="ascii")
    program = [sys.executable, "-m", "cwndlab", "serve", "--token", str(tokens), "--state", str(folder)]
    with EmulatedPath(scenario(60 * options.minutes_per_day, options.days), seed=1) as path:
        zero = time.monotonic()
        address = f"{path.address('sender')}:8443"
        command = [*program, "--listen", address]
        server = path.serve("sender", command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        certificate = folder / "certificate.pem"
        # On a loaded machine the server may take longer than `serve` waits for it.
        while not certificate.is_file() and server.poll() is None:
            time.sleep(0.1)
        about = [f"https://{address}", str(zero), str(certificate)]
        client = path.popen("receiver", [sys.executable, __file__, *sys.argv[1:], "--client", *about])
        if client.wait() != 0:
            raise cwndlab.RunError(Fault("measure_a_day", "the campaign did not reach its end", ""))
    return Measurement.read(options.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=2, help="number of days, with four rounds each")
    parser.add_argument("--minutes-per-day", type=float, default=2.0, help="minutes that a day takes")
    parser.add_argument("--algorithms", default="newreno,cubic", help="algorithms of the kernel, separated by commas")
    parser.add_argument("--bytes", type=int, default=1_000_000, help="size of a transfer")
    parser.add_argument("--out", type=Path, default=Path("day.measure"), help="folder of the campaign, made anew")
    parser.add_argument("--format", type=Format, default=Format.table, choices=list(Format))
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        return run_client(options)
    if (options.out / "measurement.json").is_file():
        shutil.rmtree(options.out)
    try:
        with tempfile.TemporaryDirectory(prefix="cwndlab-day-") as folder:
            measurement = measure(options, Path(folder))
        cwndlab.report(measurement, options.out / "report.html")
    except cwndlab.Error as error:
        sys.exit(str(error))
    show(measurement, options.format)
    say(f"report: {options.out / 'report.html'}")
    return None


if __name__ == "__main__":
    main()

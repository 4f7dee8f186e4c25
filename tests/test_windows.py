"""Campaigns on a Windows host: the script that `cwndlab windows plan` writes, and the readers of `windows import`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cwndlab import statistics
from cwndlab.errors import Fault, ScenarioError
from cwndlab.live import windows
from cwndlab.live.windows.results import is_results
from hypothesis import given
from hypothesis import strategies as st
from preflight_outputs import INTERNET
from windows_outputs import (
    CLIXML,
    GLOBAL_ENGLISH,
    GLOBAL_GERMAN,
    JSON,
    RATES,
    SUPPLEMENTAL_ENGLISH,
    SUPPLEMENTAL_FRENCH,
    SUPPLEMENTAL_JAPANESE,
    TABLE,
    results,
)

PAGE = Path(__file__).parents[1] / "docs" / "windows.md"
Cli = Callable[..., tuple[int, str, str]]
BASE: dict[str, Any] = {
    "url": "https://host.example/put",
    "algorithms": ("cubic", "newreno"),
    "version": "windows-11",
    "prefix": "192.0.2.0/24",
    "size_bytes": 10_000_000,
}


def plan(**changes: Any) -> windows.Plan:
    return windows.Plan(**BASE | changes)


def steps(script: str) -> list[tuple[int, str, str]]:
    """Round, provider and level of auto-tuning of each step of a script."""
    found = re.findall(r"Round = (\d+);.*Provider = '(\w+)'; AutoTuning = '(\w*)'", script)
    return [(int(number), provider, level) for number, provider, level in found]


# -- the script --------------------------------------------------------------------------------------------------------


def test_each_round_has_every_treatment_once_in_a_drawn_order() -> None:
    drawn = steps(plan(rounds=40, autotuning=("normal", "disabled")).script())
    expected = Counter((n, a, b) for n in range(1, 41) for a in ("cubic", "newreno") for b in ("normal", "disabled"))
    assert Counter(drawn) == expected
    assert len({tuple(step[1:] for step in drawn[at : at + 4]) for at in range(0, 160, 4)}) > 10
    assert drawn == steps(plan(rounds=40, autotuning=("normal", "disabled")).script())
    assert drawn != steps(plan(rounds=40, autotuning=("normal", "disabled"), seed=2).script())


def test_the_order_is_that_of_a_campaign_of_measure() -> None:
    made = plan(rounds=3)
    assert [provider for _, provider, _ in steps(made.script())] == [
        name for number in (1, 2, 3) for name in made.campaign.order(number, "https://host.example")
    ]


def test_the_script_saves_verifies_and_restores() -> None:
    """State before the first change; a check after each switch; restoration in `finally`."""
    script = plan(ecn="enabled", autotuning=("restricted",), remote_port=443).script()
    main = script[script.index("$Build = Assert-Host") :]
    order = [
        "Save-State",
        "try {",
        "Add-Filter",
        "Set-Ecn",
        "Set-Provider",
        "Set-AutoTuning",
        "finally {",
        "Restore-State",
    ]
    places = [main.rindex(text) if text in ("finally {", "Restore-State") else main.index(text) for text in order]
    assert places == sorted(places)
    for name in ("Set-Provider", "Set-AutoTuning", "Set-Ecn"):
        body = script[script.index(f"function {name}(") :].partition("\n}\n")[0]
        assert body.index("Invoke-Netsh") < body.index("Assert-Setting")
    assert "the setting did not take" in script
    assert "Get-NetTCPSetting | Export-Clixml" in script
    assert "Prefix = '192.0.2.0/24'\n    RemotePort = 443\n    Ecn = 'enabled'\n" in script


def test_commands_are_those_of_the_reference() -> None:
    script = plan().script()
    assert (
        "'int', 'tcp', 'set', 'supplemental', \"template=$($Config.Template)\", \"congestionprovider=$Provider\""
        in script
    )
    assert "'int', 'tcp', 'set', 'global', \"autotuninglevel=$Level\"" in script
    assert "'int', 'tcp', 'set', 'global', \"ecncapability=$Capability\"" in script
    assert "New-NetTransportFilter @arguments" in script
    assert "Remove-NetTransportFilter" in script


def without_strings(script: str) -> str:
    """A script without comments, and with every string replaced by a letter; subexpressions in strings may nest."""
    script = re.sub(r"(?m)^\s*#.*$", "", script)
    script = re.sub(r"'(?:[^'\n]|'')*'", "s", script)
    while (shorter := re.sub(r"\$\([^()\"]*\)", "x", script)) != script:
        script = shorter
    return re.sub(r'"(?:[^"`\n]|`.)*"', "s", script)


@pytest.mark.parametrize("version", windows.VERSIONS)
def test_brackets_of_the_script_are_balanced(version: str) -> None:
    script = plan(version=version, algorithms=("cubic", "newreno", "ctcp", "dctcp")).script()
    assert script.isascii()  # PowerShell 5.1 reads a script without a byte-order mark in a code page
    assert "<plan>" not in script
    assert "<comments>" not in script
    assert not re.search(r'"[^"\n]*\$(?!script:|global:)\w+:', script)  # `$name:` in a string is a scope
    closing = {"(": ")", "[": "]", "{": "}"}
    left: list[str] = []
    for character in without_strings(script):
        if character in closing:
            left.append(closing[character])
        elif character in closing.values():
            assert left.pop() == character
    assert left == []


def test_the_version_decides_what_the_script_says() -> None:
    client = plan(version="windows-10-20h1").script()
    assert "On clients Set-NetTCPSetting cannot set the congestion provider" in client
    assert "IsServer = $false\n    FirstBuild = 19041\n    LastBuild = 19045\n" in client
    server = plan(version="server-2022").script()
    assert "Set-NetTCPSetting documents only the providers Default, CTCP and DCTCP" in server
    assert "IsServer = $true" in server
    loopback = "BBR2 stalls loopback connections"
    assert loopback in plan(version="windows-11-24h2", algorithms=("cubic", "bbr2")).script()
    assert loopback not in plan(version="windows-11-24h2").script()


def test_the_page_has_every_version_and_level() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, version in windows.VERSIONS.items():
        assert f"| `{name}` | {version.title} | `{version.default_provider}` |" in page
    for level, scale in windows.versions.AUTO_TUNING.items():
        assert f"| `{level}` | {scale or 'none'} |" in page


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"algorithms": ("cubic", "bbr")},
            "--algorithms: no congestion provider is called 'bbr'\n  hint: did you mean 'bbr2'?",
        ),
        ({"algorithms": ()}, "--algorithms: names no algorithm"),
        ({"algorithms": ("cubic", "cubic")}, "--algorithms: 'cubic' is given twice"),
        ({"version": "windows-12"}, "--version: no version of Windows is called 'windows-12'"),
        ({"template": "Automatic"}, "--template: no template that can be set is called 'Automatic'"),
        ({"autotuning": ("full",)}, "--autotuning: no level is called 'full'\n  hint: there are disabled, highly"),
        ({"ecn": "on"}, "--ecn: 'on' is none\n  hint: write enabled or disabled"),
        ({"prefix": ""}, "--prefix: the template InternetCustom has no filter that assigns connections to it"),
        ({"prefix": "192.0.2.1/24"}, "--prefix: '192.0.2.1/24': 192.0.2.1/24 has host bits set"),
        ({"prefix": "192.0.2.0/24'; reboot"}, "--prefix: '192.0.2.0/24'; reboot'"),
        ({"remote_port": 0}, "--remote-port: '0' is not a port"),
        ({"url": "http://host.example/put"}, "URL: 'http://host.example/put' is not an https address"),
        ({"url": "https://host.example/'"}, "is not an https address"),
        ({"url": "https://[host/"}, "is not an https address"),
        ({"direction": "download"}, "--bytes: the file at the URL determines the size of a download"),
        ({"size_bytes": None}, "--bytes: an upload has no size\n  hint: write --bytes 200MB"),
        ({"timeout_s": float("nan")}, "--timeout: nan s is not from 1 to 86400 s"),
        ({"name": "../x"}, "--name: '../x' is not a name"),
        (
            {"algorithms": ("bbr2",), "version": "windows-10-20h1"},
            "--algorithms: 'bbr2' is not in Windows 10 20H1 to 22H2",
        ),
        ({"algorithms": ("bbr2",), "template": "Internet"}, "it needs a custom template with a prefix"),
        ({"algorithms": ("bbr2",), "prefix": "", "remote_port": 443}, "it needs a custom template with a prefix"),
        ({"algorithms": ("bbr2",), "prefix": "0.0.0.0/0"}, "--prefix: '0.0.0.0/0' includes loopback"),
        ({"algorithms": ("bbr2",), "prefix": "::/0"}, "--prefix: '::/0' includes loopback"),
    ],
)
def test_invalid_plans_name_the_option(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan(**changes)
    assert fault in str(refused.value)


def test_the_command_writes_a_script_or_names_every_fault(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "campaign.ps1"
    address = "https://host.example/file"
    status, out, err = cli(
        *("windows", "plan", address, "--version", "server-2019", "--direction", "download", "--template", "Internet"),
        *("--autotuning", "normal,restricted", "--algorithms", "cubic", "--out", file),
    )
    assert (status, out) == (0, "")
    assert "The server's sender decides the congestion control of a download" in err
    assert "# <plan>" not in file.read_text(encoding="ascii")
    status, out, err = cli("windows", "plan", address, "--version", "xp", "--ecn", "on", "--prefix", "x")
    assert (status, out) == (2, "")
    assert [line.partition(":")[0] for line in err.splitlines() if not line.startswith(" ")] == [
        "--version",
        "--ecn",
        "--prefix",
    ]


# -- settings ----------------------------------------------------------------------------------------------------------


def values(text: str) -> list[dict[str, Any]]:
    """The settings in a text, without what is absent."""
    rows = [one.as_dict() for one in windows.read_settings(text, "f")]
    return [{name: value for name, value in row.items() if value is not None and name != "file"} for row in rows]


def supplemental(template: str, *cells: Any) -> dict[str, Any]:
    names = ("min_rto_ms", "initial_window", "provider", "cwnd_restart", "ack_delay_ms", "ack_every")
    return {"source": "netsh supplemental", "template": template, **dict(zip(names, cells, strict=True))}


def test_netsh_is_read_in_every_language() -> None:
    names = ("auto_tuning", "provider", "ecn", "timestamps", "initial_rto_ms")
    assert values(GLOBAL_ENGLISH + GLOBAL_GERMAN) == [
        {"source": "netsh global", **dict(zip(names, cells, strict=True))}
        for cells in (
            ("normal", "default", "disabled", "allowed", 1000),
            ("highlyrestricted", "ctcp", "enabled", "disabled", 3000),
        )
    ]
    assert values(SUPPLEMENTAL_ENGLISH + SUPPLEMENTAL_FRENCH + SUPPLEMENTAL_JAPANESE) == [
        supplemental("Internet", 300, 10, "cubic", "disabled", 40, 2),
        supplemental("InternetCustom", 20, 10, "bbr2", "enabled", 10, 2),
        supplemental("Datacenter", 20, 4, "dctcp", "disabled", 10, 2),
    ]


def test_the_four_formats_of_powershell_are_read() -> None:
    source = {"source": "Get-NetTCPSetting"}
    assert values(INTERNET)[1] == source | {
        "template": "Internet",
        "provider": "cubic",
        "auto_tuning": "normal",
        "ecn": "disabled",
        "timestamps": "disabled",
        "initial_window": 10,
        "min_rto_ms": 300,
        "initial_rto_ms": 1000,
        "ack_delay_ms": 40,
        "ack_every": 2,
        "cwnd_restart": "disabled",
    }
    names = ("template", "provider", "auto_tuning", "ecn", "min_rto_ms")
    assert values(TABLE) == [
        source | {"template": "Automatic"},
        source | dict(zip(names, ("InternetCustom", "bbr2", "normal", "disabled", 300), strict=True)),
        source | dict(zip(names, ("DatacenterCustom", "cubic", "highlyrestricted", "enabled", 20), strict=True)),
        source | {"template": "Compat", "provider": "newreno", "auto_tuning": "normal", "min_rto_ms": 300},
    ]
    internet = source | {"template": "Internet", "min_rto_ms": 300}
    assert values(CLIXML) == [internet | {"provider": "cubic", "initial_window": 10, "cwnd_restart": "disabled"}]
    assert values(JSON) == [
        internet | {"provider": "code 5", "auto_tuning": "normal"},
        source | {"template": "Datacenter", "provider": "dctcp", "min_rto_ms": 20},
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hello", "f: has no settings of Get-NetTCPSetting or netsh"),
        (INTERNET.replace(": 300", ": many"), "f: Internet: min_rto_ms: 'many' is not a whole number"),
        (INTERNET.replace(": Internet", ": Intranet"), "f: SettingName: 'Intranet' is not a template"),
        (
            TABLE.replace("HighlyRestricted", "HighlyRestri...."),
            "auto_tuning: 'HighlyRestri....' was cut off by the width",
        ),
        (
            GLOBAL_GERMAN.replace("highlyrestricted", "hoch"),
            "f: netsh global: auto_tuning: 'hoch' is none of its values",
        ),
        (GLOBAL_GERMAN.replace("3000", "x"), "f: netsh global: auto_tuning: 'enabled' is none of its"),
        (SUPPLEMENTAL_FRENCH.replace("20", "20\n\n"), "f: netsh supplemental: the values 20 are not in the order"),
        (CLIXML.replace("</Props>", ""), "f: is not XML: mismatched tag"),
        ("<!DOCTYPE x>" + CLIXML, "f: has a document type"),
        (JSON[:-3], "f: is not JSON"),
    ],
)
def test_invalid_settings_name_file_field_and_value(text: str, fault: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        windows.read_settings(text, "f")
    assert fault in str(refused.value)


def test_values_outside_of_the_documented_range_are_noted() -> None:
    rows = windows.read_settings(INTERNET.replace(": 300", ": 301"), "f")
    assert rows[1].values["min_rto_ms"] == 301
    assert rows[1].notes == ["f: Internet: min_rto_ms: 301 is outside of the documented range 20 to 300"]


# -- results -----------------------------------------------------------------------------------------------------------


def test_results_have_the_paired_statistics_of_the_package() -> None:
    """The differences within rounds are −8, −10, −15 and −10 Mbit/s: mean −10.75, standard deviation √(26.75 / 3), and
    the quantile of Student's t with 3 degrees of freedom is 3.1824."""
    measurement = windows.measurement_of(results(), "f")
    assert measurement.by_seed("goodput_bps") == {
        name: {n: pytest.approx(rate * 1e6) for n, rate in enumerate(rates, 1)} for name, rates in RATES.items()
    }
    ((pair, (delta, p)),) = measurement.comparisons().items()
    assert (pair.first, pair.second) == ("cubic", "newreno")
    expected = statistics.difference([40e6, 50e6, 40e6, 50e6], [32e6, 40e6, 25e6, 40e6])
    assert delta.paired.mean == pytest.approx(-10.75e6)
    assert delta.paired.low == pytest.approx((-10.75 - 3.1824 * (26.75 / 3 / 4) ** 0.5) * 1e6, rel=1e-4)
    assert p == pytest.approx(expected.p)


def test_a_failed_transfer_leaves_its_round_out() -> None:
    lines = results().splitlines()
    lines[3] = json.dumps(json.loads(lines[3]) | {"ended": "failed", "bytes": 0, "seconds": 0, "why": "status 28"})
    measurement = windows.measurement_of("\n".join(lines), "f")
    assert measurement.servers[0].rounds == [1, 3, 4]
    assert measurement.notes == ["1 transfers failed, whose rounds are not compared; the first: status 28"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            lambda text: text.replace('"round": 2, "position": 1', '"round": 9, "position": 1'),
            "f: round 9, cubic: is not in the plan",
        ),
        (lambda text: text.replace('"round": 2', '"round": 1'), "f: round 1, cubic: is there twice"),
        (lambda text: text[:-20], "f:9: is not JSON"),
        (lambda text: text.replace('"bytes": 10000000', '"bytes": "x"'), "f:2: bytes: 'x' is not a whole number"),
        (lambda text: text.replace('"seconds": 2.0', '"seconds": 0'), "f:2: seconds: 0 is not from 1e-06 to 1e+06"),
        (lambda text: text.replace("2026-03-02T10:00", "noon"), "f:2: at: 'noon:01.5Z' is not a time"),
        (lambda text: text.replace('"ended": "complete"', '"ended": "half"'), "f:2: ended: 'half' is none"),
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 2'), "version 2 of the file is not 1"),
        (
            lambda text: text.replace('"cubic", "newreno"]', '"cubic", "cubic"]'),
            "f: plan: algorithms: 'cubic' is given twice",
        ),
        (lambda text: text.replace("https://host.example/put", "x"), "f: plan: url: 'https://' is not an https"),
        (lambda text: text + text, "f: has 2 plans"),
    ],
)
def test_invalid_results_name_line_field_and_value(change: Callable[[str], str], fault: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        windows.measurement_of(change(results()), "f")
    assert fault in str(refused.value)


def test_the_command_prints_settings_and_results(cli: Cli, tmp_path: Path) -> None:
    settings, campaign = tmp_path / "settings.txt", tmp_path / "r.jsonl"
    settings.write_bytes(TABLE.encode("utf-16"))
    campaign.write_text(results(), encoding="utf-8-sig")
    status, out, err = cli("windows", "import", settings, campaign, "--zone", "UTC")
    assert status == 0
    assert "DatacenterCustom  cubic     highlyrestricted" in out
    assert re.search(r"^1 +2026-03-02 10:00 .* 40\.0 +32\.0$", out, re.MULTILINE)
    page = PAGE.read_text(encoding="utf-8")
    assert [
        line for line in out.splitlines() if line.startswith(("round", "1 ", "4 ", "mean", "newreno    cubic"))
    ] == [line for line in page.splitlines() if line.startswith(("round", "1 ", "4 ", "mean", "newreno    cubic"))]
    assert "Paired t-test within the 4 complete rounds" in err
    status, out, _ = cli("windows", "import", settings, campaign, "--format", "json")
    document = json.loads(out)
    assert [row["template"] for row in document["settings"]][1:3] == ["InternetCustom", "DatacenterCustom"]
    assert document["results"]["complete_rounds"] == {"https://host.example": [1, 2, 3, 4]}
    status, out, err = cli("windows", "import", campaign, "--zone", "Mars/Olympus")
    assert (status, out) == (2, "")
    assert "Mars/Olympus" in err
    status, out, err = cli("windows", "import", campaign, campaign, tmp_path / "none")
    assert (status, out) == (2, "")
    assert "is a second results file" in err
    assert "there is no such file" in err


# -- damage ------------------------------------------------------------------------------------------------------------

_ALL = [
    *(GLOBAL_ENGLISH, GLOBAL_GERMAN, SUPPLEMENTAL_ENGLISH, SUPPLEMENTAL_FRENCH, SUPPLEMENTAL_JAPANESE),
    *(INTERNET, TABLE, CLIXML, JSON, results()),
]
_PIECES = st.sampled_from(
    ['"', "{", "}", "[", "]", "<", ">", ":", "\n", "-----\n", "9" * 400, "1e999", "null", "-1", "\0", "…", "٣"]
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """An output with pieces cut out, repeated or replaced."""
    text = draw(st.sampled_from(_ALL))
    for _ in range(draw(st.integers(1, 6))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 30)))
        text = text[:begin] + draw(st.one_of(_PIECES, st.just(text[begin:end] * 2), st.text(max_size=3))) + text[end:]
    return text


@given(st.one_of(damaged(), st.text()))
def test_damaged_files_give_valid_rows_or_a_fault(text: str) -> None:
    faults: tuple[Fault, ...] = ()
    try:
        if is_results(text):
            windows.measurement_of(text, "f").as_dict()
        else:
            rows = windows.read_settings(text, "f")
            assert {row.template for row in rows} <= {None, "Automatic", *windows.versions.TEMPLATES}
    except ScenarioError as error:
        faults = error.faults
    assert all(fault.where and fault.what and fault.hint for fault in faults)

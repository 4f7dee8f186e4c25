"""The plan of a campaign on a Windows host, and the PowerShell script that carries it out."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from urllib.parse import urlsplit

from cwndlab.errors import Fault, ScenarioError, unknown_name
from cwndlab.files import slug
from cwndlab.live.spec import CampaignSpec
from cwndlab.live.windows.versions import AUTO_TUNING, CUSTOM_TEMPLATES, PROVIDERS, TEMPLATES, VERSIONS, Version

#: Version of the results file.
SCHEMA_VERSION = 1
DIRECTIONS = ("upload", "download")
#: Treatments of a campaign at most: a block of more takes too long for one state of the path.
_MOST_TREATMENTS = 16
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


@dataclass(frozen=True)
class Plan:
    """A campaign of uploads or downloads by one Windows host. A round has every treatment once, in an order that
    ``seed`` draws; a treatment is a congestion provider with a level of auto-tuning.

    Parameters
    ----------
    url
        An https address that accepts PUT (uploads) or sends a file (downloads).
    algorithms
        Congestion providers, of `PROVIDERS`.
    version
        A name of `VERSIONS`.
    rounds, seed
        The number of rounds, and the seed of their orders.
    template
        The template whose provider is switched, of `TEMPLATES`.
    prefix, remote_port
        The transport filter that assigns connections to the template; empty or None: no such condition.
    autotuning
        Levels of receive-window auto-tuning, of `AUTO_TUNING`; none leaves the level unchanged.
    ecn
        ``enabled`` or ``disabled``; empty leaves it unchanged.
    size_bytes
        Size of an upload; None in a campaign of downloads.
    capture
        The script records each transfer by pktmon, the headers of every packet.
    pause_s, timeout_s
        The pause after a transfer, and its maximum duration, in seconds.
    name
        The stem of the files that the script writes beside itself.

    Raises
    ------
    ScenarioError
        With every invalid field.
    """

    url: str
    algorithms: tuple[str, ...]
    version: str
    rounds: int = 10
    seed: int = 1
    direction: str = "upload"
    template: str = "InternetCustom"
    prefix: str = ""
    remote_port: int | None = None
    autotuning: tuple[str, ...] = ()
    ecn: str = ""
    size_bytes: int | None = None
    capture: bool = False
    pause_s: int = 5
    timeout_s: float = 600.0
    name: str = "cwndlab-windows"

    def __post_init__(self) -> None:
        faults = [*self._name_faults(), *self._filter_faults(), *self._transfer_faults()]
        if not faults and "bbr2" in self.algorithms:
            faults += self._bbr2_faults()
        if not faults and "ledbat" in self.algorithms:
            faults += self._ledbat_faults()
        if faults:
            raise ScenarioError(*faults)
        if len(self.treatments) > _MOST_TREATMENTS:
            what = f"{len(self.treatments)} combinations of provider and auto-tuning are in one round"
            raise ScenarioError(Fault("--algorithms", what, f"name at most {_MOST_TREATMENTS}"))
        _ = self.campaign  # which validates the rest

    def _name_faults(self) -> list[Fault]:
        """Unknown names."""
        faults = []
        for name in self.algorithms:
            if name not in PROVIDERS:
                faults.append(unknown_name("--algorithms", "congestion provider", name, PROVIDERS))
        for level in self.autotuning:
            if level not in AUTO_TUNING:
                faults.append(unknown_name("--autotuning", "level", level, AUTO_TUNING))
        for option, names in (("--algorithms", self.algorithms), ("--autotuning", self.autotuning)):
            twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            faults += [Fault(option, f"'{name}' is given twice", "name it once") for name in twice]
        if self.version not in VERSIONS:
            faults.append(unknown_name("--version", "version of Windows", self.version, VERSIONS))
        if self.template not in TEMPLATES:
            faults.append(unknown_name("--template", "template that can be set", self.template, TEMPLATES))
        for option, value, known in (
            ("--ecn", self.ecn, ("", "enabled", "disabled")),
            ("--direction", self.direction, DIRECTIONS),
        ):
            if value not in known:
                faults.append(Fault(option, f"'{value}' is none", f"write {' or '.join(filter(None, known))}"))
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", self.name):
            faults.append(Fault("--name", f"'{self.name}' is not a name", "use letters, digits, '-' and '_'"))
        return faults

    def _filter_faults(self) -> list[Fault]:
        """A transport filter that is invalid or missing."""
        faults = []
        if self.prefix:
            try:
                ipaddress.ip_network(self.prefix)
            except ValueError as cause:
                faults.append(Fault("--prefix", f"'{self.prefix}': {cause}", "write 192.0.2.0/24 or 2001:db8::/32"))
        if self.remote_port is not None and not 1 <= self.remote_port <= 65535:
            faults.append(Fault("--remote-port", f"'{self.remote_port}' is not a port", "write 443"))
        if self.template in CUSTOM_TEMPLATES and not self.has_filter:
            what = f"the template {self.template} has no filter that assigns connections to it"
            faults.append(Fault("--prefix", what, "write --prefix 192.0.2.0/24 with the server's addresses"))
        return faults

    def _transfer_faults(self) -> list[Fault]:
        """An invalid URL, size or time."""
        faults = []
        try:
            parts = urlsplit(self.url)
            valid = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
        except ValueError:
            valid = False
        if not valid or not re.fullmatch(r"[A-Za-z0-9._~:/?#!$&()*+,;=%\[\]-]{1,2000}", self.url):
            faults.append(Fault("URL", f"'{self.url}' is not an https address", "write https://HOST/FILE"))
        if self.direction == "upload" and not self.size_bytes:
            faults.append(Fault("--bytes", "an upload has no size", "write --bytes 200MB"))
        if self.direction == "download" and self.size_bytes is not None:
            faults.append(
                Fault("--bytes", "the file at the URL determines the size of a download", "leave --bytes out")
            )
        if not 1 <= self.timeout_s <= 86_400:
            faults.append(Fault("--timeout", f"{self.timeout_s:g} s is not from 1 to 86400 s", "write --timeout 600"))
        return faults

    def _bbr2_faults(self) -> list[Fault]:
        """BBR2 is set where it can neither be missing nor stall the host's own connections."""
        version = VERSIONS[self.version]
        if not version.has_bbr2:
            having = [name for name, one in VERSIONS.items() if one.has_bbr2]
            return [Fault("--algorithms", f"'bbr2' is not in {version.title}", f"it is in {', '.join(having)}")]
        if self.template not in CUSTOM_TEMPLATES or not self.prefix:
            what = "'bbr2' stalls loopback connections on some builds, so that it needs a custom template with a prefix"
            return [Fault("--algorithms", what, "write --template InternetCustom --prefix 192.0.2.0/24")]
        network = ipaddress.ip_network(self.prefix)
        if any(network.version == one.version and network.overlaps(one) for one in _LOOPBACK):
            return [
                Fault(
                    "--prefix", f"'{self.prefix}' includes loopback, which stalls under bbr2", "write a narrower prefix"
                )
            ]
        return []

    def _ledbat_faults(self) -> list[Fault]:
        """LEDBAT is set where Windows has it, on the template on which it works."""
        version = VERSIONS[self.version]
        if not version.has_ledbat:
            having = [name for name, one in VERSIONS.items() if one.has_ledbat]
            what = f"'ledbat' is not a provider of a template in {version.title}"
            return [Fault("--algorithms", what, f"it is in {', '.join(having)}")]
        if self.template != "InternetCustom":
            what = f"'ledbat' stays slow on the template {self.template}"
            return [Fault("--algorithms", what, "write --template InternetCustom")]
        return []

    @property
    def has_filter(self) -> bool:
        """Whether the script adds a transport filter."""
        return bool(self.prefix) or self.remote_port is not None

    @cached_property
    def treatments(self) -> dict[str, tuple[str, str]]:
        """Provider and level of auto-tuning (empty: unchanged) by the treatment's name."""
        several = len(self.autotuning) > 1
        return {
            f"{provider}/{level}" if several else provider: (provider, level)
            for provider in self.algorithms
            for level in self.autotuning or ("",)
        }

    @cached_property
    def campaign(self) -> CampaignSpec:
        """The same as a campaign of `cwndlab measure`: its order, and its statistics."""
        origins = (origin_of(self.url),)
        return CampaignSpec(origins, tuple(self.treatments), self.rounds, "now", self.size_bytes or 0, seed=self.seed)

    def capture_name(self, number: int, treatment: str) -> str:
        """The file of the capture of a transfer."""
        return f"{self.name}-{number:03}-{slug(treatment)}.pcapng"

    def warnings(self) -> list[str]:
        """What the results cannot tell, and what to expect of the version of Windows."""
        version = VERSIONS[self.version]
        result = list(version.notes)
        if "bbr2" not in self.algorithms:
            result = [note for note in result if "BBR2 stalls" not in note]
        if self.direction == "download":
            result.append(
                "The server's sender decides the congestion control of a download; the provider of this host "
                "does not. Auto-tuning bounds the receive window."
            )
        if "dctcp" in self.algorithms and not version.is_server:
            result.append("DCTCP on a client version is not verified; the script stops if it does not take.")
        if "ledbat" in self.algorithms and self.version == "server-2016":
            result.append(
                "LEDBAT came to this version by an update of July 2018; the script stops if it does not take."
            )
        if self.capture:
            result.append(
                "pktmon records all packets of the host with the remote port of the transfers; captures have addresses."
            )
        if self.autotuning or self.ecn:
            result.append("Auto-tuning and ECN are global: they act on all new connections of the host meanwhile.")
        if not self.has_filter:
            result.append(
                f"There is no filter: the provider acts on all new connections of the template {self.template}."
            )
        return result

    def script(self) -> str:
        """The PowerShell script. Nothing is run."""
        body = files("cwndlab.live.windows").joinpath("campaign.ps1").read_text(encoding="ascii")
        comments = "\n".join(f"# {line}" if line else "#" for line in self._comments(VERSIONS[self.version]))
        return body.replace("# <comments>", comments, 1).replace("# <plan>", self._config(), 1)

    def _comments(self, version: Version) -> list[str]:
        """The comments at the top of the script."""
        why = (
            "On clients Set-NetTCPSetting cannot set the congestion provider"
            if not version.is_server
            else "Set-NetTCPSetting documents only the providers Default, CTCP and DCTCP"
        )
        return [
            f"Campaign of {self.direction}s from {version.title}: {', '.join(self.treatments)}; "
            f"{self.rounds} rounds, seed {self.seed}.",
            "Written by `cwndlab windows plan`. Read it before you run it in an elevated PowerShell.",
            f"{why}, so netsh sets it.",
            "Settings act on new connections; that no restart is needed is not verified.",
            "After an interruption without restoration (power loss) run it again with -Restore. The last resort is",
            "`netsh int tcp reset`, which restores all defaults and needs a restart (not verified).",
            *(f"Note: {one}" for one in self.warnings()),
        ]

    def _config(self) -> str:
        """The plan as values of PowerShell."""
        version = VERSIONS[self.version]
        port = 0 if self.remote_port is None else self.remote_port
        config: dict[str, str | int | float | bool] = {
            "SchemaVersion": SCHEMA_VERSION,
            "Name": self.name,
            "Version": self.version,
            "IsServer": version.is_server,
            "FirstBuild": version.builds[0],
            "LastBuild": version.builds[1],
            "Template": self.template,
            "Prefix": self.prefix,
            "RemotePort": port,
            "Ecn": self.ecn,
            "Direction": self.direction,
            "Url": self.url,
            "SizeBytes": self.size_bytes or 0,
            "Capture": self.capture,
            "CapturePort": urlsplit(self.url).port or 443,
            "PauseS": self.pause_s,
            "TimeoutS": self.timeout_s,
            "Seed": self.seed,
            "Rounds": self.rounds,
        }
        lines = ["$Config = @{", *(f"    {key} = {_literal(value)}" for key, value in config.items()), "}"]
        lines.append(f"$Treatments = @({', '.join(map(_literal, self.treatments))})")
        lines.append("$Steps = @(")
        for number in range(1, self.rounds + 1):
            for position, name in enumerate(self.campaign.order(number, self.campaign.servers[0]), 1):
                provider, level = map(_literal, self.treatments[name])
                capture = _literal(self.capture_name(number, name))
                lines.append(
                    f"    @{{ Round = {number}; Position = {position}; Treatment = {_literal(name)}; "
                    f"Provider = {provider}; AutoTuning = {level}; Capture = {capture} }}"
                )
        return "\n".join([*lines, ")"])


def plan_of(script: str, file: str) -> Plan:
    """The plan of a script that `Plan.script` made; raises ``ScenarioError`` if it is none, or was changed.

    ``file`` names the script in errors.
    """
    values = {name: _value(text) for name, text in re.findall(r"(?m)^    ([A-Z]\w+) = (.+)$", script)}
    treatments = re.search(r"(?m)^\$Treatments = @\((.+)\)$", script)
    steps = re.findall(r"Provider = '(\w+)'; AutoTuning = '(\w*)'", script)
    try:
        order = [_value(text) for text in treatments[1].split(", ")] if treatments else []
        pairs = [str(name).partition("/")[::2] for name in order]
        levels = dict.fromkeys(level for _, level in steps if level)
        made = Plan(
            url=str(values["Url"]),
            algorithms=tuple(dict.fromkeys(provider for provider, _ in pairs)),
            version=str(values["Version"]),
            rounds=int(values["Rounds"]),
            seed=int(values["Seed"]),
            direction=str(values["Direction"]),
            template=str(values["Template"]),
            prefix=str(values["Prefix"]),
            remote_port=int(values["RemotePort"]) or None,
            autotuning=tuple(dict.fromkeys(level for _, level in pairs if level)) or tuple(levels),
            ecn=str(values["Ecn"]),
            size_bytes=int(values["SizeBytes"]) or None,
            capture=bool(values["Capture"]),
            pause_s=int(values["PauseS"]),
            timeout_s=float(values["TimeoutS"]),
            name=str(values["Name"]),
        )
    except (KeyError, ValueError):
        what = "is no script of `cwndlab windows plan`"
        raise ScenarioError(Fault(file, what, "give the script that it wrote")) from None
    if made.script() != script:
        what = "differs from what this cwndlab writes for its plan"
        raise ScenarioError(Fault(file, what, "write it again by `cwndlab windows plan`, and do not change it"))
    return made


def origin_of(url: str) -> str:
    """``https://HOST[:PORT]`` of a URL.

    >>> origin_of("https://host.example:8443/put?x=1")
    'https://host.example:8443'
    """
    return f"https://{urlsplit(url).netloc}"


def _value(text: str) -> str | int | float | bool:
    """What `_literal` wrote.

    >>> [_value(_literal(value)) for value in (True, 5, 0.5, "it's")]
    [True, 5, 0.5, "it's"]
    """
    if text.startswith("$"):
        return text == "$true"
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return int(text) if text.isascii() and text.isdecimal() else float(text)


def _literal(value: str | int | float | bool) -> str:
    """A value as PowerShell writes it.

    >>> _literal(True), _literal(5), _literal("it's")
    ('$true', '5', "'it''s'")
    """
    if isinstance(value, bool):
        return "$true" if value else "$false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.15g}"
    return "'" + value.replace("'", "''") + "'"

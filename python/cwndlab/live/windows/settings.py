"""Readers of TCP settings: ``Get-NetTCPSetting`` as list, table, CLIXML or JSON, ``netsh int tcp show``.

The labels of netsh are in the language of the system; its values are read by their order and their words. Names of
properties of PowerShell are the same in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from cwndlab.errors import Fault, ScenarioError
from cwndlab.files import parsed
from cwndlab.live.preflight.tcp import bare_name, list_blocks
from cwndlab.live.windows.versions import AUTO_TUNING, TEMPLATES

#: Columns of `TemplateSettings.as_dict`.
COLUMNS = (
    "file",
    "source",
    "template",
    "provider",
    "auto_tuning",
    "ecn",
    "timestamps",
    "initial_window",
    "min_rto_ms",
    "initial_rto_ms",
    "ack_delay_ms",
    "ack_every",
    "cwnd_restart",
)
#: Columns by the property's name without punctuation: as the cmdlet shows it, and as its objects have it.
_PROPERTIES = {
    "settingname": "template",
    "congestionprovider": "provider",
    "autotuninglevellocal": "auto_tuning",
    "ecncapability": "ecn",
    "timestamps": "timestamps",
    "initialcongestionwindowmss": "initial_window",
    "initialcongestionwindow": "initial_window",
    "minrtoms": "min_rto_ms",
    "minrto": "min_rto_ms",
    "initialrtoms": "initial_rto_ms",
    "initialrto": "initial_rto_ms",
    "delayedacktimeoutms": "ack_delay_ms",
    "delayedacktimeout": "ack_delay_ms",
    "delayedackfrequency": "ack_every",
    "cwndrestart": "cwnd_restart",
}
#: Columns that are numbers, with the range that Set-NetTCPSetting documents.
_RANGES: dict[str, tuple[int, int] | None] = {
    "initial_window": (2, 64),
    "min_rto_ms": (20, 300),
    "initial_rto_ms": (300, 3000),
    "ack_delay_ms": (10, 600),
    "ack_every": None,
}
_SWITCH = ("enabled", "disabled")
_WORDS = {
    "auto_tuning": tuple(AUTO_TUNING),
    "ecn": (*_SWITCH, "application"),
    "timestamps": (*_SWITCH, "allowed"),
    "cwnd_restart": ("true", "false", *_SWITCH),
}
_NAMES = {name.lower(): name for name in ("Automatic", *TEMPLATES)}
_TEMPLATE = re.compile(rf"\b({'|'.join(_NAMES)})\b", re.ASCII | re.IGNORECASE)


@dataclass
class TemplateSettings:
    """The settings of a template, or the global ones; a value that the source does not have is None.

    ``values`` has the columns of `COLUMNS` after ``template``; ``notes`` say what is outside of a documented range.
    """

    file: str
    source: str
    template: str | None
    values: dict[str, str | int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`."""
        head = {"file": self.file, "source": self.source, "template": self.template}
        return head | {name: self.values.get(name) for name in COLUMNS[len(head) :]}


def read_settings(text: str, file: str) -> list[TemplateSettings]:
    """The settings in an output of Windows, of any of the formats.

    Parameters
    ----------
    text
        The output; several one after the other if they are text.
    file
        Its name, for rows and faults.

    Raises
    ------
    ScenarioError
        If there is none, or a value is none that its field can have.
    """
    start = text.lstrip()[:1]
    if start == "<":
        objects = list(_clixml(text, file))
    elif start in ("{", "["):
        objects = list(_json(text, file))
    else:
        objects = [*_table(text, file), *list_blocks(text)]
    faults: list[Fault] = []
    rows = [_of_properties(one, file, faults) for one in objects if _is_setting(one)]
    if start not in ("<", "{", "["):
        rows += _netsh(text, file, faults)
    if faults:
        raise ScenarioError(*faults)
    if not rows:
        what = "has no settings of Get-NetTCPSetting or netsh, and no results of `cwndlab windows plan`"
        raise ScenarioError(Fault(file, what, "`Get-NetTCPSetting > FILE`, or `netsh int tcp show global > FILE`"))
    return rows


def _is_setting(properties: Mapping[str, str]) -> bool:
    """Whether an object is one of Get-NetTCPSetting: transport filters have a SettingName, too."""
    names = {_PROPERTIES.get(bare_name(name)) for name in properties}
    return "template" in names and len(names - {None}) > 1


def _of_properties(properties: Mapping[str, str], file: str, faults: list[Fault]) -> TemplateSettings:
    """The settings of an object of Get-NetTCPSetting."""
    known = {
        _PROPERTIES[bare_name(name)]: value for name, value in properties.items() if bare_name(name) in _PROPERTIES
    }
    template = known.pop("template")
    if template.lower() not in _NAMES:
        faults.append(
            Fault(
                f"{file}: SettingName",
                f"'{template[:40]}' is not a template",
                f"it is one of {', '.join(_NAMES.values())}",
            )
        )
    row = TemplateSettings(file, "Get-NetTCPSetting", _NAMES.get(template.lower(), template))
    for name, value in known.items():
        _keep(row, name, value, faults)
    return row


def _keep(row: TemplateSettings, name: str, value: str, faults: list[Fault]) -> None:
    """Adds a value to the row, if it is one of the field."""
    where = f"{row.file}: {row.template or row.source}: {name}"
    if value == "":
        return
    if value.endswith(("...", "…")):
        hint = "`Get-NetTCPSetting | Format-List > FILE`"
        faults.append(Fault(where, f"'{value[:40]}' was cut off by the width of the table", hint))
    elif name in _RANGES:
        if not re.fullmatch(r"[0-9]{1,9}", value):
            faults.append(Fault(where, f"'{value[:40]}' is not a whole number", "save the output of the command again"))
            return
        row.values[name] = number = int(value)
        span = _RANGES[name]
        if span is not None and not span[0] <= number <= span[1]:
            row.notes.append(f"{where}: {number} is outside of the documented range {span[0]} to {span[1]}")
    elif re.fullmatch(r"[0-9]{1,3}", value):
        row.values[name] = f"code {int(value)}"
        row.notes.append(f"{where}: the number {value} stands for a word; `Get-NetTCPSetting > FILE` has the words")
    elif name in _WORDS and value.lower() not in _WORDS[name]:
        faults.append(Fault(where, f"'{value[:40]}' is none of its values", f"it is one of {', '.join(_WORDS[name])}"))
    elif not re.fullmatch(r"[A-Za-z0-9+-]{1,32}", value):
        faults.append(
            Fault(where, f"'{value[:40]}' is not a congestion provider", "save the output of the command again")
        )
    else:
        row.values[name] = {"true": "enabled", "false": "disabled"}.get(value.lower(), value.lower())


# -- PowerShell's formats ----------------------------------------------------------------------------------------------


def _table(text: str, file: str) -> Iterator[dict[str, str]]:
    """Rows of ``Format-Table``: the names, a dash run below each, then lines whose cells overlap these columns."""
    lines = text.splitlines()
    for at in range(1, len(lines)):
        spans = [match.span() for match in re.finditer(r"-+", lines[at])]
        names = re.findall(r"\S+", lines[at - 1])
        if len(spans) < 2 or len(names) != len(spans) or not re.fullmatch(r"[- ]+", lines[at].rstrip()):
            continue
        if "settingname" not in map(bare_name, names):
            continue
        for line in lines[at + 1 :]:
            cells = list(re.finditer(r"\S+", line))
            if not cells:
                break
            row = dict.fromkeys(names, "")
            for cell in cells:
                name = names[_column(cell.span(), spans)]
                if row[name]:
                    what = f"'{line.strip()[:60]}' has two values in the column {name}"
                    raise ScenarioError(Fault(file, what, "`Get-NetTCPSetting | Format-List > FILE`"))
                row[name] = cell[0]
            yield row


def _column(cell: tuple[int, int], spans: Sequence[tuple[int, int]]) -> int:
    """The column that a cell overlaps most, or the nearest one."""
    overlaps = [min(cell[1], end) - max(cell[0], begin) for begin, end in spans]
    return overlaps.index(max(overlaps))


def _clixml(text: str, file: str) -> Iterator[dict[str, str]]:
    """Objects with a SettingName in the output of Export-Clixml, at any depth."""
    hint = "`Get-NetTCPSetting | Export-Clixml FILE`"
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ScenarioError(Fault(file, "has a document type, which Export-Clixml does not write", hint))
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except (ElementTree.ParseError, ValueError) as cause:
        raise ScenarioError(Fault(file, f"is not XML: {cause}", hint)) from None
    for element in root.iter():
        if element.tag.rpartition("}")[2] != "Obj":
            continue
        properties: dict[str, str] = {}
        for group in element:
            if group.tag.rpartition("}")[2] in ("Props", "MS"):
                properties |= {one.get("N", ""): _value(one) for one in group}
        if properties:
            yield properties


def _value(element: ElementTree.Element) -> str:
    """The text of a property; of an enumeration its word."""
    for one in element:
        if one.tag.rpartition("}")[2] == "ToString":
            return (one.text or "").strip()
    return (element.text or "").strip()


def _json(text: str, file: str) -> Iterator[dict[str, str]]:
    """Objects in the output of ConvertTo-Json, at any depth."""
    try:
        found = parsed(text)
    except ValueError as cause:
        hint = "`Get-NetTCPSetting | ConvertTo-Json > FILE`"
        raise ScenarioError(Fault(file, f"is not JSON: {cause}", hint)) from None
    left = [found]
    while left:
        one = left.pop(0)
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            left += [value for value in one.values() if isinstance(value, dict | list)]
            yield {
                name: "" if value is None else str(value).strip()
                for name, value in one.items()
                if not isinstance(value, dict | list)
            }


# -- netsh ------------------------------------------------------------------------------------------------------------


def _netsh(text: str, file: str, faults: list[Fault]) -> list[TemplateSettings]:
    """The tables of ``netsh int tcp show global`` and ``show supplemental`` in a text, in any language."""
    rows = []
    title: list[str] = []
    values: list[str] | None = None
    for line in [*text.splitlines(), ""]:
        match = re.fullmatch(r".*\S.*[:\uff1a]\s*(\S+)\s*", line)
        if re.fullmatch(r"\s*-{3,}\s*", line):
            if values:
                rows.append(_section(title, values, file, faults))
            values = []
        elif match and values is not None:
            values.append(match[1])
        elif values:
            rows.append(_section(title, values, file, faults))
            title, values = [line], None
        else:
            title.append(line)
    return [row for row in rows if row is not None]


_Reader = Callable[[Sequence[str]], "Mapping[str, str] | None"]


def _section(title: Iterable[str], values: Sequence[str], file: str, faults: list[Fault]) -> TemplateSettings | None:
    """The settings of a table: global ones begin with a word, supplemental ones with a number."""
    is_supplemental = values[0].isascii() and values[0].isdecimal()
    read: _Reader = _supplemental if is_supplemental else _global
    source = f"netsh {'supplemental' if is_supplemental else 'global'}"
    found = read(values)
    if found is None:
        what = f"the values {', '.join(values)[:60]} are not in the order of this output"
        faults.append(Fault(f"{file}: {source}", what, "save the output of the command again"))
        return None
    named = [match[1].lower() for line in title for match in _TEMPLATE.finditer(line)]
    row = TemplateSettings(file, source, _NAMES[named[-1]] if is_supplemental and named else None)
    for name, value in found.items():
        _keep(row, name, value, faults)
    return row


def _global(values: Sequence[str]) -> dict[str, str] | None:
    """Level of auto-tuning, add-on provider, ECN, timestamps and initial RTO: the first number and the four values
    above it. What is above and below them differs between versions."""
    at = next((n for n, value in enumerate(values) if value.isascii() and value.isdecimal()), 0)
    if at < 5:
        return None
    names = ("auto_tuning", "provider", "ecn", "timestamps", "initial_rto_ms")
    return dict(zip(names, values[at - 4 : at + 1], strict=True))


def _supplemental(values: Sequence[str]) -> dict[str, str] | None:
    """Minimum RTO, initial window, provider, restart, delay and frequency of ACKs, in this order."""
    names = ("min_rto_ms", "initial_window", "provider", "cwnd_restart", "ack_delay_ms", "ack_every")
    return None if len(values) < len(names) else dict(zip(names, values, strict=False))

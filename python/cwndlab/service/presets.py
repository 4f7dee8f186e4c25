"""Service levels of standards, as fields of a flow's table ``service``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from cwndlab.errors import chosen

#: Not compared with the text of the standard: the numbers are from programs and documents that quote it.
SECONDARY = "secondary source"
#: Compared with neither the standard nor a quotation of it: do so before you rely on the numbers.
UNCHECKED = "not checked"


@dataclass(frozen=True)
class Standard:
    """A service level of a standard.

    Parameters
    ----------
    name
        Its name here.
    service
        The fields of a flow's table ``service``.
    of
        The application.
    source
        The standard, and the part that states the numbers.
    basis
        `SECONDARY` or `UNCHECKED`.
    note
        What the fields leave out.

    Examples
    --------
    >>> standard("y1541-0").basis
    'secondary source'
    """

    name: str
    service: dict[str, Any]
    of: str
    source: str
    basis: str = UNCHECKED
    note: str = ""


_G1010 = "ITU-T G.1010 (11/2001)"
_Y1541 = "ITU-T Y.1541 (12/2011)"
_MEAN = "the standard bounds the mean delay, not that of 99 % of the messages"


def _y1541(number: int, delay: str, loss: float, variation: str = "") -> Standard:
    notes = [_MEAN, *([f"IPDV at most {variation} is not a field: compare `ipdv_s`"] if variation else [])]
    service = {"deadline": delay, "loss": loss}
    basis = SECONDARY if number < 2 else UNCHECKED
    return Standard(f"y1541-{number}", service, f"IP network, class {number}", _Y1541, basis, "; ".join(notes))


_STANDARDS = (
    Standard("g114-voice", {"deadline": "150 ms"}, "conversation, good for most", "ITU-T G.114", SECONDARY),
    Standard("g114-limit", {"deadline": "400 ms"}, "conversation, limit of planning", "ITU-T G.114", SECONDARY),
    Standard("g1010-voice", {"deadline": "150 ms", "loss": 0.03}, "conversation, preferred", _G1010),
    Standard("g1010-videophone", {"deadline": "150 ms", "loss": 0.01}, "videophone, preferred", _G1010),
    Standard("g1010-command", {"deadline": "250 ms", "loss": 0.0}, "command and control", _G1010, SECONDARY),
    Standard("g1010-transaction", {"deadline": "2 s", "loss": 0.0}, "transactions, preferred", _G1010),
    Standard("g1010-web", {"deadline": "2 s", "loss": 0.0, "apdex": "2 s"}, "a page, preferred", _G1010),
    Standard("g1010-bulk", {"deadline": "15 s", "loss": 0.0}, "bulk data, still images, preferred", _G1010),
    _y1541(0, "100 ms", 1e-3, "50 ms"),
    _y1541(1, "400 ms", 1e-3, "50 ms"),
    _y1541(2, "100 ms", 1e-3),
    _y1541(3, "400 ms", 1e-3),
    _y1541(4, "1 s", 1e-3),
    _y1541(6, "100 ms", 1e-5, "50 ms"),
    _y1541(7, "400 ms", 1e-5, "50 ms"),
)


def standards() -> pl.DataFrame:
    """The service levels of standards.

    Returns
    -------
    polars.DataFrame
        A row per service level: ``name``, ``application``, ``deadline``, ``loss``, ``apdex``, ``source``, ``basis``
        (how far the numbers were checked), ``note``.

    Examples
    --------
    >>> standards().filter(pl.col("name") == "g1010-command")["deadline"].item()
    '250 ms'
    """
    texts = dict.fromkeys(("name", "application", "deadline"), pl.String)
    ends = dict.fromkeys(("apdex", "source", "basis", "note"), pl.String)
    rows = [
        {
            **{"name": one.name, "application": one.of, "source": one.source, "basis": one.basis, "note": one.note},
            **{key: one.service.get(key) for key in ("deadline", "loss", "apdex")},
        }
        for one in _STANDARDS
    ]
    return pl.DataFrame(rows, schema={**texts, "loss": pl.Float64, **ends})


def standard(name: str) -> Standard:
    """A service level of a standard by its name; its ``service`` is the table of a flow.

    Raises
    ------
    ArgumentError
        There is none.

    Examples
    --------
    >>> standard("g1010-web").service
    {'deadline': '2 s', 'loss': 0.0, 'apdex': '2 s'}
    """
    return chosen("name", "service level of a standard", name, {one.name: one for one in _STANDARDS})

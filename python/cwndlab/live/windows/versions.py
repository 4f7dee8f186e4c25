"""Versions of Windows: builds, congestion providers, and what to expect of a campaign.

Sources: the reference of Set-NetTCPSetting; the CUBIC and LEDBAT pages of Microsoft's networking blog; reports of users
on BBR2. Statements without such a source say "not verified".
"""

from __future__ import annotations

from typing import NamedTuple

#: Templates that a script changes. `Automatic` only selects one of the others.
TEMPLATES = ("Internet", "InternetCustom", "Datacenter", "DatacenterCustom", "Compat")
#: Templates that apply to no connection without a transport filter.
CUSTOM_TEMPLATES = ("InternetCustom", "DatacenterCustom")
PROVIDERS = ("newreno", "ctcp", "dctcp", "cubic", "bbr2")
#: Levels of auto-tuning, with the window scale (RFC 7323) that each announces; None: no window scaling.
AUTO_TUNING = {"disabled": None, "highlyrestricted": 2, "restricted": 4, "normal": 8, "experimental": 14}


class Version(NamedTuple):
    """A version of Windows.

    ``builds`` are the first and last build that a script accepts, ``default_provider`` is that of the template
    Internet, and ``notes`` become comments of the script.
    """

    title: str
    is_server: bool
    builds: tuple[int, int]
    default_provider: str
    has_bbr2: bool = False
    notes: tuple[str, ...] = ()


_NO_CURL = "curl.exe may be absent from this version (not verified); the script stops if there is none."
_LOOPBACK = (
    "BBR2 stalls loopback connections on Windows 11 24H2 (reported by users; seen since Insider build 23575). "
    "The script sets it only on a custom template with a filter for a prefix outside of loopback, and restores it."
)
_LATEST = 99_999

VERSIONS: dict[str, Version] = {
    "server-2016": Version(
        "Windows Server 2016", True, (14393, 14393), "ctcp", notes=("CUBIC is experimental in this version.", _NO_CURL)
    ),
    "windows-10-1703": Version(
        "Windows 10 1703",
        False,
        (15063, 15063),
        "ctcp",
        notes=("CUBIC can be selected, and is not the default.", _NO_CURL),
    ),
    "windows-10-1709": Version(
        "Windows 10 1709",
        False,
        (16299, 16299),
        "cubic",
        notes=("CUBIC as the default of this client is not verified; Server 1709 has it.", _NO_CURL),
    ),
    "windows-10-1809": Version("Windows 10 1809", False, (17763, 17763), "cubic"),
    "server-2019": Version(
        "Windows Server 2019",
        True,
        (17763, 17763),
        "cubic",
        notes=("Current pages of Microsoft disagree on the default provider of servers: read it before a campaign.",),
    ),
    "windows-10-20h1": Version("Windows 10 20H1 to 22H2", False, (19041, 19045), "cubic"),
    "server-2022": Version("Windows Server 2022", True, (20348, 20348), "cubic"),
    "windows-11": Version("Windows 11 21H2 to 23H2", False, (22000, 26099), "cubic", has_bbr2=True, notes=(_LOOPBACK,)),
    "windows-11-24h2": Version(
        "Windows 11 24H2 and later", False, (26100, _LATEST), "cubic", has_bbr2=True, notes=(_LOOPBACK,)
    ),
    "server-2025": Version(
        "Windows Server 2025",
        True,
        (26100, _LATEST),
        "cubic",
        has_bbr2=True,
        notes=("CUBIC as the default provider, and BBR2, are not verified for this version.", _LOOPBACK),
    ),
}

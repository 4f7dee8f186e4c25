"""Versions of Windows: builds, congestion providers, and what to expect of a campaign.

Sources: the reference of Set-NetTCPSetting; the CUBIC and LEDBAT pages of Microsoft's networking blog (LEDBAT: "Support
for LEDBAT: Public Service Announcement", 5 October 2018); reports of users on BBR2. Statements without such a source
say "not verified".
"""

from __future__ import annotations

from typing import NamedTuple

#: Templates that a script changes. `Automatic` only selects one of the others.
TEMPLATES = ("Internet", "InternetCustom", "Datacenter", "DatacenterCustom", "Compat")
#: Templates that apply to no connection without a transport filter.
CUSTOM_TEMPLATES = ("InternetCustom", "DatacenterCustom")
PROVIDERS = ("newreno", "ctcp", "dctcp", "cubic", "bbr2", "ledbat")
#: The library's algorithm of a provider, without its slow start. The rules of Microsoft's BBR2 are not verified;
#: `bbr2-s2n` and `bbr2-quiche` have the rules of QUIC stacks, so that `bbr3`, the draft of the IETF, is the reference.
REFERENCES = {
    "newreno": "reno",
    "ctcp": "ctcp",
    "dctcp": "dctcp",
    "cubic": "cubic",
    "bbr2": "bbr3",
    "ledbat": "ledbat-pp",
}
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

    @property
    def has_ledbat(self) -> bool:
        """Whether LEDBAT is a provider of a template: Server 2016 since its update of July 2018, and later servers."""
        return self.is_server

    @property
    def has_hystart(self) -> bool:
        """Whether slow start is HyStart++: from Windows 10 20H1 on."""
        return self.builds[0] >= _FIRST_HYSTART

    def reference(self, provider: str) -> str:
        """The library's algorithm that is compared with a provider.

        >>> VERSIONS["windows-11"].reference("cubic"), VERSIONS["server-2019"].reference("ledbat")
        ('cubic+hystart-pp', 'ledbat-pp')
        """
        name = REFERENCES[provider]
        return f"{name}+hystart-pp" if self.has_hystart and provider in _WITH_SLOW_START else name


_FIRST_HYSTART = 19041
#: Providers with the slow start of the stack.
_WITH_SLOW_START = ("newreno", "ctcp", "dctcp", "cubic")
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

"""What the Windows study's experiments share: its algorithms, its stack, its path.

Source: its section on the set-up and its tables: a download over 2.4 GHz 802.11n (20 MHz, channel 1, -57 dBm) and LTE
from a server that is 17 hops and 177 to 468 ms away, 252 ms on average.
"""

from __future__ import annotations

#: The profile that the study's own `Get-NetTCPSetting` shows.
PROFILE = "windows-10-20h1"
#: Mean RTT to the server.
RTT_MS = 252.0
#: Windows' CUBIC has HyStart, its Compound TCP and NewReno start as RFC 5681 says.
ALGORITHMS = {"NewReno": "reno", "CTCP": "ctcp", "CUBIC": "cubic"}

"""Paths of cases: the rate of a bottleneck and a base RTT."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a full packet, and of its payload with timestamps.
PACKET_BYTES = 1500
MSS_BYTES = 1448


@dataclass(frozen=True)
class Path:
    """A path: the rate of its bottleneck and its base RTT.

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.suites.Path("12 Mbit/s, 40 ms", 12e6, 0.04).bdp_segments
    40.0
    """

    name: str
    rate_bps: float
    rtt_s: float

    @property
    def segments_per_s(self) -> float:
        """The rate in full packets per second."""
        return self.rate_bps / (8 * PACKET_BYTES)

    @property
    def bdp_segments(self) -> float:
        """The bandwidth-delay product in full packets."""
        return self.segments_per_s * self.rtt_s

    @property
    def round_s(self) -> float:
        """The RTT of a packet on the empty path: the base RTT and the serialisation of the packet."""
        return self.rtt_s + 1 / self.segments_per_s

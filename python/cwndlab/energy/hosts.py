"""The energy of a device's processor: per packet, whatever its size, and per byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cwndlab.energy.accounts import preset
from cwndlab.errors import chosen

if TYPE_CHECKING:
    from cwndlab.energy.traffic import Traffic


@dataclass(frozen=True)
class Host:
    """The energy of a device's processor per packet and byte that it sends or receives; bare ACKs are packets.

    Parameters
    ----------
    name
        Its name here.
    send_j, receive_j
        Per packet, J.
    byte_j
        Per byte of a packet, J.
    source
        Source of the numbers.

    Examples
    --------
    >>> HOSTS["raspberry-pi"].joules(sent=1000, received=500, size=1_000_000)
    0.189
    """

    name: str
    send_j: float
    receive_j: float
    byte_j: float
    source: str

    @classmethod
    def of_cycles(
        cls, name: str, *, packet: float, byte: float, joules_per_cycle: float, source: str = "of cycles"
    ) -> Host:
        """A host by the cycles of its processor per packet and per byte.

        Examples
        --------
        10,000 cycles per packet at 0.2 nJ.

        >>> Host.of_cycles("mine", packet=10_000, byte=0, joules_per_cycle=2e-10).joules(sent=1, received=0, size=40)
        2e-06
        """
        return cls(name, packet * joules_per_cycle, packet * joules_per_cycle, byte * joules_per_cycle, source)

    def joules(self, *, sent: float, received: float, size: float) -> float:
        """The energy of packets sent and received with this many bytes in all."""
        return self.send_j * sent + self.receive_j * received + self.byte_j * size

    def packets_j(self, traffic: Traffic) -> float:
        """The energy of the packets of a device."""
        sent = int(traffic.is_sent.sum())
        return self.joules(sent=sent, received=len(traffic.is_sent) - sent, size=float(traffic.bytes.sum()))


_FREE = Host("free", 0.0, 0.0, 0.0, "no processor")

_CROSS_FACTOR = (
    "Serrano, Garcia-Saavedra et al., IEEE/ACM ToN 2015, secondary source: the data of I. Ucar's thesis (2018); that a "
    "received packet costs as much as a sent one is an assumption"
)

#: Hosts by name. The first five are the cross-factor: what a frame costs while it crosses the protocol stack. The last
#: one is AES-CCM in software alone: an encrypted and an authenticated block per 16 bytes, and two blocks per packet.
HOSTS = {
    one.name: one
    for one in (
        Host("soekris-net4826", 0.93e-3, 0.93e-3, 0.0, _CROSS_FACTOR),
        Host("linksys-wrt54g", 0.46e-3, 0.46e-3, 0.0, _CROSS_FACTOR),
        Host("htc-legend", 0.1295e-3, 0.1295e-3, 0.0, _CROSS_FACTOR),
        Host("raspberry-pi", 0.126e-3, 0.126e-3, 0.0, _CROSS_FACTOR),
        Host("galaxy-note", 0.088e-3, 0.088e-3, 0.0, _CROSS_FACTOR),
        Host.of_cycles(
            "cortex-m-aes-ccm",
            packet=2 * 644.7,
            byte=(537.5 + 644.7) / 16,
            joules_per_cycle=53e-6 * 3.0 / 1e6,
            source="cycles of a Cortex-M4: Schwabe, Stoffelen, SAC 2016 (CTR mode 537.5, a single block 644.7 cycles); "
            "53 µA/MHz at 3 V: CC2340R2, SWRS282",
        ),
    )
}


def host(name: str) -> Host:
    """The host of this name.

    Parameters
    ----------
    name
        A key of `HOSTS`.

    Raises
    ------
    ArgumentError
        There is no such host.

    Examples
    --------
    >>> host("soekris-net4826").send_j
    0.00093
    """
    return chosen("name", "host", name, HOSTS)


def processor(host: str | Host | None) -> Host:
    """The host of a parameter ``host``; by default its packets cost nothing."""
    return _FREE if host is None else preset("host", "host", host, HOSTS)

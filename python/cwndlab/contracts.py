"""The protocols of custom algorithms: the methods that a class in Python has."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, runtime_checkable

from cwndlab.engine import (
    Ack,
    Congestion,
    MediaFeedback,
)

__all__ = ["CongestionControl", "MediaControl"]


@runtime_checkable
class CongestionControl(Protocol):
    """A congestion control algorithm in Python: the methods that the transport calls.

    The constructor takes the path, ``__init__(self, path)``; its other parameters need defaults and are the parameters
    of the algorithm, ``Flow("mine(gain=2)")``. A class may inherit from this one; it need not. Amounts are in segments,
    times in seconds, rates in segments per second.

    The transport copies the object by ``copy.deepcopy`` before a congestion event, and restores the copy where the
    event was spurious.

    Optional members:

    ==============================  ===================================================================================
    ``on_timeout(self, event)``     An expired retransmission timer (`Congestion`); without it ``on_congestion``.
    ``on_window(self, window)``     The transport changed the window (`Window`): after an idle period, at the end of a
                                    recovery, when the connection is established.
    ``on_sent(self, sent)``         A segment was sent (`Sent`).
    ``pacing_rate(self)``           Segments per second, or ``None`` for no pacing.
    ``state(self)``                 Named numbers of the state, a dictionary; for debugging and conformance checks.
    ``ssthresh``                    Attribute: the slow-start threshold, segments.
    ``model_based``                 Attribute of the class: ``True`` if the algorithm has a model of the path, as BBR,
                                    and sets the window during recovery and after idle periods, too.
    ==============================  ===================================================================================

    Examples
    --------
    >>> class Aimd:
    ...     def __init__(self, path, gain=1.0):
    ...         self.window, self.gain = path.initial_cwnd, gain
    ...
    ...     def on_ack(self, ack):
    ...         self.window += self.gain * ack.acked / self.window
    ...
    ...     def on_congestion(self, event):
    ...         self.window = max(self.window / 2, 2)
    ...
    ...     def cwnd(self):
    ...         return self.window
    >>> issubclass(Aimd, CongestionControl)
    True
    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flows = [cwndlab.Flow(Aimd, rtt="40 ms")]
    >>> cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows), seed=1).flows["algorithm"][0]
    'aimd/rack'
    """

    @abstractmethod
    def on_ack(self, ack: Ack, /) -> tuple[str, str] | None:
        """Called for every acknowledgement.

        Parameters
        ----------
        ack
            What is acknowledged (``acked``, segments), the RTT sample (``rtt``, seconds, or ``None``), the flight size
            after it (``in_flight``, segments), and more.

        Returns
        -------
        tuple of str, optional
            An event for the records: what happened, and why.
        """

    @abstractmethod
    def on_congestion(self, event: Congestion, /) -> None:
        """Called at most once per window, where packets are lost or marked.

        Parameters
        ----------
        event
            ``cause`` is ``"loss"``, ``"ecn"`` or ``"timeout"``; ``in_flight`` and ``lost`` are in segments. ``restart``
            demands a window of one segment; ``repeated`` marks a further expiry of the same timer.
        """

    @abstractmethod
    def cwnd(self) -> float:
        """The congestion window, segments."""
        raise NotImplementedError


@runtime_checkable
class MediaControl(Protocol):
    """A congestion control of real-time media in Python: a sender over UDP, whose receiver reports each packet.

    The workload ``adaptive-video`` encodes frames at its target rate, paces their packets and counts late ones:
    ``workload = { kind = "adaptive-video", control = "mine" }``. The constructor takes the session,
    ``__init__(self, session)``; its other parameters need defaults, and are those of ``control = "mine(gain=2)"``.
    Rates are in bit/s of datagrams without the headers of IP and UDP, sizes in bytes, times in seconds. Such classes
    run in the simulator.

    Optional members:

    ==============================  ===================================================================================
    ``pacing_rate(self)``           Rate of the packets, bit/s; without it, or ``None``: 1.5 times the target rate.
    ``window(self)``                Limit of the bytes in flight, or ``None`` for no limit.
    ``on_sent(self, packet)``       A packet was sent (`MediaSent`).
    ``on_frame(self, frame)``       A frame was encoded (`MediaFrame`).
    ``report``                      Attribute: the format of reports, ``"rfc8888"`` (the default) or
                                    ``"transport-wide"``.
    ==============================  ===================================================================================

    Examples
    --------
    >>> class HalfLossless:
    ...     def __init__(self, session):
    ...         self.rate = session.min_rate
    ...
    ...     def on_feedback(self, feedback):
    ...         lost = any(packet.arrival is None for packet in feedback.packets)
    ...         self.rate = max(self.rate / 2, 1e5) if lost else self.rate + 1e4
    ...
    ...     def target_rate(self):
    ...         return self.rate
    >>> issubclass(HalfLossless, MediaControl)
    True
    >>> import cwndlab
    >>> video = cwndlab.scenario.workloads.AdaptiveVideo(control="half-lossless")
    >>> flows = [cwndlab.Flow(transport="udp", rtt="40 ms", workload=video)]
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="1 Mbit/s", delay="10 ms", queue=cwndlab.DropTail("50 packets")))
    >>> scenario = cwndlab.Scenario(
    ...     duration="20 s", dumbbell=dumbbell, flows=flows, algorithms={"half-lossless": HalfLossless}
    ... )
    >>> cwndlab.run(scenario, seed=1).flows["delivered_bytes"][0] > 1e6
    True
    """

    @abstractmethod
    def on_feedback(self, feedback: MediaFeedback, /) -> None:
        """Called for every report of the receiver.

        Parameters
        ----------
        feedback
            ``packets`` are those of which the report brings something new, each with ``sent``, ``arrival`` (``None`` if
            it is missing), ``size`` and ``ce``.
        """

    @abstractmethod
    def target_rate(self) -> float:
        """The rate of the encoder, bit/s, which keeps within the session's ``min_rate`` and ``max_rate``."""
        raise NotImplementedError


def __dir__() -> list[str]:
    return __all__

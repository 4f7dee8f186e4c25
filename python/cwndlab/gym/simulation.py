"""The simulator as an object that is stepped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cwndlab import engine
from cwndlab.closing import Closing
from cwndlab.records import Records
from cwndlab.scenario.like import ScenarioLike
from cwndlab.scenario.schema_tables import plain_scalar
from cwndlab.simulate import check_seed, engine_document

__all__ = ["Cause", "Decision", "Simulation", "State"]

#: The cause of a decision.
Cause = Literal["interval", "ack", "loss", "timeout", "window"]


class Decision(NamedTuple):
    """A decision that is due, with what happened since the flow's last one.

    Times in seconds, amounts in segments, rates in segments per second; NaN without a sample.

    Parameters
    ----------
    flow
        Index of the flow.
    time
        Time of the decision, s.
    cause
        ``"interval"``: the end of a round trip or an interval. With ``every=ack`` also ``"ack"``, ``"loss"`` (a
        congestion event) and ``"window"`` (the transport changed the window). ``"timeout"``: the retransmission timer
        expired.
    duration
        Time since the flow's last decision, or since its start, s.
    sent, acked, lost, marked
        Segments sent, retransmissions included; acknowledged; marked lost; acknowledged with a CE mark.
    rtt_mean, rtt_min, rtt_last
        RTT samples, s.
    rtt_slope
        Slope of the least-squares line through the RTT samples over time.
    srtt
        Smoothed RTT (RFC 6298), s.
    min_rtt
        Minimum RTT of the flow, s.
    delivery_rate
        Last delivery-rate sample, as in Linux, segments/s.
    cwnd
        The window, segments.
    pacing_rate
        The pacing rate that was set, segments/s; NaN without one.
    in_flight
        Segments in flight.
    delivered
        Segments delivered since the start of the flow.
    app_limited
        The sender lacks data.
    recovering
        Losses are being repaired.
    event
        With ``every=ack``, the report of the transport, as classes of `cwndlab.custom` receive it.
    """

    flow: int
    time: float
    cause: Cause
    duration: float
    sent: float
    acked: float
    lost: float
    marked: float
    rtt_mean: float
    rtt_min: float
    rtt_last: float
    rtt_slope: float
    srtt: float
    min_rtt: float
    delivery_rate: float
    cwnd: float
    pacing_rate: float
    in_flight: float
    delivered: float
    app_limited: bool
    recovering: bool
    event: engine.Ack | engine.Congestion | engine.Window | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a flow. ``None``: not known, such as an RTT before the first sample.

    At a decision of the flow only the values up to ``delivered`` are known, since the flow's end may be ahead of the
    rest of the network.

    Attributes
    ----------
    time
        Time of the state, s.
    cwnd, in_flight
        The window, at a stop that which the transport applies, and data in flight, segments.
    pacing_rate
        The pacing rate, segments/s.
    srtt, min_rtt
        Smoothed and minimum RTT, s.
    delivered
        Segments delivered in order to the receiver, or, at a decision, acknowledged.
    ssthresh
        The slow-start threshold, segments.
    rtt
        Last RTT sample, s.
    delivery_rate
        Last delivery-rate sample, segments/s.
    sent
        Segments sent, retransmissions included.
    lost
        Packets of the flow that queues dropped or wires lost.
    timeouts
        Expiries of the retransmission timer.
    phase
        The congestion state of the sender, as Linux names it: ``"open"``, ``"disorder"``, ``"cwr"``, ``"recovery"`` or
        ``"loss"``.
    link, queue_packets, queue_bytes
        The slowest link of the flow that is sampled (`cwndlab.Link`), its index, and its queue.
    """

    time: float
    cwnd: float
    in_flight: float
    pacing_rate: float | None = None
    srtt: float | None = None
    min_rtt: float | None = None
    delivered: float
    ssthresh: float | None = None
    rtt: float | None = None
    delivery_rate: float | None = None
    sent: float | None = None
    lost: int | None = None
    timeouts: int | None = None
    phase: str | None = None
    link: int | None = None
    queue_packets: int | None = None
    queue_bytes: int | None = None


class Simulation(Closing):
    """A run of the simulator that is stepped.

    Flows with the algorithm ``external`` are decided by the caller, the others by their algorithms. Stepping does not
    change a run: without decisions the records are those of `cwndlab.run`, with the same hash. A call raises
    `ValueError` during another one, in another thread or from a handler of signals.

    Parameters
    ----------
    scenario
        A `Scenario`, or plain values in the shape of its TOML.
    seed
        Seed of all random numbers.

    Raises
    ------
    ArgumentError
        The seed is none.
    ScenarioError
        With every fault of the scenario; an algorithm that is a class in Python is one.
    RunError
        Where an ``external`` flow has a workload of several connections.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.gym import Simulation
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flow = cwndlab.Flow("external(every=rtt)", rtt="40 ms")
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=[flow])
    >>> with Simulation(scenario, seed=1) as simulation:
    ...     while decision := simulation.next_decision():
    ...         simulation.set_cwnd(decision.flow, 20)
    ...     records = simulation.records()
    """

    def __init__(self, scenario: ScenarioLike, seed: int) -> None:
        text, _ = engine_document(scenario, {})
        check_seed(plain_scalar(seed))
        self._run = engine.Simulation(text, "json", seed)

    @property
    def now(self) -> float:
        """The time of the last stop or decision, s."""
        return self._run.now

    @property
    def external(self) -> list[int]:
        """The indices of the flows whose algorithm is ``external``."""
        return self._run.external

    def run_until(self, time: float) -> None:
        """Processes the events up to a time, or up to the end of the run.

        Decisions that are due on the way change nothing. A time that is not later than `now` has no effect.

        Parameters
        ----------
        time
            Time of the stop, s.
        """
        self._run.run_until(time)

    def next_decision(self) -> Decision | None:
        """Continues to the next decision of any ``external`` flow; ``None`` at the end of the run.

        A flow decides for the first time at the end of its first round trip or interval. With one ``external`` flow
        its end may be ahead of the clock of the network, which does not change what it knows. Several decide in the
        order of time.
        """
        row = self._run.next_decision()
        return None if row is None else Decision._make(row)

    def state(self, flow: int) -> State:
        """The state of a flow.

        Parameters
        ----------
        flow
            Index of the flow.

        Raises
        ------
        RunError
            There is no such flow, it has not started, or the run is at a decision of another flow.
        """
        return State(**self._run.state(flow))

    def set_cwnd(self, flow: int, segments: float) -> None:
        """Sets the window of an ``external`` flow: at its decision immediately, else at its next event. `state` has it
        when the run continues.

        Parameters
        ----------
        flow
            Index of the flow.
        segments
            The window, above 0; values below one segment count as one.

        Raises
        ------
        RunError
            There is no such flow, or its algorithm is not ``external``.
        ValueError
            The window is not above 0.
        """
        self._run.set_cwnd(flow, segments)

    def set_pacing(self, flow: int, segments_per_second: float | None) -> None:
        """Sets the pacing rate of an ``external`` flow, at the same times as `set_cwnd`.

        Parameters
        ----------
        flow
            Index of the flow.
        segments_per_second
            The rate of payload; ``None`` or infinite: by the stack profile.

        Raises
        ------
        RunError
            There is no such flow, or its algorithm is not ``external``.
        ValueError
            The rate is not above 0.
        """
        self._run.set_pacing(flow, None if segments_per_second == math.inf else segments_per_second)

    def set_ssthresh(self, flow: int, segments: float | None) -> None:
        """Sets the slow-start threshold of a flow with ``external(recovery=transport)``, which the transport reads.

        Parameters
        ----------
        flow
            Index of the flow.
        segments
            The threshold; ``None``: no threshold.

        Raises
        ------
        RunError
            There is no such flow, or its algorithm is not ``external``.
        """
        self._run.set_ssthresh(flow, segments)

    def records(self) -> Records:
        """Runs to the end and returns the records; decisions that are due on the way change nothing."""
        return Records(self._run.records())

    def close(self) -> None:
        """Frees the simulation; further calls raise `ValueError`."""
        self._run.close()

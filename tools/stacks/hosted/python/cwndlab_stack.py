"""The protocol of hosted stacks (docs/host.md) for stacks in Python: a class with `Stack`'s methods, and `serve`.

This file depends on the standard library alone; copy it beside your stack.
"""

from __future__ import annotations

import signal
import struct
import sys
from typing import BinaryIO

VERSION = 1
ENDLESS = 2**64 - 1

#: Codes of the values that a stack may report.
VALUES = {
    "cwnd": 1,
    "ssthresh": 2,
    "in_flight": 3,
    "smoothed_rtt": 4,
    "rtt": 5,
    "pacing_rate": 6,
    "lost_packets": 7,
    "congestion_events": 8,
    "lost_bytes": 9,
    "timeouts": 10,
    "min_rtt": 11,
    "loss_probes": 12,
}


class Stack:
    """A stack at one end of a flow. Times are integers in nanoseconds since the start of the run.

    Methods call `send`, `value` and `done`, and set `next_timer` and `delivered`.
    """

    #: Name and version of the stack, and its congestion control, after `start`.
    name = ""
    controller = ""
    #: Time of the next timer; ``None``: none.
    next_timer: int | None = None
    #: Bytes in order that the application has received, in total.
    delivered = 0

    def __init__(self) -> None:
        self._answer = bytearray()
        self._is_finished = False

    def start(self, is_sender: bool, seed: int, max_datagram: int, controller: str, options: str) -> None:
        """Prepares the stack. ``controller``: the congestion control, empty for the default; raises ``ValueError``."""
        raise NotImplementedError

    def on_timer(self, now: int) -> None:
        """The timer expired."""

    def on_datagram(self, now: int, payload: bytes, ecn: int) -> None:
        """A datagram arrived."""

    def write(self, now: int, count: int | None) -> None:
        """The application of the sender writes this number of bytes; ``None``: as many as can be sent."""

    def pause(self, now: int) -> None:
        """The application of the sender writes nothing until the next `write`: an endless supply ends."""

    def finish(self, now: int) -> None:
        """The application of the sender writes no more."""

    def answer(self, now: int) -> None:
        """Called last, before each answer is sent, for work that all events have in common."""

    def send(self, payload: bytes, ecn: int = 0) -> None:
        """Sends a datagram with this ECN field (0: Not-ECT, 1: ECT(1), 2: ECT(0))."""
        self._answer += struct.pack("<BBH", 0x12, ecn, len(payload)) + payload

    def value(self, name: str, number: int) -> None:
        """Reports a value of ``VALUES``: bytes, nanoseconds, bit/s or a count."""
        self._answer += struct.pack("<BBQ", 0x15, VALUES[name], number)

    def done(self) -> None:
        """Reports that all data of the application have been acknowledged."""
        self._answer.append(0x16)

    def _call(self, frame: bytes) -> bytes:
        self._answer.clear()
        (now,) = struct.unpack_from("<Q", frame, 1)
        at = 9
        while at < len(frame):
            kind = frame[at]
            at += 1
            if kind == 0x03:
                self.next_timer = None
                self.on_timer(now)
            elif kind == 0x04:
                ecn, length = struct.unpack_from("<BH", frame, at)
                at += 3 + length
                self.on_datagram(now, frame[at - length : at], ecn)
            elif kind == 0x05:
                (count,) = struct.unpack_from("<Q", frame, at)
                at += 8
                if self._is_finished:
                    return b"\x17" + _text("this stack opens one connection")
                self.write(now, None if count == ENDLESS else count)
            elif kind == 0x06:
                self._is_finished = True
                self.finish(now)
            elif kind == 0x07:
                self.pause(now)
            else:
                raise ValueError(f"no item of a call has the kind {kind:#04x}")
        self.answer(now)
        if self.next_timer is not None:
            self._answer += struct.pack("<BQ", 0x13, max(self.next_timer, 0))
        self._answer += struct.pack("<BQ", 0x14, self.delivered)
        return bytes(self._answer)


def _text(text: str) -> bytes:
    encoded = text.encode()[:65535]
    return struct.pack("<H", len(encoded)) + encoded


def _start(stack: Stack, frame: bytes) -> bytes:
    kind, version, is_receiver, seed, max_datagram = struct.unpack_from("<BBBQH", frame)
    if kind != 0x01 or version != VERSION:
        return b"\x17" + _text(f"this stack has version {VERSION} of the protocol")
    texts, at = [], 13
    for _ in range(2):
        (length,) = struct.unpack_from("<H", frame, at)
        texts.append(frame[at + 2 : at + 2 + length].decode())
        at += 2 + length
    try:
        stack.start(not is_receiver, seed, max_datagram, *texts)
    except ValueError as error:
        return b"\x17" + _text(str(error))
    return b"\x11" + _text(stack.name) + _text(stack.controller)


def _frame(source: BinaryIO) -> bytes | None:
    header = source.read(4)
    return source.read(int.from_bytes(header, "little")) if len(header) == 4 else None


def serve(stack: Stack) -> None:
    """Answers calls until standard input ends. Ctrl-C ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    handle = _start
    while (frame := _frame(source)) is not None:
        answer = handle(stack, frame)
        sink.write(struct.pack("<I", len(answer)) + answer)
        sink.flush()
        handle = Stack._call

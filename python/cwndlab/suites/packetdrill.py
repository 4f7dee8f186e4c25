"""Packetdrill scripts against the transport: the engine runs packets and system calls, this module the scripts' Python.

Source: N. Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC 2013.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from cwndlab import engine
from cwndlab.errors import Fault, ScenarioError, text_of
from cwndlab.suites.assertions import Evaluator, unsupported

__all__ = ["COLUMNS", "Reason", "Result", "Verdict", "run", "run_text", "scripts"]

#: Columns of a table of results.
COLUMNS = ("script", "verdict", "line", "time_s", "expected", "got", "reasons")
#: Characters of a piece of Python; scripts have some hundred.
_MOST_CODE = 20_000


class Verdict(StrEnum):
    """The verdict on a script.

    >>> [str(one) for one in Verdict]
    ['passed', 'failed', 'not applicable']
    """

    PASSED = "passed"
    """The sender does what the script expects."""
    FAILED = "failed"
    """It does not."""
    NOT_APPLICABLE = "not applicable"
    """The script is about something else than a data sender."""


class Reason(NamedTuple):
    """Why a script is not applicable.

    Parameters
    ----------
    line
        The line of the script.
    feature
        What cwndlab does not have, such as ``Fast Open``.

    Examples
    --------
    >>> Reason(12, "Fast Open").feature
    'Fast Open'
    """

    line: int
    feature: str


@dataclass(frozen=True)
class Result:
    """The result of a script.

    Parameters
    ----------
    script
        Its file.
    verdict
        The verdict.
    line
        The line of the first difference, where it failed.
    time_s
        The time of the first difference since the start of the script, s.
    expected
        What the script expects there.
    got
        What the sender does, or the values of the variables in an assertion.
    reasons
        All reasons for which it is not applicable.

    Examples
    --------
    >>> Result("mine.pkt", Verdict.PASSED).as_dict()["verdict"]
    'passed'
    """

    script: str
    verdict: Verdict
    line: int | None = None
    time_s: float | None = None
    expected: str | None = None
    got: str | None = None
    reasons: tuple[Reason, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, as JSON has them."""
        return {**asdict(self), "verdict": str(self.verdict), "reasons": [one._asdict() for one in self.reasons]}


def scripts(paths: Iterable[str | Path]) -> list[Path]:
    """The scripts of files and folders, folders recursively (``*.pkt``), in order of their names.

    Raises `ScenarioError` if a path does not exist, or a folder has no script.

    Parameters
    ----------
    paths
        Files or folders.

    Examples
    --------
    >>> [str(path) for path in scripts([])]
    []
    """
    found: list[Path] = []
    faults = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(path.rglob("*.pkt"))
            if not inside:
                faults.append(Fault(str(path), "has no script", "name a folder with files *.pkt"))
            found += inside
        elif path.exists():
            found.append(path)
        else:
            faults.append(Fault(str(path), "there is no such file or folder", "name scripts, or folders of them"))
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(found))


def run(path: str | Path) -> Result:
    """Runs the script in a file.

    Raises `ScenarioError` if the file cannot be read or is not a script.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".pkt") as file:
    ...     _ = file.write("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
    ...     file.flush()
    ...     print(run(file.name).reasons[0].feature)
    no data is sent: handshake, end, or receiver alone
    """
    path = Path(path)
    return run_text(text_of(path, "name a packetdrill script"), str(path))


def run_text(text: str, name: str = "script") -> Result:
    """Runs a script.

    Raises `ScenarioError` if the text is not a script.

    Parameters
    ----------
    text
        The script.
    name
        Its name in the result and in faults.

    Examples
    --------
    >>> script = '''
    ...  0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    ... +0 listen(3, 1) = 0
    ... +0 < S 0:0(0) win 65535 <mss 1000,sackOK>
    ... +0 > S. 0:0(0) ack 1 <...>
    ... +.1 < . 1:1(0) ack 1 win 65535
    ... +0 accept(3, ..., ...) = 4
    ... +0 write(4, ..., 20000) = 20000
    ... +0 > . 1:10001(10000) ack 1
    ... +0 %{ assert tcpi_snd_cwnd == 12 }%
    ... '''
    >>> result = run_text(script)
    >>> print(result.verdict, result.line, result.expected, result.got, sep=", ")
    failed, 10, tcpi_snd_cwnd == 12, tcpi_snd_cwnd = 10
    """
    try:
        report = json.loads(engine.packetdrill(text))
    except ScenarioError as error:
        faults = [Fault(f"{name}, {fault.where}" if fault.where else name, *fault[1:]) for fault in error.faults]
        raise ScenarioError(*faults) from None
    outcome, pieces = report["outcome"], [_Piece(**one) for one in report["code"]]
    reasons = [Reason(**one) for one in outcome.get("reasons", ())]
    trees = [(piece, _parsed(piece, name)) for piece in pieces]
    reasons += [Reason(piece.line, reason) for piece, tree in trees for reason in unsupported(tree)]
    if reasons:
        return Result(name, Verdict.NOT_APPLICABLE, reasons=tuple(dict.fromkeys(reasons)))
    failure = _first_failure(trees)
    if failure is not None:
        return Result(name, Verdict.FAILED, *failure)
    if outcome["verdict"] == "failed":
        time_s = outcome["time_ns"] / 1e9
        return Result(name, Verdict.FAILED, outcome["line"], time_s, outcome["expected"], outcome["got"])
    return Result(name, Verdict.PASSED)


class _Piece(NamedTuple):
    """A piece of Python of a script, with the fields of ``struct tcp_info`` at its time."""

    line: int
    time_ns: int
    text: str
    values: dict[str, int]


def _parsed(piece: _Piece, name: str) -> ast.Module:
    try:
        if len(piece.text) > _MOST_CODE:
            raise ValueError(f"it has more than {_MOST_CODE:,} characters")
        return ast.parse(piece.text + "\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        raise ScenarioError(Fault(f"{name}, line {piece.line}", f"is no Python: {cause}", "correct the code")) from None


def _first_failure(trees: Iterable[tuple[_Piece, ast.Module]]) -> tuple[int, float, str, str] | None:
    """Line, time, expectation and values of the first assertion that does not hold."""
    evaluator = Evaluator()
    for piece, tree in trees:
        evaluator.names.update(piece.values)
        for statement in tree.body:
            place = piece.line, piece.time_ns / 1e9
            try:
                holds = evaluator.holds(statement)
            except Exception as cause:
                return *place, ast.unparse(statement), f"{type(cause).__name__}: {cause}"
            if not holds:
                assert isinstance(statement, ast.Assert)
                return *place, ast.unparse(statement.test), evaluator.values_of(statement.test)
    return None


def __dir__() -> list[str]:
    return __all__

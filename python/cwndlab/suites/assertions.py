"""Evaluates the Python of packetdrill scripts: assertions, assignments and arithmetic, without Python's `exec`.

Scripts come from elsewhere. The evaluator walks the syntax tree once, since the language has no loops, functions or
attributes, and bounds the size of every value, so that a script needs time and memory in proportion to its length.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["CONSTANTS", "Evaluator", "unsupported"]

#: Constants of Linux that scripts use (``enum tcp_ca_state``).
CONSTANTS = {
    "TCP_CA_Open": 0,
    "TCP_CA_Disorder": 1,
    "TCP_CA_CWR": 2,
    "TCP_CA_Recovery": 3,
    "TCP_CA_Loss": 4,
}
#: Bits of a number, items and characters of a value at all its levels, digits to which a number is rounded, levels of
#: brackets.
_MOST_BITS, _MOST_ITEMS, _MOST_DIGITS, _MOST_LEVELS = 256, 10_000, 20, 100

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "round": round,
    "str": str,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_NODES = (
    *(ast.Module, ast.Assert, ast.Assign, ast.AugAssign, ast.Expr, ast.Pass, ast.Name, ast.Load, ast.Store),
    *(ast.Constant, ast.Tuple, ast.List, ast.Compare, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.BinOp),
    *(ast.IfExp, ast.Call, ast.JoinedStr, ast.FormattedValue, *_BINARY, *_UNARY, *_COMPARE),
)


def unsupported(tree: ast.Module) -> Iterator[str]:
    """Reasons for which code is not evaluated: assertions need no more.

    Parameters
    ----------
    tree
        The code.

    Examples
    --------
    >>> list(unsupported(ast.parse("assert 2 ** 9 == 512")))
    ['Python beyond assertions (Pow)']
    """
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            yield f"Python beyond assertions ({type(node).__name__})"
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else "…"
            if name != "print" and name not in _FUNCTIONS:
                yield f"Python beyond assertions (function {name})"


def _bounded(value: Any) -> Any:
    """The value, where it is small."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OverflowError(f"a number of more than {_MOST_BITS} bits")
    if _items(value) > _MOST_ITEMS:
        raise OverflowError(f"a sequence of more than {_MOST_ITEMS:,} items")
    return value


def _items(value: Any) -> int:
    """Items and characters of a value, those of the sequences in it included; it stops above the limit."""
    count, rest = 0, [value]
    while rest and count <= _MOST_ITEMS:
        one = rest.pop()
        if isinstance(one, str | tuple | list):
            count += len(one)
            if not isinstance(one, str) and count <= _MOST_ITEMS:
                rest.extend(one)
    return count


class Evaluator:
    """Evaluates statements in turn; variables last from one to the next.

    Attributes
    ----------
    names
        The variables and their values.

    Examples
    --------
    >>> evaluator = Evaluator()
    >>> evaluator.names["tcpi_snd_cwnd"] = 10
    >>> statement = ast.parse("assert tcpi_snd_cwnd == 11").body[0]
    >>> evaluator.holds(statement), evaluator.values_of(statement.test)
    (False, 'tcpi_snd_cwnd = 10')
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = dict(CONSTANTS)

    def holds(self, statement: ast.stmt) -> bool:
        """Evaluates a statement; false for an assertion that does not hold.

        Parameters
        ----------
        statement
            A statement of a tree in which `unsupported` finds nothing.

        Raises
        ------
        Exception
            What Python raises there, and ``OverflowError`` for values that are too large.
        """
        match statement:
            case ast.Assert(test=test):
                return bool(self._value(test, 0))
            case ast.Assign(targets=targets, value=expression):
                value = self._value(expression, 0)
                for target in targets:
                    self._assign(target, value)
            case ast.AugAssign(target=ast.Name(id=name), op=operation, value=expression):
                self.names[name] = self._binary(operation, self._named(name), self._value(expression, 0))
            case ast.Expr(value=expression):
                self._value(expression, 0)
        return True

    def values_of(self, test: ast.expr) -> str:
        """The values of the variables in an expression, as text.

        Parameters
        ----------
        test
            The expression.
        """
        used = dict.fromkeys(node.id for node in ast.walk(test) if isinstance(node, ast.Name))
        shown = [name for name in used if name not in CONSTANTS and name in self.names]
        return ", ".join(f"{name} = {self.names[name]}" for name in shown)

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, one in zip(parts, value, strict=True):
                    self._assign(part, one)
            case _:
                raise SyntaxError("cannot assign to that")

    def _named(self, name: str) -> Any:
        if name not in self.names:
            raise NameError(f"name '{name}' is not defined")
        return self.names[name]

    def _binary(self, operation: ast.operator, one: Any, other: Any) -> Any:
        sequences = [value for value in (one, other) if isinstance(value, str | tuple | list)]
        if isinstance(operation, ast.Mult) and sequences:
            size = other if sequences[0] is one else one
            if isinstance(size, int) and _items(sequences[0]) * size > _MOST_ITEMS:
                raise OverflowError(f"a sequence of more than {_MOST_ITEMS:,} items")
        if isinstance(operation, ast.Mod) and isinstance(one, str) and re.search(r"%[^a-zA-Z%]*(\*|\d{4})", one):
            raise OverflowError("a field of more than 999 characters")
        return _bounded(_BINARY[type(operation)](one, other))

    def _value(self, node: ast.expr, level: int) -> Any:
        """The value of an expression within ``level`` others."""
        if level > _MOST_LEVELS:
            raise RecursionError(f"more than {_MOST_LEVELS} levels of brackets")

        def value(inner: ast.expr) -> Any:
            return self._value(inner, level + 1)

        match node:
            case ast.Constant(value=constant):
                return _bounded(constant)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Tuple(elts=parts):
                return _bounded(tuple(value(part) for part in parts))
            case ast.List(elts=parts):
                return _bounded([value(part) for part in parts])
            case ast.BinOp(left=left, op=operation, right=right):
                return self._binary(operation, value(left), value(right))
            case ast.UnaryOp(op=unary, operand=operand):
                return _UNARY[type(unary)](value(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value(body) if value(test) else value(orelse)
            case ast.JoinedStr(values=parts):
                return _bounded("".join(str(value(part)) for part in parts))
            case ast.FormattedValue(value=inner, format_spec=None):
                return value(inner)
            case ast.BoolOp(op=boolean, values=parts):
                return self._boolean(isinstance(boolean, ast.And), parts, value)
            case ast.Compare(left=left, ops=comparisons, comparators=others):
                return self._compare(value(left), comparisons, others, value)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments, value)
        raise SyntaxError(f"{type(node).__name__} is not supported")

    def _boolean(self, every: bool, parts: list[ast.expr], value: Callable[[ast.expr], Any]) -> Any:
        result: Any = every
        for part in parts:
            result = value(part)
            if bool(result) is not every:
                break
        return result

    def _compare(
        self, one: Any, comparisons: list[ast.cmpop], others: list[ast.expr], value: Callable[[ast.expr], Any]
    ) -> Any:
        result: Any = True
        for comparison, inner in zip(comparisons, others, strict=True):
            other = value(inner)
            result = _COMPARE[type(comparison)](one, other)
            if not result:
                break
            one = other
        return result

    def _call(self, name: str, arguments: list[ast.expr], value: Callable[[ast.expr], Any]) -> Any:
        if name == "print":
            return None
        values = [value(argument) for argument in arguments]
        digits = values[1] if name == "round" and len(values) > 1 else 0
        if isinstance(digits, int) and abs(digits) > _MOST_DIGITS:
            raise OverflowError(f"more than {_MOST_DIGITS} digits")
        return _bounded(_FUNCTIONS[name](*values))


def __dir__() -> list[str]:
    return __all__

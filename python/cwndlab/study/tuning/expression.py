"""Arithmetic over metrics: ``goodput_bps / 1e6 - 10 * loss_ratio``. Parsed by Python's grammar, never executed."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cwndlab.errors import Fault, ScenarioError, unknown_metric
from cwndlab.study.values import short

_BINARY: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "log": math.log,
    "sqrt": math.sqrt,
}

# Evaluation is recursive; a sum of this many terms is as deep.
_MOST_LEVELS = 150


class NoValue(Exception):  # noqa: N818
    """A metric of the expression has no value in a run."""


@dataclass(frozen=True)
class Expression:
    """An expression whose names are metrics. ``otherwise(metric, number)`` is for metrics that may have no value."""

    text: str
    tree: ast.expr

    @classmethod
    def parse(cls, text: str, where: str, metrics: Sequence[str]) -> Expression:
        """Reads it; raises ``ScenarioError`` with every fault."""
        hint = 'write "goodput_bps", or "goodput_bps / 1e6 - 10 * loss_ratio"'
        if not isinstance(text, str):
            raise ScenarioError(Fault(where, f"{short(text)} is not an expression", hint))
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise ScenarioError(Fault(where, f"{short(text)} is not an expression", hint)) from None
        except (RecursionError, MemoryError):  # Python's parser reports deep nesting as either of them
            tree = None
        if tree is None or _depth(tree) > _MOST_LEVELS:
            raise ScenarioError(Fault(where, f"{short(text)} has more than {_MOST_LEVELS} nested operations", hint))
        faults = list(_faults(tree, where, metrics))
        if faults:
            raise ScenarioError(*faults)
        return cls(text, tree)

    def __call__(self, row: Mapping[str, float | None]) -> float:
        """Its value for a run; raises `NoValue`."""
        try:
            value = _value(self.tree, row)
        except (ZeroDivisionError, ValueError, OverflowError, TypeError):
            raise NoValue(self.text) from None
        if not isinstance(value, float | int) or not math.isfinite(value):
            raise NoValue(self.text)
        return float(value)


def _depth(tree: ast.expr) -> int:
    """The nesting depth of expressions."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(one, depth + 1) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    return deepest


def _faults(node: ast.expr, where: str, metrics: Sequence[str]) -> Iterator[Fault]:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name(id=name):
            if name not in metrics:
                yield unknown_metric(where, name, metrics)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            yield from _faults(inner, where, metrics)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            yield from _faults(left, where, metrics)
            yield from _faults(right, where, metrics)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in (*_FUNCTIONS, "otherwise"):
            counts = {"otherwise": 2, "abs": 1, "log": 1, "sqrt": 1}
            if (len(arguments) != counts[name]) if name in counts else len(arguments) < 2:
                written = f"write {name}({'a' if counts.get(name) == 1 else 'a, b'})"
                yield Fault(where, f"'{ast.unparse(node)}' has {len(arguments)} arguments", written)
            for argument in arguments:
                yield from _faults(argument, where, metrics)
        case _:
            hint = f"numbers, metrics, + - * / **, and {', '.join([*_FUNCTIONS, 'otherwise'])}"
            yield Fault(where, f"'{ast.unparse(node)}' is not arithmetic", hint)


def _value(node: ast.expr, row: Mapping[str, float | None]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            metric = row.get(name)
            if metric is None:
                raise NoValue(name)
            return metric
        case ast.UnaryOp(op=op, operand=inner):
            return -_value(inner, row) if isinstance(op, ast.USub) else _value(inner, row)
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, row), _value(right, row))
        case ast.Call(func=ast.Name(id="otherwise"), args=[first, second]):
            try:
                return _value(first, row)
            except NoValue:
                return _value(second, row)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_value(argument, row) for argument in arguments))
    raise NoValue(ast.unparse(node))

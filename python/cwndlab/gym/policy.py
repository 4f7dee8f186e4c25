"""Policies as files: a small neural network with its observation and action, which runs as an algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cwndlab.errors import Fault, OutputError, ScenarioError, text_of, unknown_name
from cwndlab.files import json_text, parsed
from cwndlab.gym.actions import Action
from cwndlab.gym.intervals import Array
from cwndlab.gym.observations import Observation

__all__ = ["Layer", "Policy"]

SCHEMA_VERSION = 1
ACTIVATIONS = ("linear", "relu", "tanh")
#: When a policy decides: the values of the parameter ``every`` of the algorithm ``external``.
EVERY = ("rtt", "interval", "ack")
#: The parts of a document; the engine reads the same ones.
_PARTS = ("schema_version", "observation", "action", "every", "interval_ms", "normalisation", "layers")


@dataclass(frozen=True, eq=False, init=False)
class Layer:
    """A layer of a network: activation(weights · x + bias).

    Parameters
    ----------
    weights
        Of shape (outputs, inputs).
    bias
        Of shape (outputs,).
    activation
        ``"tanh"``, ``"relu"`` or ``"linear"``.

    Raises
    ------
    ScenarioError
        The shapes do not fit, a number is not finite, or the activation is unknown.

    Examples
    --------
    >>> from cwndlab.gym import Layer
    >>> Layer([[1.0, -1.0]], [0.5], "relu")([0.5, 2.0])
    array([0.])
    """

    weights: Array
    bias: Array
    activation: str

    def __init__(self, weights: ArrayLike, bias: ArrayLike, activation: str = "tanh") -> None:
        object.__setattr__(self, "weights", np.array(weights, dtype=np.float64))
        object.__setattr__(self, "bias", np.array(bias, dtype=np.float64))
        object.__setattr__(self, "activation", activation)
        self._check(self.weights, self.bias)

    def _check(self, weights: Array, bias: Array) -> None:
        faults = []
        if weights.ndim != 2 or bias.shape != weights.shape[:1] or not weights.size:
            what = f"weights of shape {weights.shape} do not fit a bias of shape {bias.shape}"
            faults.append(Fault("layer", what, "weights have a row for each output, the bias a number"))
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            faults.append(Fault("layer", "a weight or a bias is not finite", "train with smaller steps"))
        if self.activation not in ACTIVATIONS:
            faults.append(unknown_name("activation", "activation", self.activation, ACTIVATIONS))
        if faults:
            raise ScenarioError(*faults)

    def __call__(self, values: ArrayLike) -> Array:
        """The outputs for inputs of shape (…, inputs)."""
        sums: Array = np.asarray(values, dtype=np.float64) @ self.weights.T + self.bias
        match self.activation:
            case "tanh":
                return np.tanh(sums)
            case "relu":
                return np.maximum(sums, 0)
            case _:
                return sums


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy: observation → (x − mean) / std → layers → one output, limited to [−1, 1] → action.

    Parameters
    ----------
    layers
        The layers, the first one with an input for each number of the observation, the last one with one output. Their
        sums are finite for every observation: larger weights are an error.
    observation
        What the policy observes.
    action
        What its output does.
    every
        When it decides: ``"rtt"``, ``"interval"`` or ``"ack"``.
    interval_ms
        The interval, with ``every="interval"``.
    mean, std
        Normalisation of the observation; none by default.

    Raises
    ------
    ScenarioError
        Parts do not fit each other; with every fault.

    Examples
    --------
    A policy without inputs that matter: it multiplies the window by 2^0.5 per RTT.

    >>> import numpy as np
    >>> from cwndlab.gym import Layer, Observation, Policy
    >>> policy = Policy([Layer(np.zeros((1, 5)), [0.5], "linear")], Observation("plain", history=1))
    >>> policy(np.zeros(5)).item()
    0.5
    >>> Policy.from_document(policy.to_document()).to_document() == policy.to_document()
    True
    """

    layers: Sequence[Layer]
    observation: Observation = field(default_factory=Observation)
    action: Action = field(default_factory=Action)
    every: str = "rtt"
    interval_ms: float = 10
    mean: Array | None = None
    std: Array | None = None

    def __post_init__(self) -> None:
        size = self.observation.size
        mean = np.zeros(size) if self.mean is None else np.array(self.mean, dtype=np.float64)
        std = np.ones(size) if self.std is None else np.array(self.std, dtype=np.float64)
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)
        faults = []
        if not self.layers:
            faults.append(Fault("layers", "are missing", "give one layer at least"))
        inputs = size
        for index, layer in enumerate(self.layers):
            if layer.weights.shape[1] != inputs:
                what = f"takes {layer.weights.shape[1]} numbers, and gets {inputs}"
                faults.append(Fault(f"layers[{index}]", what, "a layer takes the outputs of the one before it"))
            inputs = layer.weights.shape[0]
        if self.layers and inputs != 1:
            what = f"has {inputs} outputs, and an action takes 1"
            hint = "keep the row of the weights and the bias that decide"
            faults.append(Fault(f"layers[{len(self.layers) - 1}]", what, hint))
        if mean.shape != (size,) or std.shape != (size,):
            faults.append(Fault("normalisation", f"is not of {size} numbers", "one for each of the observation"))
        elif not (np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()):
            faults.append(Fault("normalisation", "is not finite, or a deviation not above 0", "use a deviation of 1"))
        if self.every not in EVERY:
            faults.append(unknown_name("every", "kind of decision", self.every, EVERY))
        if not 0 < self.interval_ms < np.inf:
            faults.append(Fault("interval_ms", f"'{self.interval_ms}' is not an interval", "write 10"))
        if not faults:
            faults = self._range_faults(mean, std)
        if faults:
            raise ScenarioError(*faults)

    def _range_faults(self, mean: Array, std: Array) -> list[Fault]:
        """The first part whose sums are not finite for every observation, by the bounds of the features."""
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = np.abs(self.observation.low - mean), np.abs(self.observation.high - mean)
            values = np.maximum(low, high) / std
            if not np.isfinite(values).all():
                return [Fault("normalisation", "a deviation is too small", "use a deviation of 1")]
            for index, layer in enumerate(self.layers):
                values = np.abs(layer.weights) @ values + np.abs(layer.bias)
                if not np.isfinite(values).all():
                    what = "exceeds the range of numbers for some observations"
                    return [Fault(f"layers[{index}]", what, "use smaller weights")]
        return []

    def __call__(self, observations: ArrayLike) -> Array:
        """The actions, of shape (…), for observations of shape (…, size)."""
        mean, std = self._normalisation
        values: Array = (np.asarray(observations, dtype=np.float64) - mean) / std
        for layer in self.layers:
            values = layer(values)
        actions: Array = np.clip(values[..., 0], -1, 1)
        return actions

    @property
    def _normalisation(self) -> tuple[Array, Array]:
        assert self.mean is not None
        assert self.std is not None
        return self.mean, self.std

    @property
    def algorithm(self) -> dict[str, Any]:
        """The entry in the table ``algorithms`` of a scenario.

        Examples
        --------
        >>> import numpy as np
        >>> from cwndlab.gym import Layer, Observation, Policy
        >>> policy = Policy([Layer(np.zeros((1, 5)), [0.0], "linear")], Observation("plain", history=1))
        >>> list(policy.algorithm)
        ['policy']
        """
        return {"policy": self.to_document()}

    def to_document(self) -> dict[str, Any]:
        """The policy as plain values."""
        mean, std = self._normalisation
        return {
            "schema_version": SCHEMA_VERSION,
            "observation": asdict(self.observation),
            "action": asdict(self.action),
            "every": self.every,
            "interval_ms": float(self.interval_ms),
            "normalisation": {"mean": mean.tolist(), "std": std.tolist()},
            "layers": [
                {"weights": layer.weights.tolist(), "bias": layer.bias.tolist(), "activation": layer.activation}
                for layer in self.layers
            ],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The policy of plain values, as `to_document` makes them.

        Raises
        ------
        ScenarioError
            It is of another version, or a part is missing, unknown or of a wrong kind.
        """
        version = document.get("schema_version") if isinstance(document, Mapping) else None
        if version != SCHEMA_VERSION:
            raise ScenarioError(
                Fault("schema_version", f"'{version}' is not {SCHEMA_VERSION}", "write the policy anew")
            )
        hint = "`Policy.save` writes all parts"
        if unknown := [str(part) for part in document if part not in _PARTS]:
            raise ScenarioError(*(Fault(part, "is no part of a policy", "leave it out") for part in unknown))
        try:
            return cls(
                layers=[Layer(**layer) for layer in document["layers"]],
                observation=Observation(**document["observation"]),
                action=Action(**document["action"]),
                every=document["every"],
                interval_ms=document["interval_ms"],
                mean=document["normalisation"]["mean"],
                std=document["normalisation"]["std"],
            )
        except KeyError as missing:
            raise ScenarioError(Fault(str(missing.args[0]), "is missing", hint)) from None
        except (AttributeError, TypeError, ValueError) as cause:
            raise ScenarioError(Fault("policy", f"cannot be read: {cause}", hint)) from None

    def save(self, path: str | Path) -> None:
        """Writes it as JSON; ``[algorithms.NAME] policy = "FILE"`` of a scenario takes it.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        try:
            Path(path).write_text(json_text(self.to_document()) + "\n", encoding="utf-8")
        except OSError as cause:
            raise OutputError(Fault(str(path), f"cannot be written ({cause.strerror})", "name another file")) from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads the file that `save` wrote.

        Raises
        ------
        ScenarioError
            It is missing, no JSON, or no policy.
        """
        text = text_of(Path(path), "name a file that `Policy.save` wrote")
        try:
            document = parsed(text)
        except ValueError as cause:
            raise ScenarioError(Fault(str(path), f"is no JSON ({cause})", "`Policy.save` writes it")) from None
        return cls.from_document(document)

"""examples/learn.py: the training repeats, and the shipped policy runs as an algorithm."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import cwndlab
import numpy as np
import pytest
from cwndlab.gym import Policy

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "examples" / "learned-policy.json"


@pytest.fixture(scope="module")
def learn() -> ModuleType:
    spec = importlib.util.spec_from_file_location("learn", ROOT / "examples" / "learn.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module there.
    sys.modules["learn"] = module
    spec.loader.exec_module(module)
    return module


def test_a_seed_repeats_the_training(learn: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "EPISODES", 2)
    lines: list[str] = []
    first, again = (learn.train(2, 1, lines.append).to_document() for _ in range(2))
    assert first == again
    assert len(lines) == 4
    assert learn.train(2, 2, lines.append).to_document() != first


def test_the_shipped_policy_keeps_queues_short_where_cubic_fills_them(learn: ModuleType) -> None:
    """On one path as in training, with a queue of two BDP: the reward that it was trained for."""
    paths = cwndlab.gym.LinkPaths(rate_mbps=12, rtt_ms=40, queue_bdp=2, loss=0.0)
    policy = Policy.load(SHIPPED)
    measured = {}
    for name in ("learned", "cubic"):
        document, episode = learn.scenario_of(paths, name, policy, 1)
        measured[name] = learn.measure(cwndlab.run(document, seed=1), episode)
    assert measured["learned"][0] > 0.7
    assert measured["learned"][1] < measured["cubic"][1]


def test_a_network_without_weights_keeps_the_window(learn: ModuleType) -> None:
    policy = learn.policy_of(np.zeros(learn.parameters()))
    assert policy(np.ones(learn.OBSERVATION.size)).item() == 0
    assert json.loads(json.dumps(policy.to_document()))["action"]["kind"] == "power-window"

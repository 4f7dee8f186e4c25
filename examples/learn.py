"""Trains a small policy for the congestion window, and compares it with other algorithms on held-out paths.

The policy is a network with one hidden layer. CMA-ES (N. Hansen, A. Ostermeier, Evolutionary Computation 9, 2001; the
package `cma`) searches its weights; it needs no gradients. The same episodes judge all candidates of a generation.

    .venv/bin/python examples/learn.py --train --out learned.json
    .venv/bin/python examples/learn.py --policy learned.json

The second command prints the comparison. It needs neither cma nor gymnasium.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
from cwndlab.gym import (
    Action,
    CellularPaths,
    CompetitionPaths,
    Episode,
    Episodes,
    Layer,
    LinkPaths,
    LogUniform,
    Observation,
    Paths,
    Policy,
    Uniform,
)

OBSERVATION = Observation("plain", history=1)
ACTION = Action("power-window", scale=2)
HIDDEN = 8
#: Policies per generation, and episodes that judge each of them.
CANDIDATES, EPISODES = 16, 32
#: What a policy is trained on: one flow alone on a link.
TRAINING = LinkPaths(round_trips=100)
#: Deviations of the features, so that inputs are of a similar size.
STD = np.tile([0.3, 1.0, 0.1, 1.0, 0.3], OBSERVATION.history)

OTHERS = ("cubic", "bbr3")
SHIPPED = Path(__file__).with_name("learned-policy.json")


def unpack(vectors: np.ndarray) -> list[np.ndarray]:
    """Weights and biases of both layers from vectors of shape (candidates, parameters)."""
    size = OBSERVATION.size
    shapes = [(HIDDEN, size), (HIDDEN,), (1, HIDDEN), (1,)]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(vectors, ends[:-1], axis=1)
    return [part.reshape(len(vectors), *shape) for part, shape in zip(parts, shapes, strict=True)]


def parameters() -> int:
    """The number of weights and biases."""
    return HIDDEN * (OBSERVATION.size + 1) + HIDDEN + 1


def policy_of(vector: np.ndarray) -> Policy:
    """The policy with these weights."""
    first, bias, second, last = (part[0] for part in unpack(vector[np.newaxis]))
    layers = [Layer(first, bias, "tanh"), Layer(second, last, "tanh")]
    return Policy(layers, OBSERVATION, ACTION, std=STD)


class Judge:
    """Runs candidates on paths: the score is the mean reward over time."""

    def __init__(self, paths: Paths, candidates: int, episodes: int) -> None:
        self._paths, self._candidates, self._episodes = paths, candidates, episodes
        self._simulations = Episodes(paths, candidates * episodes, observation=OBSERVATION, action=ACTION)
        self.steps = 0

    def scores(self, vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The score of each candidate on the same new episodes."""
        simulations = self._simulations
        drawn = [self._paths.sample(rng, simulations.algorithm) for _ in range(self._episodes)]
        for row in range(simulations.count):
            simulations.start_episode(row, drawn[row % self._episodes])
        first, bias, second, last = unpack(vectors)
        shape = (self._candidates, self._episodes)
        rewards, times = np.zeros(shape), np.zeros(shape)
        ended = np.zeros(simulations.count, dtype=bool)
        while not ended.all():
            inputs = (simulations.observations / STD).reshape(*shape, -1)
            hidden = np.tanh(inputs @ first.swapaxes(1, 2) + bias[:, np.newaxis])
            actions = np.tanh(hidden @ second.swapaxes(1, 2) + last[:, np.newaxis]).reshape(-1)
            reward, ended = simulations.step(actions)
            duration = np.where(ended, 0, simulations.intervals.duration)
            rewards += (reward * duration).reshape(shape)
            times += duration.reshape(shape)
            self.steps += int((~ended).sum())
        # One path with a deep queue must not outweigh all others.
        return np.maximum(rewards / np.maximum(times, 1e-9), -1).mean(axis=1)


def train(generations: int, seed: int, say: Callable[[str], object]) -> Policy:
    """The mean of the search's last distribution; the same for the same seed."""
    import cma

    options = {"popsize": CANDIDATES, "seed": seed, "verbose": -9, "maxiter": generations + 1}
    search = cma.CMAEvolutionStrategy(np.zeros(parameters()), 0.3, options)
    judge = Judge(TRAINING, CANDIDATES, EPISODES)
    rng = np.random.default_rng([1, seed])
    began, cpu = time.monotonic(), time.process_time()
    for generation in range(1, generations + 1):
        candidates = np.array(search.ask())
        scores = judge.scores(candidates, rng)
        search.tell(list(candidates), list(-scores))
        if generation % 25 == 0 or generation == generations:
            say(f"generation {generation:>4}: mean score {scores.mean():6.3f}, best {scores.max():6.3f}")
    wall, cpu = time.monotonic() - began, time.process_time() - cpu
    say(f"{judge.steps} steps in {wall:.0f} s, of which {cpu:.0f} s of CPU time: {judge.steps / cpu:.0f} steps/s")
    return policy_of(np.array(search.result.xfavorite))


@dataclass(frozen=True)
class Group:
    """Held-out paths of one kind."""

    name: str
    paths: Paths
    count: int


#: None of these seeds or ranges occurs in training, except the range of the first group.
GROUPS = (
    Group("alone, ranges of the training", TRAINING, 20),
    Group("alone, 100–200 Mbit/s, 150–300 ms", LinkPaths(rate_mbps=Uniform(100, 200), rtt_ms=Uniform(150, 300)), 10),
    Group("alone, random loss of 2–5 %", LinkPaths(loss=Uniform(0.02, 0.05)), 10),
    Group("alone, queue of 0.02–0.1 BDP", LinkPaths(queue_bdp=LogUniform(0.02, 0.1), loss=0.0), 10),
    Group("cellular traces", CellularPaths(), 10),
    Group("beside one CUBIC flow", CompetitionPaths(others="cubic", count=1, loss=0.0), 10),
    Group("beside one BBRv3 flow", CompetitionPaths(others="bbr3", count=1, loss=0.0), 10),
    Group("beside one flow of its own kind", CompetitionPaths(others="ITSELF", count=1, loss=0.0), 10),
)


def scenario_of(paths: Paths, algorithm: str, policy: Policy, seed: int) -> tuple[dict[str, Any], Episode]:
    """The same draw for each algorithm."""
    episode = paths.sample(np.random.default_rng([2, seed]), algorithm)
    document = json.loads(episode.document.replace("ITSELF", algorithm))
    if algorithm == "learned":
        document["algorithms"] = {"learned": policy.algorithm}
    return document, episode


def measure(records: cwndlab.Records, episode: Episode) -> tuple[float, float, float, float]:
    """Throughput by the fair share, queueing delay by the base RTT, loss ratio, and the plain reward of these."""
    flow = records.rows("flows")[0]
    seconds = float(episode.facts["duration_s"])
    share = flow["delivered_bytes"] / flow["mss_bytes"] / seconds / episode.fair_rate
    queueing = max((flow["mean_rtt_ns"] or 0) / 1e9 / episode.base_rtt - 1, 0)
    loss = (flow["queue_drops"] + flow["wire_losses"]) / max(flow["sent_packets"], 1)
    return share, queueing, loss, share - 0.25 * queueing - 2 * loss


def compare(policy: Policy) -> Iterator[str]:
    """The lines of the table."""
    names = ("learned", *OTHERS)
    jobs, episodes = [], []
    for group in GROUPS:
        for seed in range(group.count):
            for name in names:
                document, episode = scenario_of(group.paths, name, policy, seed)
                jobs.append((document, episode.seed))
                episodes.append(episode)
    results: list[Any] = [None] * len(jobs)
    for index, records in cwndlab.run_many(jobs):
        results[index] = measure(records, episodes[index])
    yield f"{'paths':<35}{'':>5}  " + "".join(f"{name:>23}" for name in names) + "   learned scores"
    yield f"{'':<35}{'runs':>5}  " + f"{'share  queue   loss':>23}" * len(names) + "   lower than"
    first = 0
    for group in GROUPS:
        block = np.array(results[first : first + group.count * len(names)]).reshape(group.count, len(names), 4)
        first += group.count * len(names)
        cells = "".join(f"{share:>9.2f}{queue:>7.2f}{loss:>7.3f}" for share, queue, loss, _ in block.mean(axis=0))
        lower = [f"{name} in {int((block[:, 0, 3] < block[:, 1 + i, 3]).sum())}" for i, name in enumerate(OTHERS)]
        yield f"{group.name:<35}{group.count:>5}  {cells}   {', '.join(lower)}"


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description="train a policy, or compare one on held-out paths")
    parser.add_argument("--train", action="store_true", help="train a policy and write it to --out")
    parser.add_argument("--generations", type=int, default=250, help="length of the training")
    parser.add_argument("--seed", type=int, default=1, help="seed of the search and of its paths")
    parser.add_argument("--out", type=Path, default=Path("learned.json"), help="the trained policy")
    parser.add_argument("--policy", type=Path, default=SHIPPED, help="the policy to compare")
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.generations, arguments.seed, print).save(arguments.out)
    else:
        for line in compare(Policy.load(arguments.policy)):
            print(line)


if __name__ == "__main__":
    main()

"""Environments of gymnasium: one simulation, and many side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.gym.actions import Action
from cwndlab.gym.episodes import Episodes
from cwndlab.gym.observations import Observation
from cwndlab.gym.paths import CellularPaths, CompetitionPaths, LinkPaths, Paths, TracePaths
from cwndlab.gym.rewards import Reward
from cwndlab.lazy import extra

with extra("learn"):
    from gymnasium import Env, register, registry, spaces
    from gymnasium.error import ClosedEnvironmentError, ResetNeeded
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

__all__ = ["CongestionEnv", "CongestionVectorEnv", "register_environments"]

Observed = NDArray[np.float32]

#: The registered environments with the class of their paths.
ENVIRONMENTS: dict[str, type[Paths]] = {
    "cwndlab/Link-v0": LinkPaths,
    "cwndlab/Competition-v0": CompetitionPaths,
    "cwndlab/Trace-v0": TracePaths,
    "cwndlab/Cellular-v0": CellularPaths,
}


def spaces_of(observation: Observation) -> tuple[Any, Any]:
    """The spaces of observations and actions."""
    low, high = (bound.astype(np.float32) for bound in (observation.low, observation.high))
    return spaces.Box(low, high, dtype=np.float32), spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)


def _reject_closed(is_closed: bool) -> None:
    if is_closed:
        raise ClosedEnvironmentError("the environment is closed: make another one")


class CongestionEnv(Env[Observed, NDArray[np.float32]]):
    """The window of one flow: each step is one decision.

    An episode ends by truncation, at the end of its scenario; nothing terminates it. ``info`` has the numbers of
    `Episodes.measured`, and after a reset also ``path``, what was drawn. A step without an episode raises
    ``gymnasium.error.ResetNeeded``, a call after `close` ``gymnasium.error.ClosedEnvironmentError``.

    Parameters
    ----------
    paths
        The distribution of scenarios.
    observation, reward, action, every, interval_ms
        As in `Episodes`.

    Examples
    --------
    >>> from cwndlab.gym import CongestionEnv, LinkPaths
    >>> environment = CongestionEnv(LinkPaths(rate_mbps=12, rtt_ms=20))
    >>> observation, info = environment.reset(seed=1)
    >>> observation.shape, info["path"]["rate_mbps"]
    ((20,), 12.0)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 — gymnasium declares it so

    def __init__(
        self,
        paths: Paths | None = None,
        *,
        observation: str | Observation = "plain",
        reward: str | Reward = "plain",
        action: str | Action = "power-window",
        every: str = "rtt",
        interval_ms: float = 10,
    ) -> None:
        self._episodes = Episodes(
            LinkPaths() if paths is None else paths,
            observation=observation,
            reward=reward,
            action=action,
            every=every,
            interval_ms=interval_ms,
        )
        self.observation_space, self.action_space = spaces_of(self._episodes.observation)
        self._closed = False
        # A view of what the engine writes.
        self._features = self._episodes.observations[0]
        # Why a step needs a reset before; empty while an episode runs.
        self._needs_reset = "no episode has begun"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Starts another episode; ``options`` has no effect."""
        _reject_closed(self._closed)
        super().reset(seed=seed, options=options)
        episode = self._episodes.start(0, self.np_random)
        self._needs_reset = ""
        return self._observation(), {**self._info(), "path": dict(episode.facts)}

    def step(self, action: NDArray[np.float32]) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        """Applies the action and runs to the next decision."""
        _reject_closed(self._closed)
        if self._needs_reset:
            raise ResetNeeded(f"{self._needs_reset}: call reset() before step()")
        rewards, ended = self._episodes.step(np.reshape(action, -1))
        is_over: bool = ended.item(0)
        if is_over:
            self._needs_reset = "the episode has ended"
        return self._observation(), rewards.item(0), False, is_over, self._info()

    def close(self) -> None:
        """Ends the use of the environment."""
        self._closed = True
        super().close()

    def _observation(self) -> Observed:
        observation: Observed = self._features.astype(np.float32)
        return observation

    def _info(self) -> dict[str, Any]:
        return self._episodes.measured_of(0)


class CongestionVectorEnv(VectorEnv[Observed, NDArray[np.float32], NDArray[Any]]):
    """n environments in one process, with one call of the engine per step.

    Where an episode has ended, the next step ignores the action and starts another one (``AutoresetMode.NEXT_STEP``).
    ``reset(seed=s)`` seeds them by s, s + 1, …. ``info`` has what that of `CongestionEnv` has, in arrays. A step before
    the first reset raises ``gymnasium.error.ResetNeeded``, a call after `close`
    ``gymnasium.error.ClosedEnvironmentError``.

    Parameters
    ----------
    num_envs
        n.
    paths
        The distribution of scenarios.
    observation, reward, action, every, interval_ms
        As in `Episodes`.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import CongestionVectorEnv, LinkPaths
    >>> environments = CongestionVectorEnv(8, LinkPaths(rate_mbps=12, rtt_ms=20))
    >>> observations, _ = environments.reset(seed=1)
    >>> observations, rewards, _, truncated, _ = environments.step(np.zeros((8, 1), np.float32))
    >>> observations.shape, rewards.shape, truncated.any().item()
    ((8, 20), (8,), False)
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        paths: Paths | None = None,
        *,
        observation: str | Observation = "plain",
        reward: str | Reward = "plain",
        action: str | Action = "power-window",
        every: str = "rtt",
        interval_ms: float = 10,
    ) -> None:
        self.num_envs = num_envs
        self._episodes = Episodes(
            LinkPaths() if paths is None else paths,
            num_envs,
            observation=observation,
            reward=reward,
            action=action,
            every=every,
            interval_ms=interval_ms,
        )
        self.single_observation_space, self.single_action_space = spaces_of(self._episodes.observation)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators: list[np.random.Generator] = []
        self._ended = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Starts another episode of each; ``options`` has no effect. Of several seeds there is one for each
        environment; ``None`` keeps its random numbers, as gymnasium specifies."""
        _reject_closed(self.closed)
        seeds = self._seeds(seed)
        before: Sequence[np.random.Generator | None] = self._generators or [None] * self.num_envs
        self._generators = [
            seeding.np_random(one)[0] if kept is None or one is not None else kept
            for one, kept in zip(seeds, before, strict=True)
        ]
        facts = {row: self._episodes.start(row, one).facts for row, one in enumerate(self._generators)}
        self._ended[:] = False
        return self._observations(), self._infos(facts)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """A seed for each environment."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Integral):
            return [int(seed) + row for row in range(self.num_envs)]
        if not isinstance(seed, Sequence | np.ndarray):
            what = f"{seed!r} is not an integer"
            raise ArgumentError(parameter_fault("seed", what, hint="give one number, or one for each environment"))
        if len(seed) != self.num_envs:
            what = f"there are {len(seed)} seeds for {self.num_envs} environments"
            raise ArgumentError(parameter_fault("seed", what, hint="give one number, or one for each environment"))
        return seed

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observed, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Applies the actions, or starts episodes where the last one has ended."""
        _reject_closed(self.closed)
        if not self._generators:
            raise ResetNeeded("no episode has begun: call reset() before step()")
        restarted: list[int] = np.flatnonzero(self._ended).tolist()
        rewards, ended = self._episodes.step(np.reshape(actions, -1))
        facts = {row: self._episodes.start(row, self._generators[row]).facts for row in restarted}
        ended[restarted] = False
        self._ended = ended
        none = np.zeros(self.num_envs, dtype=bool)
        return self._observations(), rewards, none, ended.copy(), self._infos(facts)

    def _infos(self, facts: Mapping[int, Mapping[str, float | str]]) -> dict[str, Any]:
        """The numbers of `Episodes.measured`, and what was drawn for the episodes that have begun: as gymnasium has
        them, an array of each with a mask of the environments that have it."""
        infos: dict[str, Any] = {}
        for name, values in self._episodes.measured().items():
            infos |= {name: values, f"_{name}": np.ones(self.num_envs, dtype=bool)}
        for row, drawn in facts.items():
            infos = self._add_info(infos, {"path": dict(drawn)}, row)
        return infos

    def _observations(self) -> Observed:
        return self._episodes.observations.astype(np.float32)


def _make(paths: type[Paths], arguments: dict[str, Any]) -> tuple[Paths, dict[str, Any]]:
    """Paths of a class from those arguments that are fields of it, and the other arguments."""
    names = set(getattr(paths, "__dataclass_fields__", ()))
    mine = {name: value for name, value in arguments.items() if name in names}
    return paths(**mine), {name: value for name, value in arguments.items() if name not in names}


def make_environment(name: str, **arguments: Any) -> CongestionEnv:
    """The environment of a registered name; arguments are those of its paths and of `CongestionEnv`."""
    paths, others = _make(ENVIRONMENTS[name], arguments)
    return CongestionEnv(others.pop("paths", paths), **others)


def make_environments(name: str, num_envs: int = 1, **arguments: Any) -> CongestionVectorEnv:
    """The vectorised environment of a registered name."""
    paths, others = _make(ENVIRONMENTS[name], arguments)
    return CongestionVectorEnv(num_envs, others.pop("paths", paths), **others)


def register_environments() -> None:
    """Registers ``cwndlab/Link-v0``, ``Competition-v0``, ``Trace-v0`` and ``Cellular-v0`` with gymnasium.

    ``import cwndlab.gym`` does so where gymnasium is installed.

    Examples
    --------
    >>> import gymnasium, cwndlab
    >>> cwndlab.gym.register_environments()
    >>> "cwndlab/Link-v0" in gymnasium.registry
    True
    """
    for name in ENVIRONMENTS:
        if name not in registry:
            register(
                name,
                entry_point="cwndlab.gym.environments:make_environment",
                vector_entry_point="cwndlab.gym.environments:make_environments",
                kwargs={"name": name},
            )

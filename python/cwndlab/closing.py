"""What a ``with`` block closes at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Is closed at the end of its ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Releases what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

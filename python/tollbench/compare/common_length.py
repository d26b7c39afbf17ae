"""How long a counted launch is: all sides do the same work, as much as takes none of them long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tollbench.launching.answers import understood
from tollbench.launching.failure import LaunchFailed


@dataclass
class CommonLength:
    """Of each benchmark; each side is tried once. One that fails costs the others nothing."""

    _found: dict[tuple[str, str], int | str] = field(default_factory=dict)  # by side and benchmark

    def of(self, asking: str, name: str, sides: Iterable[str], trial: Callable[[str], int]) -> int:
        """What the shortest of `sides` can do, by their labels. Raises LaunchFailed where `asking` fails."""
        for side in dict.fromkeys((asking, *sides)):
            if (side, name) not in self._found:
                self._found[side, name] = _tried(trial, side)
        own = self._found[asking, name]
        if isinstance(own, str):
            raise LaunchFailed(own)
        lengths = [self._found[side, name] for side in sides]
        return min([own, *(each for each in lengths if isinstance(each, int))])


def _tried(trial: Callable[[str], int], side: str) -> int | str:
    """How much a side can do, or why it cannot be counted."""
    try:
        with understood("told counts that make no sense"):
            return trial(side)
    except OSError as error:  # a stranger may put anything in the place of a file with counts
        return f"left counts that cannot be read: {error.strerror}"
    except LaunchFailed as failure:
        return failure.reason

"""Files of one run come to their places together: none before all of them are on the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from tollbench.writing.whole import whole

Content = Callable[[], bytes]


def place_together(files: Sequence[tuple[Path, Content]]) -> None:
    """Writes each file, over what was there; the last one named comes to its place last. Raises OSError.

    A full disk is met before anything is replaced, so that a run that was there stays as it was: with some
    tables of more launches than the others, joined questions would answer what nobody measured.
    """
    with ExitStack() as begun:
        _begin(begun, files[-1])  # left last
        if others := files[:-1]:
            with ThreadPoolExecutor(len(others)) as pool:  # each waits for the disk
                list(pool.map(partial(_begin, begun), others))


def _begin(begun: ExitStack, named: tuple[Path, Content]) -> None:
    """Brings it to the disk under a name of its own; leaving `begun` gives it its place."""
    path, content = named
    text = content()
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = whole(path, lambda *_: None, of_user=False)
        with suppress(FileNotFoundError):  # compacting removes folders that are empty
            file = writing.__enter__()
            begun.push(writing)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            return

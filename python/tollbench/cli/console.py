"""Progress and lines on standard error; standard output is for results alone.

All that verbs print goes through here: names of files, folders and benchmarks come from outside, and may
hold what steers a terminal.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tollbench.errors import Exit, TollError
from tollbench.text import clean, escaped, visible

# Where there is no terminal to redraw: a line after so many seconds, then each time that six times as long
# has passed, so that a log of three minutes has three of them; and at least one in so many seconds.
PLAIN_FIRST_S = 5.0
PLAIN_TIMES = 6.0
PLAIN_EVERY_S = 120.0

_said_lines = 0


@contextmanager
def telling_what_is_kept(again: str, code: Exit = Exit.INTERRUPTED) -> Iterator[None]:
    """Who interrupts once nothing more is measured is told where all of it is, and not to start again.

    Raises TollError with that `code`; `again` is the command that shows it.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        by = f" by {interrupt.args[0]}" if interrupt.args else ""
        raise TollError(f"interrupted{by}; all that was measured is kept", again, code) from None


def say(text: str) -> None:
    """One line to whoever watches, or several."""
    global _said_lines
    shown = visible(text)
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else math.inf
    _said_lines += sum(max(1, math.ceil(len(line) / width)) for line in shown.splitlines())
    print(shown, file=sys.stderr, flush=True)


def said_lines() -> int:
    """How many lines of its watcher's screen `say` has taken since the program began."""
    return _said_lines


def tell(text: str, end: str = "\n") -> None:
    """One line of a result, or several."""
    print(visible(text), end=end, flush=True)


def tell_json(document: str) -> None:
    """A result for programs; in a terminal it is text like any other."""
    tell_document(escaped(document))


def tell_document(document: str) -> None:
    """A page, a table or the like, in UTF-8 whatever the locale is.

    It says so of itself, or programs take it for granted; a page's script must be the one that it names.
    """
    text = document if document.endswith("\n") else f"{document}\n"
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="replace"))
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


def tell_as_json(value: Any) -> None:
    """The same for what is no document yet."""
    tell_json(json.dumps(value, indent=2, ensure_ascii=False))


class Progress:
    """What a stage reports to: `step` as often as it likes."""

    def __init__(self, title: str) -> None:
        self.title = title

    def step(self, done: float, total: float, what: str = "", left_s: float | None = None) -> None:
        """`done` of `total` in any unit; `left_s` where the stage knows better than extrapolation."""


class _Plain(Progress):
    """A line now and then, rarer and rarer, for logs and pipes."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._started = time.monotonic()
        self._due = self._started + PLAIN_FIRST_S

    def step(self, done: float, total: float, what: str = "", left_s: float | None = None) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + min(PLAIN_EVERY_S, (PLAIN_TIMES - 1.0) * (now - self._started))
        if left_s is None and done > 0:
            left_s = (now - self._started) * (total - done) / done
        share = f"{done / total:4.0%}" if total else ""
        left = f", about {left_s:.0f} s left" if left_s is not None else ""
        say(f"{self.title} {share}{left}  {what}".rstrip())


class _Bar(Progress):
    """A bar that is redrawn in place, with the time left."""

    def __init__(self, title: str, after_s: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        super().__init__(title)
        self._started = time.monotonic()
        self.rich = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}  {task.fields[what]}", markup=False),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # a file must get what is written to it
        )
        self._after_s = after_s
        self._shown = False
        self._task = self.rich.add_task(title, total=None, left="", what="")

    def show(self) -> None:
        """From now on the bar is seen."""
        if not self._shown:
            self._shown = True
            self.rich.start()

    def hide(self) -> None:
        """Takes the bar away."""
        if self._shown:
            self.rich.stop()

    def step(self, done: float, total: float, what: str = "", left_s: float | None = None) -> None:
        if time.monotonic() - self._started >= self._after_s:
            self.show()
        if left_s is None and done > 0:
            left_s = (time.monotonic() - self._started) * (total - done) / done
        left = f"{clock_time(left_s)} left" if left_s is not None else ""
        room = max(self.rich.console.width - 60, 0)
        self.rich.update(self._task, completed=done, total=total, left=left, what=clean(what)[:room])


@contextmanager
def progress(title: str, after_s: float = 0.0) -> Iterator[Progress]:
    """A bar on a terminal, a line every few seconds elsewhere; what ends within `after_s` shows no bar."""
    if not sys.stderr.isatty():
        yield _Plain(title)
        return
    bar = _Bar(title, after_s)
    if not after_s:
        bar.show()
    try:
        yield bar
    finally:
        bar.hide()


def clock_time(seconds: float) -> str:
    """75 -> "1:15", 3700 -> "1:01:40"."""
    whole = max(round(seconds), 0)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"

"""Where hardly a process can be started, CMake is not: it would kill all that its user may kill."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tollbench.building import configuring
from tollbench.building.configuring import configure
from tollbench.building.room_for_processes import FEWEST, check_room_for_processes
from tollbench.errors import TollError
from tollbench.words import Toolset


def refusing_after(count: int, monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """As the kernel does; what was started before."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        if len(started) == count:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(real(*words, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def test_nothing_is_configured_where_processes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuring, "run_tool", lambda *_words, **_options: pytest.fail("started"))
    started = refusing_after(FEWEST - 1, monkeypatch)
    with pytest.raises(TollError, match="only 15 more processes can be started") as refused:
        configure(tmp_path, tmp_path, Toolset(), lambda _line: None)
    assert "ulimit -u" in refused.value.next_step
    assert all(process.returncode is not None for process in started)


def test_where_there_is_room_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    started = refusing_after(FEWEST, monkeypatch)
    check_room_for_processes()
    assert len(started) == FEWEST
    assert all(process.returncode is not None for process in started)

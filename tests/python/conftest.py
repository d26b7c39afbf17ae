"""What all tests share: a copy of the checkout to work in, toll as a process, and which tests run."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import wheels
from hypothesis import settings

import forked_toll
from checkouts import Toll, copy_checkout

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# An example that takes 200 ms tells of a busy machine, not of a fault.
settings.register_profile("toll", deadline=None)
settings.load_profile("toll")


# `stats`, and what simulates runs with the code that says which batches count, allocates rounds, and tells
# what they will know.
SIMULATIONS = {
    Path(__file__).with_name("stats"),
    Path(__file__).parent / "analysis/test_analysis_own_core.py",
    Path(__file__).parent / "measure/test_measure_allocation.py",
    Path(__file__).parent / "measure/test_measure_estimate.py",
}


def pytest_configure(config: pytest.Config) -> None:
    """What all processes that tests start inherit."""
    _heed_ctrl_c()
    _find_python_itself(config)
    config.add_cleanup(forked_toll.end_all)


def _heed_ctrl_c() -> None:
    """Tests send Ctrl-C to programs, which inherit it ignored where a script runs this in its background."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _find_python_itself(config: pytest.Config) -> None:
    """Fake programs start with `env python3`, thousands of times.

    With pyenv that is a script which looks for Python: 120 ms of CPU time for each start, not 15.
    """
    folder = tempfile.TemporaryDirectory(prefix="toll-python3-")
    config.add_cleanup(folder.cleanup)
    Path(folder.name, "python3").symlink_to(vars(sys)["_base_executable"])
    os.environ["PATH"] = f"{folder.name}{os.pathsep}{os.environ['PATH']}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Which tests run, and in which order."""
    asked_for = str(config.getoption("-m"))
    # Simulations of minutes run only when asked for: `pytest -m slow tests/python/stats`, for one.
    if "slow" not in asked_for:
        _leave_out(config, items, lambda item: _marked(item, "slow") and _simulates(item))
    if "proof" not in asked_for:
        _leave_out(config, items, lambda item: _marked(item, "proof"))
    _longest_first(items)


def _marked(item: pytest.Item, name: str) -> bool:
    return item.get_closest_marker(name) is not None


def _simulates(item: pytest.Item) -> bool:
    return bool(SIMULATIONS & {item.path, *item.path.parents})


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], unwanted: Callable[[pytest.Item], bool]
) -> None:
    if left_out := [item for item in items if unwanted(item)]:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _longest_first(items: list[pytest.Item]) -> None:
    """Files with slow tests, then those with many: a long one that begins last is waited for by all."""
    slow = {item.path for item in items if _marked(item, "slow")}
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -count[item.path], item.path))


@pytest.fixture(autouse=True)
def noise_by_launch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins of a test draw the same noise each time that it runs (compare/fake_noise.py)."""
    monkeypatch.setenv("TOLL_FAKE_LAUNCHES", str(tmp_path_factory.mktemp("noise") / "launches"))


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, in a folder with a space in its name. Tests leave its suites alone."""
    return copy_checkout(tmp_path_factory.mktemp("a checkout") / "toll")


@pytest.fixture(scope="session")
def toll(checkout: Path) -> Toll:
    """`toll("list", "--json")` runs the copy's command line and returns the finished process."""
    return forked_toll.forked_toll(checkout)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel."""
    return wheels.built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment_with_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python environment in which the wheel is installed; `wheels.toll` runs its command."""
    return wheels.installed(wheel, tmp_path_factory.mktemp("installed") / "a venv")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a worker, as Playwright begins but once in a process.

    Without Debian's chromium they fail and say how to install it.
    """
    import screenshot  # beside the tests that ask for this

    if not screenshot.CHROMIUM.exists():
        pytest.fail(f"{screenshot.CHROMIUM} is missing; install it with: {screenshot.INSTALL}")
    with screenshot.browser() as opened:
        yield opened

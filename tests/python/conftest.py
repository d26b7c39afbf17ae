"""What all tests share: a copy of the checkout to work in, toll as a process, and which tests run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import wheels
from hypothesis import settings

from checkouts import Toll, copy_checkout, toll_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# An example that takes 200 ms tells of a busy machine, not of a fault.
settings.register_profile("toll", deadline=None)
settings.load_profile("toll")


# `stats`, and what simulates runs with the code that allocates their rounds.
SIMULATIONS = {
    Path(__file__).with_name("stats"),
    Path(__file__).parent / "measure/test_measure_allocation.py",
}


def pytest_configure() -> None:
    """Tests send Ctrl-C to programs, which inherit it ignored where a script runs this in its background."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Simulations of minutes run only when asked for: `pytest -m slow tests/python/stats`, for one."""
    if "slow" in str(config.getoption("-m")):
        return
    left_out = [
        item
        for item in items
        if SIMULATIONS & {item.path, *item.path.parents} and item.get_closest_marker("slow")
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, in a folder with a space in its name. Tests leave its suites alone."""
    return copy_checkout(tmp_path_factory.mktemp("a checkout") / "toll")


@pytest.fixture(scope="session")
def toll(checkout: Path) -> Toll:
    """`toll("list", "--json")` runs the copy's command line and returns the finished process."""
    return toll_in(checkout)


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

"""What all tests share: a copy of the checkout to work in, and toll as a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from checkouts import Toll, copy_checkout, toll_in

# An example that takes 200 ms tells of a busy machine, not of a fault.
settings.register_profile("toll", deadline=None)
settings.load_profile("toll")


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, in a folder with a space in its name. Tests leave its suites alone."""
    return copy_checkout(tmp_path_factory.mktemp("a checkout") / "toll")


@pytest.fixture(scope="session")
def toll(checkout: Path) -> Toll:
    """`toll("list", "--json")` runs the copy's command line and returns the finished process."""
    return toll_in(checkout)

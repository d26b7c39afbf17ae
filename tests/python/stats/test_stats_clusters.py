"""Groups of CPUs found in grids whose structure is known, over many seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tollbench.stats.grid_groups import Level, find_clusters

Grid = NDArray[np.float64]
SEEDS = 60


@dataclass(frozen=True)
class Machine:
    """`levels` from the inside: (members of a group of the next finer level, ns inside)."""

    name: str
    levels: tuple[tuple[int, float], ...]

    @property
    def cpus(self) -> int:
        return int(np.prod([members for members, _ in self.levels]))

    def clean(self) -> Grid:
        """The grid without noise, CPUs of a group beside each other."""
        size, grid = 1, np.full((1, 1), np.nan)
        for members, inside in self.levels:
            grown = np.full((size * members, size * members), inside)
            for member in range(members):
                here = slice(member * size, (member + 1) * size)
                grown[here, here] = grid
            size, grid = size * members, grown
        return grid

    def groups(self) -> list[set[frozenset[int]]]:
        """The groups of each level that there is to find, coarsest first."""
        found, size = [], 1
        for members, _ in self.levels[:-1]:
            size *= members
            found.append({frozenset(range(at, at + size)) for at in range(0, self.cpus, size)})
        return found[::-1]


MACHINES = (
    Machine("four cores of two threads", ((2, 12.0), (4, 45.0))),
    Machine("eight cores of two threads", ((2, 8.0), (8, 40.0))),
    Machine("two complexes", ((8, 24.0), (2, 92.0))),
    Machine("two complexes, close", ((6, 40.0), (2, 60.0))),
    Machine("siblings in two complexes", ((2, 10.0), (4, 24.0), (2, 92.0))),
    Machine("two sockets", ((2, 8.0), (12, 48.0), (2, 141.0))),
    Machine("complexes in two sockets", ((2, 8.0), (4, 25.0), (4, 110.0), (2, 260.0))),
)


def large_ones_slow(machines: Iterable[Machine]) -> list[Any]:
    """As parameters: a large one takes ten seconds for each kind of trouble."""
    return [pytest.param(each, marks=pytest.mark.slow if each.cpus > 16 else ()) for each in machines]


FLAT = tuple(Machine(f"{cpus} alike", ((cpus, 46.0),)) for cpus in (3, 4, 6, 8, 16, 32, 64))


def noisy(
    grid: Grid, rng: np.random.Generator, noise: float = 0.05, outliers: float = 0.0, missing: float = 0.0
) -> Grid:
    """Both directions of a pair measured on their own; an outlier was interrupted and takes three times as
    long, in both directions, as the two are measured close to each other more often than not."""
    out = grid * np.exp(noise * rng.normal(size=grid.shape))
    pairs = np.triu(rng.random(grid.shape) < outliers, 1)
    out[pairs | pairs.T] *= 3.0
    gone = np.triu(rng.random(grid.shape) < missing, 1)
    out[gone | gone.T] = np.nan
    return out


def found(levels: Sequence[Level]) -> list[set[frozenset[int]]]:
    return [{frozenset(group) for group in level.groups} for level in levels]


def levels_of(grid: Grid) -> list[set[frozenset[int]]]:
    clusters = find_clusters(grid)
    assert clusters is not None
    return found(clusters.levels)


def share_right(machine: Machine, **trouble: float) -> float:
    right = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        right += levels_of(noisy(machine.clean(), rng, **trouble)) == machine.groups()
    share = right / SEEDS
    print(f"{machine.name}, {trouble or 'noise of 5 %'}: {share:.0%} right")
    return share


@pytest.mark.parametrize("machine", large_ones_slow(MACHINES), ids=lambda machine: machine.name)
def test_levels_are_found_under_noise(machine: Machine) -> None:
    assert share_right(machine) == 1.0
    assert share_right(machine, noise=0.08) >= 0.95


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_interrupted_cells_do_not_hide_a_level(machine: Machine) -> None:
    """Where a sibling pair's only cell was hit nothing can bring it back: such a grid is not asked for."""
    siblings = machine.levels[0][0] == 2
    right = asked = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        clean = machine.clean()
        grid = noisy(clean, rng, outliers=0.03)
        pairs = [grid[at, at + 1] < 2 * clean[at, at + 1] for at in range(0, machine.cpus, 2)]
        if siblings and not all(pairs):
            continue
        asked += 1
        right += levels_of(grid) == machine.groups()
    print(f"{machine.name}, 3 % of the cells three times as long: {right} of {asked} right")
    assert asked > SEEDS / 6
    assert right >= 0.9 * asked


@pytest.mark.parametrize(
    "machine",
    large_ones_slow(each for each in MACHINES if each.cpus >= 16),
    ids=lambda machine: machine.name,
)
def test_missing_cells_do_not_hide_a_level(machine: Machine) -> None:
    """What a machine with many CPUs measures: a sample of the pairs, every sibling pair among them."""
    right = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        full = noisy(machine.clean(), rng)
        grid = noisy(full, rng, noise=0.0, missing=0.3)
        near = np.abs(np.subtract.outer(np.arange(machine.cpus), np.arange(machine.cpus))) == 1
        grid[near] = full[near]
        right += levels_of(grid) == machine.groups()
    print(f"{machine.name}, 30 % of the pairs not measured: {right / SEEDS:.0%} right")
    assert right >= 0.9 * SEEDS


@pytest.mark.parametrize(
    "noise", [pytest.param(noise, marks=pytest.mark.slow) for noise in (0.02, 0.1, 0.2)] + [0.05]
)
def test_a_flat_grid_is_one_group(noise: float) -> None:
    """False splits of flat grids: of 420 grids a noise level, none may be split but by rare chance."""
    split = 0
    for machine in FLAT:
        for seed in range(SEEDS):
            split += bool(levels_of(noisy(machine.clean(), np.random.default_rng(seed), noise=noise)))
    total = len(FLAT) * SEEDS
    print(f"flat grids with noise of {noise:.0%}: {split} of {total} split")
    assert split <= 0.01 * total


@pytest.mark.parametrize("direction", [3.0, pytest.param(1 / 3, marks=pytest.mark.slow)])
def test_outliers_alone_make_no_groups(direction: float) -> None:
    split = 0
    for machine in FLAT[2:]:
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            grid = noisy(machine.clean(), rng)
            pairs = np.triu(rng.random(grid.shape) < 0.02, 1)
            grid[pairs | pairs.T] *= direction
            split += bool(levels_of(grid))
    total = len(FLAT[2:]) * SEEDS
    print(f"flat grids with 2 % of the cells x {direction:.2g}: {split} of {total} split")
    assert split <= 0.02 * total


def test_distance_that_grows_smoothly_is_no_group() -> None:
    """A mesh of cores, as in the Arm servers of 2022: neighbours are near, but there is no border."""
    for side in (4, 6, 8):
        at = np.array([(x, y) for x in range(side) for y in range(side)])
        hops = np.abs(at[:, None, :] - at[None, :, :]).sum(axis=2)
        for seed in range(10):
            grid = noisy(30.0 + 2.0 * hops, np.random.default_rng(seed), noise=0.03)
            assert levels_of(grid) == []


def test_near_neighbours_on_a_ring_are_no_groups() -> None:
    """Each CPU is close to the one before and the one after: any pairing leaves as many close pairs out."""
    for cpus in (16, 32, 48):
        at = np.arange(cpus)
        apart = np.abs(at[:, None] - at[None, :])
        ring = np.where(np.minimum(apart, cpus - apart) == 1, 10.0, 50.0)
        for seed in range(10):
            assert levels_of(noisy(ring, np.random.default_rng(seed))) == []


def test_a_slow_core_is_no_group_of_the_others() -> None:
    grid = Machine("", ((12, 40.0),)).clean()
    grid[5, :] *= 1.2
    grid[:, 5] *= 1.2
    for seed in range(20):
        assert levels_of(noisy(grid, np.random.default_rng(seed), noise=0.02)) == []


def test_a_core_that_stands_apart_is_told() -> None:
    grid = Machine("", ((9, 24.0),)).clean()
    grid[8, :8] = grid[:8, 8] = 92.0
    clusters = find_clusters(noisy(grid, np.random.default_rng(1)))
    assert clusters is not None
    (level,) = clusters.levels
    assert level.groups == (tuple(range(8)),)
    assert level.others == (8,)


EQUAL_DIES = (
    Machine("of four", ((4, 50.0), (2, 100.0))),
    Machine("of eight", ((8, 50.0), (2, 100.0))),
    Machine("of four cores of two threads", ((2, 10.0), (4, 50.0), (2, 100.0))),
)


@pytest.mark.parametrize("slower", [0.1, 0.2])
@pytest.mark.parametrize("machine", EQUAL_DIES, ids=lambda machine: machine.name)
def test_equal_dies_are_named_alike_though_others_use_one_of_them(machine: Machine, slower: float) -> None:
    """The quiet one alone was a group, and the other one left among the others, in pairs of its own."""
    half = machine.cpus // 2
    dies = {frozenset(range(half)), frozenset(range(half, machine.cpus))}
    alike = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        grid = noisy(machine.clean(), rng, noise=0.02)
        grid[half:, half:] *= np.exp(np.abs(rng.normal(0.0, slower, (half, half))))
        alike += levels_of(grid)[:1] == [dies]
    print(f"{machine.name}, one die slower by {slower:.0%}: {alike / SEEDS:.0%} alike")
    assert alike >= 0.9 * SEEDS


def test_an_odd_core_beside_two_dies_is_in_neither() -> None:
    grid = np.pad(EQUAL_DIES[0].clean(), (0, 1), constant_values=150.0)
    for seed in range(SEEDS):
        assert levels_of(noisy(grid, np.random.default_rng(seed), noise=0.02))[-1] == {
            frozenset(range(4)),
            frozenset(range(4, 8)),
        }


def test_cores_that_are_slower_among_themselves_are_a_group() -> None:
    """Four small cores behind one port, as in Intel's hybrids: 50 ns inside, 40 ns to all others."""
    grid = Machine("", ((2, 4.0), (8, 36.0))).clean()
    grown = np.full((24, 24), 40.0)
    grown[:16, :16] = grid
    for start in (16, 20):
        grown[start : start + 4, start : start + 4] = 50.0
    for seed in range(20):
        levels = levels_of(noisy(grown, np.random.default_rng(seed), noise=0.01))
        assert levels[0] == {frozenset(range(16, 20)), frozenset(range(20, 24))}
        assert levels[1] == {frozenset((at, at + 1)) for at in range(0, 16, 2)}


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_the_numbering_of_cpus_changes_nothing(machine: Machine) -> None:
    rng = np.random.default_rng(5)
    grid = noisy(machine.clean(), rng)
    before = find_clusters(grid)
    assert before is not None
    for _ in range(5):
        order = rng.permutation(machine.cpus)
        after = find_clusters(grid[np.ix_(order, order)])
        assert after is not None
        renamed = [
            {frozenset(int(order[cpu]) for cpu in group) for group in level} for level in found(after.levels)
        ]
        assert renamed == found(before.levels)
        times = [(level.inside, level.across) for level in after.levels]
        assert np.allclose(times, [(level.inside, level.across) for level in before.levels])


def test_levels_tell_their_times() -> None:
    clusters = find_clusters(Machine("", ((2, 10.0), (4, 24.0), (2, 92.0))).clean())
    assert clusters is not None
    assert [(round(one.inside), round(one.across)) for one in clusters.levels] == [(24, 92), (10, 24)]


def test_one_direction_is_enough() -> None:
    grid = np.tril(MACHINES[4].clean(), -1)
    grid[grid == 0] = np.nan
    assert levels_of(grid) == MACHINES[4].groups()


def test_two_cpus_have_nothing_to_tell_apart() -> None:
    assert levels_of(np.array([[np.nan, 60.0], [61.0, np.nan]])) == []


def test_nothing_measured_is_none() -> None:
    assert find_clusters(np.full((4, 4), np.nan)) is None
    assert find_clusters(np.empty((0, 0))) is None
    assert find_clusters(np.array([[1.0]])) is None


def test_what_is_not_positive_is_not_measured() -> None:
    grid = MACHINES[2].clean()
    grid[0, 1] = 0.0
    grid[1, 0] = -3.0
    grid[2, 3] = np.inf
    assert levels_of(grid) == MACHINES[2].groups()

"""The order of CPUs on machines laid out by the tests."""

from __future__ import annotations

from pathlib import Path

from tollbench.catalog.topology import CPU_FOLDER, Place, order, places


def lay_out(root: Path, places: dict[int, tuple[int, int, str, str]]) -> Path:
    """CPUs with (package, node, CPUs that share the outer cache, siblings)."""
    for cpu, (package, node, cache, siblings) in places.items():
        folder = root / CPU_FOLDER / f"cpu{cpu}"
        for name in ("topology", "cache/index0", "cache/index3", f"node{node}"):
            (folder / name).mkdir(parents=True)
        (folder / "topology/physical_package_id").write_text(f"{package}\n")
        (folder / "topology/thread_siblings_list").write_text(f"{siblings}\n")
        for index, level, shared in (("index0", 1, siblings), ("index3", 3, cache)):
            (folder / f"cache/{index}/level").write_text(f"{level}\n")
            (folder / f"cache/{index}/shared_cpu_list").write_text(f"{shared}\n")
    return root


def test_siblings_then_caches_then_packages(tmp_path: Path) -> None:
    """Linux numbers the second threads of all cores after the first ones."""
    root = lay_out(
        tmp_path,
        {
            0: (0, 0, "0,2,4,6", "0,4"), 1: (1, 1, "1,3,5,7", "1,5"),
            2: (0, 0, "0,2,4,6", "2,6"), 3: (1, 1, "1,3,5,7", "3,7"),
            4: (0, 0, "0,2,4,6", "0,4"), 5: (1, 1, "1,3,5,7", "1,5"),
            6: (0, 0, "0,2,4,6", "2,6"), 7: (1, 1, "1,3,5,7", "3,7"),
        },
    )  # fmt: skip
    assert order(range(8), root) == (0, 4, 2, 6, 1, 5, 3, 7)
    assert places([6], root)[6] == Place(package=0, node=0, cache=0, core=2, cpu=6)


def test_caches_lie_within_packages(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path, {0: (0, 0, "0,3", "0"), 1: (0, 0, "1-2", "1"), 2: (0, 0, "1-2", "2"), 3: (0, 0, "0,3", "3")}
    )
    assert order(range(4), root) == (0, 3, 1, 2)


def test_nothing_told_keeps_the_numbers(tmp_path: Path) -> None:
    assert order((2, 0, 1), tmp_path) == (0, 1, 2)


def test_this_machine_has_every_cpu_once() -> None:
    assert sorted(order(range(4), Path("/"))) == [0, 1, 2, 3]

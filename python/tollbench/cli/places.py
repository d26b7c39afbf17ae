"""Where things lie in a checkout."""

from __future__ import annotations

from pathlib import Path

from tollbench.errors import TollError

ROOT = Path(__file__).resolve().parents[3]
RUNS = ROOT / "runs"


def build_folder(environment: str) -> Path:
    """Programs of one environment are built here, apart from every other."""
    return ROOT / "build" / environment


def shown_path(path: Path) -> str:
    """As somebody in the current folder would type it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def run_path(name: str) -> Path:
    """The run file that a user means by `name`: a path, or a name in runs/ with or without its suffix.

    Raises TollError that offers the nearest run.
    """
    candidates = [folder / f"{name}{end}" for folder in (Path(), RUNS) for end in ("", ".toll", ".jsonl")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    if Path(name).is_dir():
        raise TollError(f"{name} is a folder, not a run file", f"name a file in it: {name}/NAME.toll")
    raise TollError(f"there is no run file {name}", _offer(name))


def _offer(name: str) -> str:
    from tollbench.catalog.suites import nearest

    there = sorted(RUNS.glob("*.toll"), key=lambda path: path.stat().st_mtime, reverse=True)
    if not there:
        return "measure one: toll run"
    close = nearest(Path(name).stem, [path.stem for path in there], 1)
    if close:
        return f"did you mean {RUNS / close[0]}.toll?"
    return f"the latest one is {there[0]}"

"""Takes the README's picture anew, and notes by which page it was drawn.

    PYTHONPATH=python .venv/bin/python tests/python/browser/pictures.py RUN.toll [--as-it-is]

RUN.toll is a run of `latency/lock` in a quiet hour. `--as-it-is` says that somebody has looked at the picture
and the page shows the same still: only the note is renewed. `test_pictures.py` fails where the page of one
and the same run has changed since: by its template, its styles or scripts, or by the Python that fills it.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import screenshot

sys.path.extend(str(Path(__file__).parents[1] / place) for place in (".", "report"))
import sample_results as samples
from page_data import with_all_unpacked

from tollbench.report import html

ROOT = Path(__file__).resolve().parents[3]
PICTURE = ROOT / "docs/pictures/report.png"
DRAWN_BY = ROOT / "docs/pictures/report.drawn-by"
COMMAND = "PYTHONPATH=python .venv/bin/python tests/python/browser/pictures.py RUN.toll"
_HEIGHT = 726  # the line, the chart and the table, without the notes below it


def page_digest() -> str:
    """Of the page of made-up results, whose numbers never change: locks, as in the picture, and tasks."""
    results = samples.make_results([samples.locks(random.Random(1)), samples.skynet(random.Random(1))])
    return hashlib.sha256(with_all_unpacked(html.render(results)).encode()).hexdigest()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--as-it-is", action="store_true")
    chosen = parser.parse_args(arguments)
    if not chosen.as_it_is:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            report = [
                str(ROOT / "toll"),
                "report",
                str(chosen.run),
                "--format",
                "html",
                "--output",
                str(page),
            ]
            subprocess.run(report, check=True)
            screenshot.main(
                [
                    str(page),
                    str(PICTURE),
                    "--at",
                    ".workload:has(#latency-lock)",
                    "--width",
                    "1500",
                    "--height",
                    str(_HEIGHT),
                ]
            )
    DRAWN_BY.write_text(page_digest() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

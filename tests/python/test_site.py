"""The site of docs/ is built, and a link that leads nowhere is an error."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from checkouts import ROOT
from tollbench.interpreters import interpreter


def site(pages: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = interpreter("-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(pages), str(target))
    return subprocess.run(command, cwd=target.parent, capture_output=True, text=True, check=False)


def test_every_page_has_its_place_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    done = site(ROOT / "docs", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").glob("*.md"):
        made = (tmp_path / "site" / f"{page.stem}.html").read_text(encoding="utf-8")
        assert '<script src="http' not in made
        assert '<link rel="stylesheet" href="http' not in made


def test_a_dead_link_a_dead_anchor_and_a_lost_page_are_errors(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    shutil.copy(ROOT / "docs/conf.py", pages)
    (pages / "index.md").write_text("# Home\n\n[gone](gone.md), [section](index.md#gone)\n")
    (pages / "lost.md").write_text("# Lost\n")
    done = site(pages, tmp_path / "site")
    assert done.returncode == 1
    for said in ("'gone.md'", "in doc 'index': 'gone'", "lost.md"):
        assert said in done.stderr, done.stderr

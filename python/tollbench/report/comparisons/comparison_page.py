"""The files that pages of comparisons are made of."""

from __future__ import annotations

from pathlib import Path

from tollbench.report.page_files import PageFiles

FILES = PageFiles(Path(__file__).parent / "page")

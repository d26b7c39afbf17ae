"""Turns suites/*/*/suite.toml into CMake calls.

Usage: toll_suites.py SUITES_FOLDER OUTPUT.cmake [headline]

Standard library only, so that configuring needs nothing installed; the part of toll that it imports keeps to
that too. One toll_contender() call a contender; other languages are passed through, so that contenders.json
lists every contender.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Where the package lies in a checkout, and in an installed toll, of which this is tollbench/shipped/cmake.
sys.path.extend(str(Path(__file__).resolve().parents[1] / place) for place in ("python", "../.."))

from tollbench.catalog.suite_rules import LANGUAGES, LIBRARY, NAME, headline_of, source_of

OPTIONS = {"library", "language", "source", "needs", "parameters", "footing", "environments", "note"}


def fail(file: Path, sentence: str) -> None:
    """Ends configuring with one line that says where and what."""
    sys.exit(f"{file}: {sentence}")


def text(file: Path, where: str, value: Any) -> str:
    """A string that CMake can carry in a bracket argument."""
    if not isinstance(value, str) or "]==]" in value or ";" in value:
        fail(file, f"{where} must be text without ';'")
    return str(value)


def one_call(file: Path, name: str, options: Any) -> str:
    """The CMake call of one contender line."""
    where = f"contender {name!r}"
    if not NAME.fullmatch(name):
        fail(file, f"{where}: a name is lower-case letters, digits and '_', a letter first")
    if not isinstance(options, dict):
        fail(file, f'{where} must be a table, e.g. {name} = {{ library = "std" }}')
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        fail(file, f"{where}: unknown option {unknown[0]!r}; known are {', '.join(sorted(OPTIONS))}")
    source = file.parent / text(file, f"{where}: source", source_of(name, options.get("source", "")))
    language = options.get("language") or LANGUAGES.get(source.suffix, source.suffix.lstrip("."))
    needs = options.get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(n, str) and NAME.fullmatch(n) for n in needs):
        fail(file, f"{where}: needs must be a list of names of files in cmake/contenders")
    arguments = {
        "WORKLOAD": f"{file.parent.parent.name}/{file.parent.name}",
        "NAME": name,
        "LANGUAGE": text(file, f"{where}: language", language),
        "LIBRARY": text(file, f"{where}: library", options.get("library", LIBRARY)),
        "SOURCE": str(source),
    }
    lines = [f"  {key} [==[{value}]==]" for key, value in arguments.items()]
    lines += [f"  NEEDS {' '.join(needs)}"] if needs else []
    return "toll_contender(\n" + "\n".join(lines) + ")\n"


def calls(file: Path, *, headline: bool) -> Iterator[str]:
    """The CMake calls of one suite.toml, for all contenders or for its headline alone."""
    try:
        suite = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        fail(file, f"not valid TOML: {error}")
    contenders = suite.get("contenders", {})
    if not isinstance(contenders, dict):
        fail(file, "[contenders] must be a table with one line a contender")
    wanted = headline_of(suite.get("headline", ()), contenders) if headline else contenders
    for name, options in contenders.items():
        if name in wanted:
            yield one_call(file, name, options)


def main(suites: Path, output: Path, *, headline: bool) -> None:
    """Writes `output` only where its text changes."""
    text_out = "# Written by cmake/toll_suites.py; do not edit.\n"
    for file in sorted(suites.glob("*/*/suite.toml")):
        text_out += "".join(calls(file, headline=headline))
    if not output.exists() or output.read_text(encoding="utf-8") != text_out:
        output.write_text(text_out, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), headline=sys.argv[3:] == ["headline"])

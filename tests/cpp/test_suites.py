"""suite.toml to CMake calls.

Usage: test_suites.py cmake/toll_suites.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = sys.argv[1]


class Suites(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.suite = self.root / "suites/latency/wakeup/suite.toml"
        self.suite.parent.mkdir(parents=True)
        self.output = self.root / "calls.cmake"

    def turn(self, toml: str | bytes, *which: str) -> subprocess.CompletedProcess[str]:
        self.suite.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
        command = [sys.executable, "-I", SCRIPT, str(self.root / "suites"), str(self.output), *which]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_one_call_a_contender(self) -> None:
        done = self.turn(
            '[contenders]\nstd_mutex = { library = "std", environments = ["host"] }\n'
            'go_channel = { library = "Go", source = "x.go" }\n'
            'fiber = { library = "Boost.Fiber", needs = ["boost_fiber", "numa"], source = "f.cpp" }\n'
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = self.output.read_text().split("toll_contender(")[1:]
        self.assertEqual(len(calls), 3)
        self.assertIn("WORKLOAD [==[latency/wakeup]==]", calls[0])
        self.assertIn(f"SOURCE [==[{self.suite.parent.resolve()}/std_mutex.cpp]==]", calls[0])
        self.assertIn("LANGUAGE [==[C++]==]", calls[0])
        self.assertNotIn("NEEDS", calls[0])
        self.assertIn("LANGUAGE [==[Go]==]", calls[1])
        self.assertIn("NEEDS boost_fiber numa", calls[2])

    def test_headline_leaves_the_others_out_where_a_suite_has_one(self) -> None:
        contenders = "[contenders]\na = {}\nb = {}\n"
        for toml, which, names in (
            (f'headline = ["b"]\n{contenders}', "headline", ["b"]),
            (f'headline = ["b"]\n{contenders}', "ON", ["a", "b"]),
            (contenders, "headline", ["a", "b"]),
        ):
            with self.subTest(toml=toml, which=which):
                self.turn(toml, which)
                self.assertEqual(re.findall(r"NAME \[==\[(\w+)", self.output.read_text()), names)

    def test_mistakes_name_file_and_cause(self) -> None:
        for toml, words in (
            ("[contenders\n", "not valid TOML"),
            (b"\xff", "not valid TOML"),
            ("contenders = 3\n", "must be a table"),
            ('[contenders]\na = "std"\n', "must be a table"),
            ("[contenders]\nA-b = {}\n", "lower-case"),
            ('[contenders]\na = { libary = "std" }\n', "unknown option 'libary'"),
            ("[contenders]\na = { library = 3 }\n", "library must be text"),
            ('[contenders]\na = { library = "]==] message(FATAL_ERROR)" }\n', "must be text"),
            ('[contenders]\na = { needs = "tbb" }\n', "needs must be a list"),
            ('[contenders]\na = { needs = ["../x"] }\n', "needs must be a list"),
        ):
            with self.subTest(toml=toml):
                done = self.turn(toml)
                self.assertEqual(done.returncode, 1)
                self.assertIn(str(self.suite), done.stderr)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_an_unchanged_text_leaves_the_file_alone(self) -> None:
        toml = "[contenders]\na = {}\n"
        self.turn(toml)
        before = self.output.stat().st_mtime_ns
        self.turn(toml + "# a comment\n")
        self.assertEqual(self.output.stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

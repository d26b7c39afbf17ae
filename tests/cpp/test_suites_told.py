"""What each C++ program tells about its workloads is what their suite.toml says.

Usage: test_suites_told.py SUITES PROGRAM ...

There is a program for each workload at least. The facts stand in its workload.hpp, which all of its
programs share: one tells them as well as all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from suite_facts import differences

SUITES = Path(sys.argv[1])
PROGRAMS = sys.argv[2:]


class Told(unittest.TestCase):
    def test_programs_tell_what_the_suites_say(self) -> None:
        seen, wrong = set(), []
        for program in PROGRAMS:
            done = subprocess.run(
                [program, "describe"], capture_output=True, text=True, check=False, timeout=60
            )
            self.assertEqual(done.returncode, 0, f"{program}: {done.stderr}")
            for told in json.loads(done.stdout)["contenders"]:
                seen.add(told["workload"])
                wrong += differences(SUITES, told)
        self.assertFalse(wrong, "\n" + "\n".join(wrong))
        there = {str(suite.parent.relative_to(SUITES)) for suite in SUITES.glob("*/*/suite.toml")}
        self.assertEqual(seen, there)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""What the compiler says where a contender does not fit its workload.

Usage: test_compile_errors.py COMPILER INCLUDE_FOLDER FOLDER

Each FOLDER/*.cpp names in `// expect:` lines what the message must hold; a file without such a line
must compile.
"""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

COMPILER, INCLUDE, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])


class Messages(unittest.TestCase):
    def test_every_file(self) -> None:
        files = sorted(FOLDER.glob("*.cpp"))
        self.assertGreater(len(files), 5)
        for file in files:
            with self.subTest(file=file.name):
                expected = re.findall(r"^// expect: (.+)$", file.read_text(encoding="utf-8"), re.M)
                command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", str(file)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode != 0, bool(expected), done.stderr)
                for words in expected:
                    self.assertIn(words, done.stderr)
                # The contender's own line must be named: that is where its author can act.
                if expected:
                    self.assertIn(f"{file.name}:", done.stderr)
                # A reader gives up on a wall of text; both compilers stay under this today.
                self.assertLess(done.stderr.count("\n"), 60, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

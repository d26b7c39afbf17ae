"""Looks at the code that keep(), keep_changed() and clobber() leave.

Usage: test_keep_assembly.py COMPILER INCLUDE_FOLDER keep_assembly.cpp
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import unittest

COMPILER, INCLUDE, SOURCE = sys.argv[1:4]


def bodies(level: str) -> dict[str, list[str]]:
    """Each function's instructions, comments and directives left out."""
    command = [COMPILER, "-std=c++20", level, "-S", "-masm=att", "-fno-asynchronous-unwind-tables",
               "-fcf-protection=none", "-fno-pic", f"-I{INCLUDE}", SOURCE, "-o", "-"]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        label = re.match(r"([a-z_]+):", line)
        if label:
            name = label.group(1)
            found[name] = []
        elif name:
            code = line.split("#")[0].strip()
            if (code and not code.startswith(".")) or re.match(r"\.L\w+:", code):
                found[name].append(code)
    return found


@unittest.skipUnless(platform.machine() == "x86_64", "patterns are of x86-64")
class Assembly(unittest.TestCase):
    def check(self, name: str, *, has: str = "", lacks: str = "", instructions: int | None = None) -> None:
        for level in ("-O2", "-O3"):
            body = bodies(level)[name]
            text = "\n".join(body)
            with self.subTest(function=name, level=level, body=text):
                if has:
                    self.assertRegex(text, has)
                if lacks:
                    self.assertNotRegex(text, lacks)
                if instructions is not None:
                    self.assertEqual(len([c for c in body if not c.endswith(":")]), instructions)

    def test_values_are_computed(self) -> None:
        self.check("keeps_a_sum", has=r"add|lea", instructions=2)
        self.check("keeps_a_constant", has=r"4711", instructions=2)

    def test_registers_stay_registers(self) -> None:
        self.check("keeps_an_argument", lacks=r"mov|push", instructions=1)
        self.check("keeps_a_double", lacks=r"mov|push", instructions=1)

    def test_loops_stay_loops(self) -> None:
        self.check("loops", has=r"(?s)\.L\w+:.*addq\s+\$3.*j\w+\s+\.L")
        self.check("loops", lacks=r"(?m)^\S+\s.*\(%rsp\)")  # the sum never goes through memory
        self.check("folds", lacks=r"j\w+\s+\.L")  # the compiler would have removed the loop

    def test_knowledge_is_forgotten(self) -> None:
        self.check("forgets", has=r"imul|lea|sub", lacks=r"\$42")

    def test_stores_happen(self) -> None:
        self.check("stores_twice", has=r"(?s)1111.*2222.*memory.*%eax")
        self.check("stores_once", lacks="1111")
        # As two immediates or as one 16-byte constant: anything written below the frame.
        self.check("keeps_a_struct", has=r"(?m)^mov\w+\s+[^,]+, -?\d+\(%rsp\)$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""Looks at the machine code of the array loops, and at the script that does so after each build.

Usage: test_measured_loops.py COMPILER OBJDUMP CHECKOUT
"""

from __future__ import annotations

import importlib.util
import platform
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPILER, OBJDUMP, CHECKOUT = sys.argv[1:4]
SCRIPT = Path(CHECKOUT) / "suites/containers/shared/inspect_loops.py"
SOURCE = Path(CHECKOUT) / "tests/cpp/arrays/measured_loops.cpp"
PASSES = Path(CHECKOUT) / "tests/cpp/containers/map_passes.cpp"
X86 = platform.machine() == "x86_64"

_spec = importlib.util.spec_from_file_location("inspect_loops", SCRIPT)
assert _spec and _spec.loader
inspect_loops = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(inspect_loops)

INDEX, AT = "Access)0", "Access)1"  # as c++filt writes toll::arrays::Access

READS = re.compile(r"\(%.*\),\s*%")  # memory to register
WRITES = re.compile(r"%\w+,\s*-?(0x)?[0-9a-f]*\(%")
CHANGES = re.compile(r"\badd[lq]?\s+(%|\$).*,\s*-?(0x)?[0-9a-f]*\(%")  # reads and writes at once
CALL = re.compile(r"\bcall")
JUMP = re.compile(r"\bj\w+\s+(?:0x)?([0-9a-f]+)\b")  # llvm-objdump writes the 0x


def functions(*flags: str, source: Path = SOURCE) -> dict[str, list[tuple[int, str]]]:
    """Each measured loop's instructions with their addresses, by demangled name."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/loops.o"
        command = [COMPILER, "-std=c++20", "-DNDEBUG", *flags, "-c", str(source), "-o", program,
                   f"-I{CHECKOUT}", f"-I{CHECKOUT}/include"]  # fmt: skip
        subprocess.run(command, check=True)
        command = [OBJDUMP, "-d", "-C", "--no-show-raw-insn", program]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, list[tuple[int, str]]] = {}
    name = ""
    for line in text.splitlines():
        if label := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            name = label.group(1)
        elif name and (code := re.match(r"\s+([0-9a-f]+):\s+(\S.*)$", line)):
            found.setdefault(name, []).append((int(code.group(1), 16), code.group(2)))
    return {name: body for name, body in found.items() if "measured_" in name}


def loops(body: list[tuple[int, str]]) -> list[tuple[int, int]]:
    """First and last address of every loop: a jump back to where it begins."""
    jumps = [(int(to.group(1), 16), at) for at, code in body if (to := JUMP.search(code))]
    return [(start, end) for start, end in jumps if start <= end and start >= body[0][0]]


def width(body: list[tuple[int, str]]) -> str:
    widths = (inspect_loops.packed_bytes(code.split("#")[0].rstrip()) for _, code in body)
    return str(inspect_loops.described(widths))


def calls(body: list[tuple[int, str]]) -> int:
    return sum(bool(CALL.search(code)) for _, code in body)


def is_nested(found: list[tuple[int, int]]) -> bool:
    return any(a <= c and d < b for a, b in found for c, d in found)


@unittest.skipUnless(X86, "patterns are of x86-64")
class MachineCode(unittest.TestCase):
    def test_every_round_goes_through_the_array(self) -> None:
        for flags in (("-O2",), ("-O3",)):
            found = functions(*flags)
            self.assertEqual(len(found), 9, sorted(found))
            for name, body in found.items():
                with self.subTest(function=name, flags=flags, body="\n".join(code for _, code in body)):
                    self.assertTrue(is_nested(loops(body)), "a loop over elements in a loop over rounds")
                    self.check_inner(body, writes="update" in name)

    def check_inner(self, body: list[tuple[int, str]], *, writes: bool) -> None:
        """The innermost loops read memory, and those of an update write it."""
        found = loops(body)
        inner = [
            (a, b) for a, b in found if not any((a, b) != (c, d) and a <= c and d <= b for c, d in found)
        ]
        codes = [code for at, code in body if any(a <= at <= b for a, b in inner)]
        self.assertTrue(any(READS.search(code) or CHANGES.search(code) for code in codes), "reads")
        if writes:
            self.assertTrue(any(WRITES.search(code) or CHANGES.search(code) for code in codes), "writes")

    def test_no_pass_over_a_map_stands_for_two(self) -> None:
        for flags in (("-O2",), ("-O3",)):
            found = functions(*flags, source=PASSES)
            once, twice = (
                sum(bool(READS.search(code)) for _, code in body)
                for name in ("measured_all_once", "measured_all_twice")
                for body in (next(found[known] for known in found if known.startswith(name)),)
            )
            self.assertGreater(once, 0)
            self.assertGreaterEqual(twice, 2 * once, flags)

    def test_barriers_leave_the_compiler_free_to_vectorize(self) -> None:
        for flags, expected in ((("-O3",), "16 bytes"), (("-O3", "-mavx2"), "32 bytes")):
            for name, body in functions(*flags).items():
                if AT not in name:  # Clang moves the check out of the loop, GCC does not
                    with self.subTest(function=name, flags=flags):
                        self.assertEqual(width(body), expected)

    def test_a_loop_that_is_not_vectorized_is_called_so(self) -> None:
        for name, body in functions("-O2", "-fno-tree-vectorize").items():
            with self.subTest(function=name):
                self.assertEqual(width(body), "no")

    def test_checks_are_not_proven_away(self) -> None:
        """With the library's assertions on, every loop that uses [] holds one more branch to a function."""
        plain, checked = functions("-O2"), functions("-O2", "-D_GLIBCXX_ASSERTIONS")
        for name in plain:
            if "std::vector" in name and (INDEX in name or "update" in name):
                with self.subTest(function=name):
                    self.assertEqual(calls(plain[name]), 0)
                    self.assertGreaterEqual(calls(checked[name]), 1)
        at = next(name for name in plain if AT in name)
        self.assertGreaterEqual(calls(plain[at]), 1)


class Script(unittest.TestCase):
    def test_widths(self) -> None:
        for instruction, expected in (
            ("paddd  %xmm1,%xmm0", 16),
            ("paddd  0x10(%rax),%xmm0", 16),
            ("vpaddd (%rax),%ymm1,%ymm2", 32),
            ("vpaddd %zmm1,%zmm2,%zmm3{%k1}", 64),
            ("paddq  %xmm1,%xmm0", 0),
            ("movdqu (%rax),%xmm0", 0),
            ("add    %eax,(%rdx)", 0),
            ("add\tv0.4s, v0.4s, v1.4s", 16),
            ("add\tx0, x0, x1", 0),
            ("add\tz0.s, z0.s, z1.s", -1),
        ):
            self.assertEqual(inspect_loops.packed_bytes(instruction), expected, instruction)

    def test_functions(self) -> None:
        text = """
0000000000001200 <_ZN4toll6arrays15measured_updateIA>:
    1200:\tpaddd  %xmm1,%xmm0
    1204:\tvpaddd %ymm1,%ymm0,%ymm0
    1208:\tret

0000000000001300 <_Zother>:
    1300:\tpaddd  %xmm1,%xmm0

0000000000001400 <_ZN4toll6arrays13measured_readIB>:
    1400:\tadd    (%rax),%edx
"""
        self.assertEqual(list(inspect_loops.loops(text)), [(0x1200, "32 bytes"), (0x1400, "no")])

    def test_a_file_that_objdump_cannot_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            program.write_text("no program")
            done = subprocess.run([sys.executable, "-I", str(SCRIPT), OBJDUMP, str(program)],
                                  capture_output=True, text=True, check=False)  # fmt: skip
            self.assertEqual(done.returncode, 0)
            self.assertIn("cannot read", done.stderr)
            self.assertEqual((Path(folder) / "program.loops").read_text(), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

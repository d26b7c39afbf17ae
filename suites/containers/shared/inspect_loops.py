"""Looks at the machine code of a program's measured loops: were they vectorized, and how wide?

Usage: inspect_loops.py OBJDUMP EXECUTABLE

Writes EXECUTABLE.loops, a line for each function whose name holds `measured_update` or `measured_read`: its
address in the file (hexadecimal) and "no" or the width of its widest packed addition of 32-bit integers, such
as "16 bytes". Where OBJDUMP cannot read the file, the lines are missing and the program calls its loops
"unknown".
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

FUNCTION = re.compile(r"^([0-9a-f]+) <(.*)>:$")
SYMBOL = re.compile(r"^([0-9a-f]+)\s.*\sF\s+\S+\t([0-9a-f]+)\s+(?:\.hidden\s+)?(\S+)$")
MEASURED = re.compile(r"measured_(update|read)")
# The last operand is the destination (AT&T): paddd %xmm1,%xmm0 / vpaddd (%rax),%ymm1,%ymm2.
X86 = re.compile(r"\bv?paddd\b.*%([xyz])mm\d+(?:\{|$)")
X86_BYTES = {"x": 16, "y": 32, "z": 64}
NEON = re.compile(r"\badd\s+v\d+\.(4s|2s)")
NEON_BYTES = {"4s": 16, "2s": 8}
SVE = re.compile(r"\badd\s+z\d+\.s")


def packed_bytes(instruction: str) -> int:
    """Bytes that one instruction adds at once as 32-bit integers; 0 for any other instruction."""
    if x86 := X86.search(instruction):
        return X86_BYTES[x86.group(1)]
    if neon := NEON.search(instruction):
        return NEON_BYTES[neon.group(1)]
    return -1 if SVE.search(instruction) else 0


def described(widths: Iterable[int]) -> str:
    """What the footing shows for a function whose instructions have these widths."""
    found = set(widths) - {0}
    if -1 in found:
        return "SVE registers"
    return f"{max(found)} bytes" if found else "no"


def loops(disassembly: str) -> Iterator[tuple[int, str]]:
    """Address and finding of each measured function in objdump's output, in its order."""
    address, widths = -1, list[int]()
    for line in [*disassembly.splitlines(), "0 <>:"]:
        if label := FUNCTION.match(line):
            if address >= 0:
                yield address, described(widths)
            address, widths = (int(label.group(1), 16) if MEASURED.search(label.group(2)) else -1), []
        elif address >= 0:
            widths.append(packed_bytes(line.partition("#")[0].rstrip()))


def ranges(symbols: str) -> Iterator[tuple[int, int]]:
    """Where each measured function begins and ends in what `objdump --syms` prints."""
    for line in symbols.splitlines():
        found = SYMBOL.match(line)
        if found and MEASURED.search(found.group(3)):
            start = int(found.group(1), 16)
            yield start, start + int(found.group(2), 16)


def printed(objdump: str, *words: str) -> str:
    """What it prints; nothing where it cannot read the file, and why on standard error."""
    done = subprocess.run([objdump, *words], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        print(f"{objdump} cannot read {words[-1]}: {done.stderr.strip()}", file=sys.stderr)
    return done.stdout


def main(objdump: str, executable: Path) -> None:
    """Writes the file beside the executable. Not the whole program is taken apart: that takes 0.2 s, of each
    of the layouts in which it is linked."""
    file = str(executable)
    found = sorted(ranges(printed(objdump, "--syms", file)))
    lines = []
    if found:
        bounds = f"--start-address={found[0][0]:#x}", f"--stop-address={max(end for _, end in found):#x}"
        code = printed(objdump, "-d", "--no-show-raw-insn", *bounds, file)
        lines = [f"{address:x} {finding}\n" for address, finding in loops(code)]
    executable.with_name(executable.name + ".loops").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

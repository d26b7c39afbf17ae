"""Tables of distances to texts: the same where they list the same, however far that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import compiled, differences, match

MAIN = """
#include <cstdio>
extern "C" const char* name_of(unsigned number);
int main(int count, char**) { std::puts(name_of(count)); }
"""
# As Clang writes a switch that chooses a text.
TABLE = """
.text
.globl name_of
.type name_of, @function
name_of:
  cmp $2, %edi
  ja 1f
  mov %edi, %eax
  lea .Ltable(%rip), %rcx
  movslq (%rcx,%rax,4), %rax
  add %rcx, %rax
  ret
1: lea .Lmany(%rip), %rax
  ret
.size name_of, .-name_of
.section .rodata.str1.1, "aMS", @progbits, 1
.Lzero: .asciz "zero"
.Lone: .asciz "one"
.Lthree: .asciz "three"
.Lmany: .asciz "many"
.section .rodata
.balign 4
.Ltable: .long .Lzero-.Ltable, .Lone-.Ltable, .Lthree-.Ltable
.section .note.GNU-stack, "", @progbits
"""
ELSEWHERE = ('.Lzero: .asciz "zero"\n.Lone: .asciz "one"\n', '.Lone: .asciz "one"\n.Lzero: .asciz "zero"\n')


def built(folder: Path, table: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "table.s").write_text(table)
    return compiled(folder, "p", MAIN, first=[str(folder / "table.s")])


def found(folder: Path, one: str, other: str) -> dict[str, str]:
    return differences(match(built(folder / "a", one), built(folder / "b", other)))


THROUGH_OTHERS = (
    "  lea .Ltable(%rip), %rcx\n  movslq (%rcx,%rax,4), %rax\n  add %rcx, %rax\n",
    "  lea .Ltable(%rip), %rcx\n  mov %rcx, %rdx\n  movslq (%rdx,%rax,4), %rsi\n  lea (%rcx,%rsi), %rax\n"
    "  xor %edx, %edx\n",
)


@pytest.mark.parametrize("code", [("", ""), THROUGH_OTHERS], ids=["plain", "through other registers"])
def test_texts_may_lie_elsewhere(tmp_path: Path, code: tuple[str, str]) -> None:
    table = TABLE.replace(*code) if code[0] else TABLE
    assert found(tmp_path, table, table.replace(*ELSEWHERE)) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"zero"', '"nero"'),
        ('"one"', '"two"'),
        (".long .Lzero-.Ltable, .Lone-.Ltable", ".long .Lone-.Ltable, .Lzero-.Ltable"),
        ("-.Ltable, .Lthree", "-.Ltable, .Lmany"),
        ("cmp $2", "cmp $1"),
    ],
)
def test_another_text_is_another_table(tmp_path: Path, old: str, new: str) -> None:
    assert TABLE.replace(old, new) != TABLE
    assert found(tmp_path, TABLE, TABLE.replace(*ELSEWHERE).replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  add %rcx, %rax\n", ""),
        ("  add %rcx, %rax\n", "  add %rcx, %rax\n  mov %rcx, %rdx\n"),
        ("  add %rcx, %rax\n", "  add %rcx, %rax\n  mov %rcx, -8(%rsp)\n"),
        ("  add %rcx, %rax\n", "  add %rcx, %rax\n  addb (%rcx), %al\n"),
        ("  add %rcx, %rax\n", "  mov %rax, %rdx\n  add %rcx, %rax\n"),
        ("  add %rcx, %rax\n  ret\n", "  add %rcx, %rax\n  jmp puts@PLT\n"),
        ("  movslq (%rcx,%rax,4), %rax\n", "  mov (%rcx,%rax,4), %eax\n"),
        ("  movslq (%rcx,%rax,4), %rax\n", "  movslq 4(%rcx,%rax,4), %rax\n"),
        ("  movslq (%rcx,%rax,4), %rax\n", "  movslq (%rcx,%rax,2), %rax\n"),
        ("  ja 1f\n", "  nop\n"),
        ("  ja 1f\n", "  jg 1f\n"),
        ("  mov %edi, %eax\n", "  inc %edi\n  mov %edi, %eax\n"),
        ("cmp $2", "cmp $3"),
        ("  mov %edi, %eax\n", "  mov %edi, %eax\n2:\n"),
    ],
    ids=lambda text: text.strip().replace("\n", ";"),
)
def test_an_address_that_is_used_otherwise_is_none_of_a_table(tmp_path: Path, old: str, new: str) -> None:
    table = TABLE.replace(old, new)
    if "2:" in new:  # from elsewhere into the middle
        table = table.replace("name_of:\n", "name_of:\n  test %esi, %esi\n  je 2f\n")
    assert table != TABLE
    assert found(tmp_path, table, table.replace(*ELSEWHERE))

"""Files that are no programs for x86-64, or damaged ones: a sentence, never a wrong answer."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from compiled import PROGRAM, compiled
from elftools.elf.elffile import ELFFile

from tollbench.counting.code import Use, decode
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.in_memory import same_in_memory
from tollbench.counting.matching import Match
from tollbench.counting.own_allocators import hidden_in
from tollbench.counting.sizes import sizes
from tollbench.counting.walked_image import WalkedImage
from tollbench.linking.programs import NoProgram, read_program


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\necho\n", b"\x7fELF", b"\x7fELF" + bytes(60), b"MZ" * 99]
)
def test_what_is_no_program_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "program"
    file.write_bytes(content)
    with pytest.raises(Unreadable):
        Image(file)


def test_a_script_is_told_to_be_none(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("#!/bin/sh\nexec ./real\n")
    with pytest.raises(Unreadable, match="such as a script"):
        Image(file)


def test_code_for_another_processor_is_told(tmp_path: Path) -> None:
    program = bytearray(compiled(tmp_path, "p", PROGRAM).read_bytes())
    program[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    file = tmp_path / "other"
    file.write_bytes(program)
    with pytest.raises(Unreadable, match="AARCH64"):
        Image(file)


@pytest.mark.parametrize("options", [("-no-pie", "-fno-pie"), ("-static",)], ids=str)
def test_fixed_addresses_are_told(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = Image(compiled(tmp_path, "p", PROGRAM, *options))
    with pytest.raises(Unreadable, match="fixed addresses"):
        WalkedImage(program)


@pytest.mark.parametrize("options", [("-no-pie", "-fno-pie"), ("-fPIE", "-pie")], ids=str)
def test_a_go_program_is_not_walked_and_no_linker_option_is_named(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    marked = PROGRAM + '[[gnu::used, gnu::section(".go.buildinfo")]] const char made_by[] = "go";\n'
    program = Image(compiled(tmp_path, "p", marked, *options))
    with pytest.raises(Unreadable, match=r"is a Go program: .*-trimpath"):
        WalkedImage(program)


def test_a_damaged_file_is_told_or_differs(tmp_path: Path) -> None:
    base = compiled(tmp_path, "p", PROGRAM)
    whole = base.read_bytes()
    rng = random.Random(1)
    for number in range(60):
        damaged = bytearray(whole)
        for _ in range(8):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        file = tmp_path / f"damaged{number}"
        file.write_bytes(damaged[: rng.randrange(len(damaged) // 2, len(damaged))] if number % 2 else damaged)
        try:
            Match([(Image(base), Image(file))])
        except Unreadable:
            continue


def test_functions_are_found_with_and_without_symbols(tmp_path: Path) -> None:
    base = Image(compiled(tmp_path / "a", "p", PROGRAM))
    stripped = Image(compiled(tmp_path / "b", "p", PROGRAM, "-s"))
    assert set(stripped.functions.starts) <= set(base.functions.starts)
    assert "_Z6chooseii" in base.functions.names
    assert all(decode(stripped, start).understood for start in stripped.functions.starts)


def test_texts_are_found_where_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each took a copy of all that stands behind it: time by the square of their number."""
    texts = [f"text {number}" for number in range(200)]
    lines = "".join(f'  std::puts("{text}");\n' for text in texts)
    image = Image(compiled(tmp_path, "p", f"#include <cstdio>\nint main() {{\n{lines}}}\n"))
    walked = WalkedImage(image)
    main = image.functions.starts[image.functions.names.index("main")]
    targets = [item.target for item in walked.code(main).references if item.use is Use.TAKES]
    copied: list[int] = []
    read = Image.read

    def noted(self: Image, address: int, size: int) -> bytes:
        found = read(self, address, size)
        copied.append(len(found))
        return found

    walked.reach(targets[0])  # which looks at all code, once
    monkeypatch.setattr(Image, "read", noted)
    assert {walked.text(target) for target in targets} == {text.encode() for text in texts}
    assert sum(copied) <= len("".join(texts)) + len(texts)


COMPRESSED, NO_BITS = 0x800, 8  # SHF_COMPRESSED, SHT_NOBITS


def with_section(base: Path, changed: Path, name: str, at: int, form: str, value: int) -> Path:
    """A copy in which a section's header says something else, `at` bytes from its begin."""
    content = bytearray(base.read_bytes())
    with base.open("rb") as file:
        elf = ELFFile(file)
        index = elf.get_section_index(name)
        assert index is not None
        struct.pack_into(form, content, elf["e_shoff"] + index * elf["e_shentsize"] + at, value)
        if value & COMPRESSED:  # by zlib, and then comes something else
            struct.pack_into("<IIQQ", content, elf.get_section(index)["sh_offset"], 1, 0, 99, 1)
    changed.write_bytes(content)
    changed.chmod(0o755)
    return changed


@pytest.mark.parametrize("name", [".dynstr", ".dynsym", ".symtab", ".strtab", ".comment", ".gnu.version"])
@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(0x8, "<Q", COMPRESSED | 0x2), (0x4, "<I", NO_BITS), (0x20, "<Q", 1 << 40)],
    ids=["said to be compressed", "without bytes", "beyond the end"],
)
def test_a_table_that_is_not_in_the_file_is_told_by_all_who_read_it(
    tmp_path: Path, name: str, at: int, form: str, value: int
) -> None:
    base = compiled(tmp_path, "p", PROGRAM)
    changed = with_section(base, tmp_path / "changed", name, at, form, value)
    for read in (Image, sizes, read_program, lambda path: hidden_in([str(path)])):
        with suppress(Unreadable, NoProgram):
            read(changed)
    if name in (".dynstr", ".symtab"):
        with pytest.raises(Unreadable, match="damaged"):
            Image(changed)


def test_notes_beyond_the_end_are_told(tmp_path: Path) -> None:
    content = bytearray(compiled(tmp_path, "p", PROGRAM).read_bytes())
    elf = ELFFile(BytesIO(bytes(content)))
    for index, part in enumerate(elf.iter_segments()):
        if part["p_type"] == "PT_NOTE":
            place = elf["e_phoff"] + index * elf["e_phentsize"]
            struct.pack_into("<Q", content, place + 0x8, len(content))  # p_offset
    (tmp_path / "changed").write_bytes(content + struct.pack("<III", 4, 4, 3))
    image = Image(tmp_path / "changed")
    with pytest.raises(Unreadable, match="changed is damaged"):
        same_in_memory(image, image)

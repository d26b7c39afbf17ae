"""What a run executes, by real Valgrind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from compiled import REGISTERED_PROGRAM, compiled

from tollbench.counting.executed import executed
from tollbench.counting.fixed import can_fix_addresses
from tollbench.counting.image import Image
from tollbench.counting.runs import Launching, launched
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed, NoRoom

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")


def names(program: Path, *arguments: str) -> set[str]:
    """Functions of the program itself that a run executed."""
    image = Image(program)
    run = executed([str(program), *arguments], own_environment(), None, 60.0)
    own = str(program.resolve())
    callers = {image.function_name(call[1]) for call in run.calls if call[0] == own and call[2] == own}
    assert "main" in callers
    return {image.function_name(address) for address in run.addresses[own]}


@needs_valgrind
@pytest.mark.parametrize("options", [(), ("-O0",)], ids=str)
def test_only_what_ran_is_told(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = compiled(tmp_path, "p", REGISTERED_PROGRAM, *options)
    ran = names(program, "1")
    assert "_ZL3twoi" in ran
    assert not ran & {"_ZL3onei", "_ZL5threei", "_Z4rarei"}


@needs_valgrind
def test_files_that_are_read_are_told_and_written_ones_are_not(tmp_path: Path) -> None:
    text = """
    #include <fstream>
    #include <string>
    int main() { std::string word; std::ifstream("input.txt") >> word; std::ofstream("output.txt") << word; }
    """
    (tmp_path / "input.txt").write_text("word")
    program = compiled(tmp_path, "p", text)
    run = executed([str(program)], own_environment(), tmp_path, 60.0)
    assert "input.txt" in run.read
    assert "output.txt" not in run.read
    assert not run.unseen


@needs_valgrind
@pytest.mark.parametrize(
    ("name", "unseen"),
    [
        ("data (v1).txt", ""),
        ("\\xff.txt", ""),
        ("two), 0 ).txt", "it calls openat with a name"),
        ("two\\nlines.txt", "it calls openat with a name"),
    ],
)
def test_names_of_files_are_told_as_they_are_or_said_to_be_unclear(
    tmp_path: Path, name: str, unseen: str
) -> None:
    text = '#include <fcntl.h>\nint main() { open("NAME", O_RDONLY); }\n'.replace("NAME", name)
    run = executed([str(compiled(tmp_path, "p", text))], own_environment(), tmp_path, 60.0)
    assert run.unseen.startswith(unseen)
    assert bool(run.unseen) == bool(unseen)
    told = os.fsdecode(name.encode().replace(b"\\xff", b"\xff"))
    assert (told in run.read) == (not unseen)


@needs_valgrind
def test_a_program_that_makes_code_is_told(tmp_path: Path) -> None:
    text = """
    #include <sys/mman.h>
    int main() {
      const int may = PROT_READ | PROT_WRITE | PROT_EXEC;
      return mmap(nullptr, 4096, may, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
    }
    """
    run = executed([str(compiled(tmp_path, "p", text))], own_environment(), None, 60.0)
    assert run.unseen == "it makes code while it runs"


# A file that is mapped for oneself alone is as good a place for code as memory without a file.
IN_A_PRIVATE_FILE = """
#include <fcntl.h>
#include <sys/mman.h>
int main() {
  const int file = open("/dev/zero", O_RDWR);
  return mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED;
}
"""
OPENS_LIBRARY = """
#include <dlfcn.h>
int main(int, char** words) { return dlopen(words[1], RTLD_NOW) == nullptr; }
"""


@needs_valgrind
def test_a_private_mapping_of_a_file_that_may_be_written_and_run_is_told(tmp_path: Path) -> None:
    run = executed([str(compiled(tmp_path, "p", IN_A_PRIVATE_FILE))], own_environment(), None, 60.0)
    assert run.unseen == "it makes code while it runs"


@needs_valgrind
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ('asm(".section .own,\\"awx\\",@progbits\\n nop\\n .text");', "it makes code while it runs"),
    ],
    ids=["plain", "writable code"],
)
def test_a_library_that_is_opened_and_may_run_what_it_writes_is_told(
    tmp_path: Path, text: str, told: str
) -> None:
    library = compiled(tmp_path, "own.so", text, "-shared", "-fPIC")
    program = compiled(tmp_path, "p", OPENS_LIBRARY)
    assert executed([str(program), str(library)], own_environment(), None, 60.0).unseen == told


MAPPED_TWICE = """
#include <sys/mman.h>
#include <unistd.h>
int main() {
  const int file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 4096) != 0) return 3;
  void* write = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  static_cast<unsigned char*>(write)[0] = 0xc3;
  return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, KIND, file, 0) == MAP_FAILED;
}
"""


@needs_valgrind
@pytest.mark.parametrize("kind", ["MAP_SHARED", "MAP_PRIVATE"])
def test_a_program_that_makes_code_through_a_second_mapping_is_told(tmp_path: Path, kind: str) -> None:
    program = compiled(tmp_path, "p", MAPPED_TWICE.replace("KIND", kind))
    assert "code while it runs" in executed([str(program)], own_environment(), None, 60.0).unseen


@needs_valgrind
def test_what_valgrind_cannot_run_is_told_in_words(tmp_path: Path) -> None:
    wide = 'int main() { asm volatile(".byte 0x62,0xf1,0x7d,0x48,0xef,0xc0"); }'  # vpxord zmm0, zmm0, zmm0
    with pytest.raises(LaunchFailed, match="an instruction that Valgrind does not know"):
        executed([str(compiled(tmp_path, "wide", wide))], own_environment(), None, 60.0)
    other = compiled(tmp_path, "other", "int main() {}")
    other.chmod(0o4755)
    with pytest.raises(LaunchFailed, match="is set-uid or set-gid"):
        executed([str(other)], own_environment(), None, 60.0)


@needs_valgrind
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("int main() { return 3; }", "exited with code 3"),
        ("#include <unistd.h>\nint main() { pause(); }", "did not end within"),
    ],
)
def test_a_run_that_fails_says_how(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(LaunchFailed, match=told):
        executed([str(compiled(tmp_path, "p", text))], own_environment(), None, 2.0)


@needs_valgrind
@pytest.mark.skipif(not can_fix_addresses(), reason="setarch -R is refused here")
def test_a_program_that_wants_fixed_addresses_need_not_start_itself_again(tmp_path: Path) -> None:
    """As Google Benchmark does since 1.9.3."""
    text = """
    #include <sys/personality.h>
    #include <unistd.h>
    int main(int, char** words) {
      const int now = personality(0xffffffff);
      if (now & ADDR_NO_RANDOMIZE) return 0;
      personality(now | ADDR_NO_RANDOMIZE);
      execv(words[0], words);
    }
    """
    program = compiled(tmp_path, "p", text)
    assert not executed([str(program)], own_environment(), tmp_path, 60.0).unseen


@needs_valgrind
def test_where_no_folder_can_be_made_that_is_said_of_the_place_and_of_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ended a comparison, whose verdicts were known by then, with an error that kept none of them."""
    monkeypatch.setattr("tempfile.tempdir", "/not/there")
    with pytest.raises(NoRoom, match="no program can be given a folder in /not/there"):
        executed(["true"], own_environment(), Path("/"), 60.0)
    with (
        pytest.raises(NoRoom, match="no program can be given a folder in /not/there"),
        launched(Launching(("true",), own_environment(), Path("/"), 60.0), (), {}),
    ):
        pass

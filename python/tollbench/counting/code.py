"""A function's instructions without what a linker decides: addresses, distances, padding."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import iced_x86 as x86

from tollbench.counting.image import Image
from tollbench.counting.thread_uses import ThreadUses, thread_uses

MOST_BYTES_WITHOUT_A_TABLE = 4096  # of a stub that no table tells the length of
_BRANCHES = frozenset(
    (
        x86.FlowControl.UNCONDITIONAL_BRANCH,
        x86.FlowControl.CONDITIONAL_BRANCH,
        x86.FlowControl.CALL,
        x86.FlowControl.XBEGIN_XABORT_XEND,
    )
)
_ENDS = frozenset(
    (
        x86.FlowControl.UNCONDITIONAL_BRANCH,
        x86.FlowControl.INDIRECT_BRANCH,
        x86.FlowControl.RETURN,
        x86.FlowControl.EXCEPTION,
    )
)
_COMPUTED = frozenset((x86.FlowControl.INDIRECT_CALL, x86.FlowControl.INDIRECT_BRANCH))
_NEAR = frozenset((x86.OpKind.NEAR_BRANCH16, x86.OpKind.NEAR_BRANCH32, x86.OpKind.NEAR_BRANCH64))
_ASKS_THE_PROCESSOR = frozenset((x86.Mnemonic.CPUID, x86.Mnemonic.XGETBV))
# With a register for the bit's number these reach beyond the operand.
_BITS = frozenset((x86.Mnemonic.BT, x86.Mnemonic.BTS, x86.Mnemonic.BTR, x86.Mnemonic.BTC))
_GUARD_OF_THE_STACK = 0x28  # fs:0x28, which is no variable of the program


class Use(IntEnum):
    """What an instruction does with an address."""

    GOES_TO = 0  # a call or jump
    READS = 1  # loads or stores `size` bytes there
    GOES_THROUGH = 2  # calls or jumps to what is stored there
    TAKES = 3  # has the address itself; what is behind it is not known
    THREAD_LOCAL = 4  # some thread-local variable; which one is in the instruction, or nowhere
    THREAD_READS = 5  # loads or stores `size` bytes at `target` of the executable's thread-local data
    THREAD_TAKES = 6


@dataclass(frozen=True, slots=True)
class Reference:
    """One address in one instruction."""

    use: Use
    target: int
    size: int = 0
    at: int = 0  # of the instruction


@dataclass(frozen=True, slots=True)
class Code:
    """A function in a form that is the same wherever it lies, but for what it refers to."""

    shape: bytes
    references: tuple[Reference, ...]
    starts: tuple[int, ...]  # addresses of the instructions, padding among them
    numbers: tuple[int, ...]  # of each its number, padding counted with what follows it
    branches_by_table: bool  # has a jump to an address that was computed
    reads_distances: bool  # reads numbers of four bytes from a table and makes eight of them
    asks_the_processor: bool  # which instructions it has
    calls_computed: bool  # has a call or jump to an address in a register, or found through one
    understood: bool

    def position(self, address: int) -> tuple[int, int] | None:
        """(number of an instruction, byte in it): code may jump behind a prefix. None beyond the function."""
        return _position(self.starts, self.numbers, address)


def _position(starts: Sequence[int], numbers: Sequence[int], address: int) -> tuple[int, int] | None:
    index = bisect.bisect_right(starts, address) - 1
    if index < 0 or index >= len(starts) - 1:  # the last start is the end
        return None
    return numbers[index], address - starts[index]


def decode(image: Image, start: int) -> Code:
    """The function that begins there, or the stub up to its last jump."""
    index = image.functions.containing(start)
    if index is not None and image.functions.starts[index] == start:
        raw = image.read(start, image.functions.ends[index] - start)
        instructions = list(_decoded(raw, start))
    else:
        raw = image.read(start, MOST_BYTES_WITHOUT_A_TABLE)
        instructions = list(_stub(_decoded(raw, start)))
        if not instructions or instructions[-1].flow_control not in _ENDS:
            return Code(b"", (), (start, start), (0, 0), False, False, False, False, understood=False)
    return _Coder(raw, start, image.thread_block).code(instructions)


def _decoded(raw: bytes, start: int) -> Iterator[x86.Instruction]:
    yield from x86.Decoder(64, raw, ip=start)


def _stub(instructions: Iterator[x86.Instruction]) -> Iterator[x86.Instruction]:
    furthest = 0
    for instruction in instructions:
        yield instruction
        flow = instruction.flow_control
        if flow == x86.FlowControl.CONDITIONAL_BRANCH:
            furthest = max(furthest, instruction.near_branch_target)
        if flow in _ENDS and instruction.next_ip > furthest:
            return


class _Coder:
    """Makes `Code` of one function."""

    def __init__(self, raw: bytes, start: int, thread_block: int) -> None:
        self._raw, self._start, self._thread_block = raw, start, thread_block
        self._threads = ThreadUses()
        self._references: list[Reference] = []
        self._starts: list[int] = []
        self._numbers: list[int] = []

    def code(self, decoded: list[x86.Instruction]) -> Code:
        instructions = [item for item in decoded if item.mnemonic != x86.Mnemonic.NOP]
        self._threads = thread_uses(instructions, self._thread_block)
        number = 0
        for item in decoded:
            self._starts.append(item.ip)
            self._numbers.append(number)
            number += item.mnemonic != x86.Mnemonic.NOP
        self._starts.append(decoded[-1].next_ip if decoded else self._start)
        parts: list[bytes] = []
        by_table = distances = asks = calls = False
        understood = bool(instructions)
        for instruction in instructions:
            parts.append(self._part(instruction))
            by_table |= instruction.flow_control == x86.FlowControl.INDIRECT_BRANCH
            distances |= (
                instruction.mnemonic == x86.Mnemonic.MOVSXD and instruction.op1_kind == x86.OpKind.MEMORY
            )
            calls |= instruction.flow_control in _COMPUTED and not instruction.is_ip_rel_memory_operand
            asks |= instruction.mnemonic in _ASKS_THE_PROCESSOR
            understood &= instruction.mnemonic != x86.Mnemonic.INVALID
        shape = b"".join(bytes((len(part),)) + part for part in parts)
        if instructions:
            self._fall_through(instructions[-1])
        understood &= not self._adds_up_addresses(instructions)
        starts, numbers = tuple(self._starts), tuple(self._numbers)
        flags = (by_table, distances, asks, calls, understood)
        return Code(shape, tuple(self._references), starts, numbers, *flags)

    def _adds_up_addresses(self, instructions: Sequence[x86.Instruction]) -> bool:
        """Whether addresses are made of a place in the function and a number, as for large code models."""
        own = range(self._start, self._starts[-1])
        if not any(item.use is Use.TAKES and item.target in own for item in self._references):
            return False
        return any(
            item.mnemonic == x86.Mnemonic.MOV and item.op1_kind == x86.OpKind.IMMEDIATE64
            for item in instructions
        )

    def _fall_through(self, last: x86.Instruction) -> None:
        """A function may end amid the way to the next one; a call at the end is one that does not return."""
        goes_on = last.flow_control in (x86.FlowControl.NEXT, x86.FlowControl.CONDITIONAL_BRANCH)
        if goes_on and last.mnemonic != x86.Mnemonic.HLT:
            self._references.append(Reference(Use.GOES_TO, self._starts[-1]))

    def _part(self, instruction: x86.Instruction) -> bytes:
        """The bytes of an instruction with zeros for its addresses; those go to the references."""
        if instruction.flow_control in _BRANCHES and instruction.op0_kind in _NEAR:
            return self._branch(instruction)
        begin = instruction.ip - self._start
        raw = self._raw[begin : begin + instruction.len]
        if instruction.is_ip_rel_memory_operand:
            self._references.append(self._memory(instruction, instruction.ip_rel_memory_address))
            return self._without_displacement(raw, instruction.ip)
        threads, at = self._threads, instruction.ip
        if use := threads.uses.get(at):
            kind = Use.THREAD_READS if use.size else Use.THREAD_TAKES
            self._references.append(Reference(kind, self._thread_block + use.distance, use.size))
        elif (
            instruction.memory_segment == x86.Register.FS
            and at not in threads.pointers
            and not _reads_guard(instruction)
        ):
            self._references.append(Reference(Use.THREAD_LOCAL, 0))
        raw = self._without_displacement(raw, at) if at in threads.displacements else raw
        return self._without_immediate(raw, at) if at in threads.immediates else raw

    def _branch(self, instruction: x86.Instruction) -> bytes:
        target = instruction.near_branch_target
        position = _position(self._starts, self._numbers, target)
        prefixes = bytes((instruction.has_repne_prefix, instruction.has_lock_prefix))
        kind = instruction.mnemonic.to_bytes(2, "little") + prefixes
        if position is None or instruction.flow_control == x86.FlowControl.CALL:  # also of itself
            self._references.append(Reference(Use.GOES_TO, target))
            return b"b" + kind
        number, byte = position
        return b"j" + kind + number.to_bytes(4, "little") + bytes((byte,))

    @staticmethod
    def _memory(instruction: x86.Instruction, address: int) -> Reference:
        if instruction.mnemonic == x86.Mnemonic.LEA:
            return Reference(Use.TAKES, address, at=instruction.ip)
        if instruction.flow_control in (x86.FlowControl.INDIRECT_BRANCH, x86.FlowControl.INDIRECT_CALL):
            return Reference(Use.GOES_THROUGH, address, 8)
        if instruction.mnemonic in _BITS and instruction.op1_kind == x86.OpKind.REGISTER:
            return Reference(Use.TAKES, address, at=instruction.ip)
        size = x86.MemorySizeExt.size(instruction.memory_size)
        return Reference(Use.READS if size else Use.TAKES, address, size)

    @staticmethod
    def _without_displacement(raw: bytes, ip: int) -> bytes:
        decoder = x86.Decoder(64, raw, ip=ip)
        places = decoder.get_constant_offsets(decoder.decode())
        begin, size = places.displacement_offset, places.displacement_size
        return raw[:begin] + bytes(size) + raw[begin + size :]

    @staticmethod
    def _without_immediate(raw: bytes, ip: int) -> bytes:
        decoder = x86.Decoder(64, raw, ip=ip)
        places = decoder.get_constant_offsets(decoder.decode())
        begin, size = places.immediate_offset, places.immediate_size
        return raw[:begin] + bytes(size) + raw[begin + size :]


def _reads_guard(instruction: x86.Instruction) -> bool:
    if (instruction.memory_base, instruction.memory_index) != (x86.Register.NONE, x86.Register.NONE):
        return False  # a distance from a variable that happens to be as large
    return bool(instruction.memory_displacement == _GUARD_OF_THE_STACK)

"""Which numbers in a function are distances of thread-local variables from the thread pointer.

An executable's own thread-local variables lie at fixed distances below the address that `fs` holds ("ELF
Handling For Thread-Local Storage", U. Drepper, the local-exec model of x86-64), and these distances stand in
the instructions like any other number:

    mov %fs:-0x40, %rax        a variable itself
    mov %fs:0, %rcx            the thread pointer, and with it
    lea -0x50(%rcx), %rdx      a variable's address
    mov $-0x20, %rax           a distance, and with it
    mov %fs:8(%rax), %rbp      a variable

A number is taken for a distance only where it is used as one and no way through the function leads to another
use of it; what is not understood stays what it is, a number in an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import iced_x86 as x86

_CALLS = frozenset((x86.FlowControl.CALL, x86.FlowControl.INDIRECT_CALL))
_NO_WAY_ON = frozenset(
    (
        x86.FlowControl.UNCONDITIONAL_BRANCH,
        x86.FlowControl.INDIRECT_BRANCH,
        x86.FlowControl.RETURN,
        x86.FlowControl.EXCEPTION,
    )
)
_JUMPS = frozenset((x86.FlowControl.UNCONDITIONAL_BRANCH, x86.FlowControl.CONDITIONAL_BRANCH))
# What a function that is called may leave something else in, where it returns something, and what it leaves
# alone (System V ABI for x86-64).
_NOT_KEPT = tuple(
    getattr(x86.Register, name) for name in ("RAX", "RCX", "RDX", "RSI", "RDI", "R8", "R9", "R10", "R11")
)
_RETURNED = (x86.Register.RAX, x86.Register.RDX)
_KEPT = tuple(getattr(x86.Register, name) for name in ("RBX", "RBP", "R12", "R13", "R14", "R15"))
_GENERAL = frozenset(range(x86.Register.RAX, x86.Register.R15 + 1))
_READ = frozenset(
    (x86.OpAccess.READ, x86.OpAccess.COND_READ, x86.OpAccess.READ_WRITE, x86.OpAccess.READ_COND_WRITE)
)
_WRITTEN = frozenset(
    (x86.OpAccess.WRITE, x86.OpAccess.COND_WRITE, x86.OpAccess.READ_WRITE, x86.OpAccess.READ_COND_WRITE)
)
_SIGNED = frozenset(
    (x86.OpKind.IMMEDIATE8TO64, x86.OpKind.IMMEDIATE32TO64, x86.OpKind.IMMEDIATE8, x86.OpKind.IMMEDIATE64)
)


class Origin(Enum):
    """What an instruction puts into a register."""

    POINTER = "the thread pointer"
    DISTANCE = "a distance from it"


@dataclass(frozen=True, slots=True)
class _Value:
    """What a register may hold: what the instruction at `at` put there, or (None) anything."""

    origin: Origin | None = None
    at: int = 0
    distance: int = 0
    past_a_call: bool = False  # a call was between, which may have put something else there


_ANYTHING = _Value()
_State = dict[int, frozenset[_Value]]  # register -> what it may hold; absent: anything
_NOTHING_KNOWN = frozenset((_ANYTHING,))


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """A variable that an instruction reaches, by its distance from the thread pointer."""

    distance: int  # below 0
    size: int = 0  # bytes read or written; 0: it has the address


@dataclass(slots=True)
class ThreadUses:
    """Of one function: by instruction the variable that it reaches, and which numbers are distances."""

    uses: dict[int, ThreadUse] = field(default_factory=dict)
    displacements: set[int] = field(default_factory=set)  # instructions whose displacement is a distance
    immediates: set[int] = field(default_factory=set)  # and whose immediate is one
    pointers: set[int] = field(default_factory=set)  # that load the thread pointer for such uses alone


def thread_uses(instructions: Sequence[x86.Instruction], block_bytes: int) -> ThreadUses:
    """`block_bytes` is how far below the thread pointer the executable's own variables begin."""
    if not any(_of_thread(item) for item in instructions):
        return ThreadUses()
    return _Function(instructions, block_bytes).uses()


def _of_thread(item: x86.Instruction) -> bool:
    return bool(item.memory_segment == x86.Register.FS)


def _signed(number: int, bits: int = 64) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _full(register: int) -> int:
    full: int = x86.RegisterExt.full_register(register)  # type: ignore[arg-type]
    return full


class _Function:
    """What may be in each register before each instruction, and what is made of it."""

    def __init__(self, instructions: Sequence[x86.Instruction], block_bytes: int) -> None:
        self._all = [item for item in instructions if item.mnemonic != x86.Mnemonic.NOP]
        self._places = {item.ip: index for index, item in enumerate(self._all)}
        self._block = block_bytes
        self._factory = x86.InstructionInfoFactory()
        self._spoilt: set[int] = set()  # instructions whose value is used in another way too
        self._found = ThreadUses()
        self._made_distances: set[int] = set()  # instructions that put a number there which may be one
        self._needs: dict[int, set[int]] = {}  # instruction -> those whose values it uses as a distance

    def uses(self) -> ThreadUses:
        """What is left when all uses of each value are known."""
        if any(item.flow_control == x86.FlowControl.INDIRECT_BRANCH for item in self._all):
            before: Sequence[_State] = [{} for _ in self._all]  # a jump may lead to any of them
            self._spoilt |= {item.ip for item in self._all}
        else:
            before = self._states()
        for item, state in zip(self._all, before, strict=True):
            self._look(item, state)
        found = self._found
        used = frozenset().union(*self._needs.values())
        self._spoilt |= (found.pointers | found.immediates & self._made_distances) - used
        for at, sources in self._needs.items():
            if sources & self._spoilt:
                found.uses.pop(at, None)
                found.displacements.discard(at)
                found.immediates.discard(at)
        found.immediates -= self._spoilt
        found.pointers -= self._spoilt
        return found

    def _states(self) -> Sequence[_State]:
        """Reaching definitions (A. Aho, M. Lam, R. Sethi, J. Ullman, "Compilers", 2nd edition, 9.2.4)."""
        places = self._places
        ways: list[list[int]] = []
        for index, item in enumerate(self._all):
            onward = [] if item.flow_control in _NO_WAY_ON else [index + 1]
            if item.flow_control in _JUMPS and item.near_branch_target in places:
                onward.append(places[item.near_branch_target])
            ways.append([way for way in onward if way < len(self._all)])
        reached = {way for onward in ways for way in onward}
        before: list[_State | None] = [None] * len(self._all)
        # Handlers of exceptions are entered by no instruction, with anything that calls leave where it was.
        anything_had: _State = {}
        for item in self._all:
            for register, value in self._made(item):
                if register not in _KEPT:
                    continue
                anything_had[register] = anything_had.get(register, _NOTHING_KNOWN) | {value}
        waiting = [index for index in range(len(self._all)) if index not in reached]
        if self._all and 0 not in waiting:
            waiting.append(0)
        for index in waiting:
            before[index] = dict(anything_had) if index else {}
        while waiting:
            index = waiting.pop()
            state = before[index]
            after = self._after(self._all[index], state or {})
            for way in ways[index]:
                joined = _joined(before[way], after)
                if joined != before[way]:
                    before[way] = joined
                    waiting.append(way)
        return [state or {} for state in before]

    def _made(self, item: x86.Instruction) -> list[tuple[int, _Value]]:
        """(register, what it gets) where an instruction loads the thread pointer, or a possible distance."""
        if item.mnemonic != x86.Mnemonic.MOV or item.op0_kind != x86.OpKind.REGISTER:
            return []
        register = item.op0_register
        if register not in _GENERAL:
            return []
        if _is_pointer(item):
            return [(register, _Value(Origin.POINTER, item.ip))]
        if item.op1_kind in _SIGNED and self._inside(distance := _signed(item.immediate(1))):
            return [(register, _Value(Origin.DISTANCE, item.ip, distance))]
        return []

    def _inside(self, distance: int) -> bool:
        return -self._block <= distance < 0

    def _after(self, item: x86.Instruction, state: _State) -> _State:
        after = dict(state)
        if item.flow_control in _CALLS:
            for register in _NOT_KEPT:
                if register in after:
                    kept = (_past(value) for value in after[register])
                    after[register] = frozenset(kept) | _NOTHING_KNOWN
        for used in self._factory.info(item).used_registers():
            register = _full(used.register)
            if used.access not in _WRITTEN or register not in after:
                continue
            whole = x86.RegisterExt.size(used.register) >= 4
            sure = used.access in (x86.OpAccess.WRITE, x86.OpAccess.READ_WRITE) and whole
            after[register] = _NOTHING_KNOWN if sure else after[register] | _NOTHING_KNOWN
        for register, value in self._made(item):
            after[register] = frozenset((value,))
        return {register: values for register, values in after.items() if values != _NOTHING_KNOWN}

    def _look(self, item: x86.Instruction, state: _State) -> None:
        """Notes what an instruction reaches, and which values it uses in some other way."""
        if _of_thread(item):
            self._by_segment(item)
        if _is_pointer(item) and item.mnemonic == x86.Mnemonic.MOV:
            self._found.pointers.add(item.ip)
        read = {
            _full(used.register) for used in self._factory.info(item).used_registers() if used.access in _READ
        }
        for register in read & state.keys():
            values = state[register]
            if not self._understood(item, register, values):
                self._spoilt |= {value.at for value in values if self._spoils(item, register, value)}
        if self._jumps_out(item):
            self._spoilt |= {value.at for values in state.values() for value in values if value.origin}
        for _, value in self._made(item):
            if value.origin is Origin.DISTANCE:
                self._found.immediates.add(item.ip)
                self._made_distances.add(item.ip)

    def _jumps_out(self, item: x86.Instruction) -> bool:
        """Whether a jump leaves the function: to its cold part, which goes on with all registers."""
        return item.flow_control in _JUMPS and item.near_branch_target not in self._places

    def _by_segment(self, item: x86.Instruction) -> None:
        """`%fs:-0x40`, and the same with an index: an array."""
        distance = _signed(item.memory_displacement)
        if item.memory_base != x86.Register.NONE or not self._inside(distance):
            return
        scaled = item.memory_index != x86.Register.NONE
        if scaled and item.memory_index_scale == 1:
            return  # the register may hold the distance, and the number be a place in the variable
        self._found.uses[item.ip] = ThreadUse(distance, 0 if scaled else _size(item))
        self._found.displacements.add(item.ip)
        self._needs[item.ip] = set()

    def _understood(self, item: x86.Instruction, register: int, values: frozenset[_Value]) -> bool:
        """Whether an instruction reaches a variable by what the register holds, and does nothing else."""
        origins = {value.origin for value in values}
        if len(origins) != 1 or any(value.past_a_call for value in values):
            return False
        sources = {value.at for value in values}
        if origins == {Origin.POINTER}:
            return self._by_pointer(item, register, sources)
        if origins == {Origin.DISTANCE} and len(values) == 1:
            return self._by_distance(item, register, next(iter(values)))
        return False

    def _by_pointer(self, item: x86.Instruction, register: int, sources: set[int]) -> bool:
        if item.mnemonic == x86.Mnemonic.ADD and item.op0_kind == x86.OpKind.REGISTER:
            distance = _signed(item.immediate(1)) if item.op1_kind in _SIGNED else 0
            if item.op0_register == register and self._inside(distance):
                return self._note(item, ThreadUse(distance), sources, self._found.immediates)
        distance = _signed(item.memory_displacement)
        alone = item.memory_base == register and not self._as_operand(item, register)
        if not alone or item.memory_index == register or _of_thread(item) or not self._inside(distance):
            return False
        whole = item.memory_index == x86.Register.NONE and item.mnemonic != x86.Mnemonic.LEA
        use = ThreadUse(distance, _size(item) if whole else 0)
        return self._note(item, use, sources, self._found.displacements)

    def _by_distance(self, item: x86.Instruction, register: int, value: _Value) -> bool:
        if not _of_thread(item):
            return False
        to_pointer = item.mnemonic == x86.Mnemonic.ADD and item.op0_kind == x86.OpKind.REGISTER
        at_pointer = _plain(item) and not item.memory_displacement
        if to_pointer and at_pointer and item.op0_register == register:
            return self._note(item, ThreadUse(value.distance), {value.at}, None)
        distance = value.distance + _signed(item.memory_displacement)
        alone = item.memory_base == register and not self._as_operand(item, register)
        if not alone or item.memory_index == register or not self._inside(distance):
            return False
        size = _size(item) if item.memory_index == x86.Register.NONE else 0
        return self._note(item, ThreadUse(distance, size), {value.at}, None)

    def _note(
        self, item: x86.Instruction, use: ThreadUse, sources: set[int], numbers: set[int] | None
    ) -> bool:
        if item.ip in self._needs:
            return False  # two registers of one instruction
        self._found.uses[item.ip] = use
        self._needs[item.ip] = sources
        if numbers is not None:
            numbers.add(item.ip)
        return True

    def _as_operand(self, item: x86.Instruction, register: int) -> bool:
        """Whether a register is read for itself, and not only to find a place in memory."""
        info = self._factory.info(item)
        return any(
            item.op_kind(at) == x86.OpKind.REGISTER
            and _full(item.op_register(at)) == register
            and info.op_access(at) in _READ
            for at in range(item.op_count)
        )

    def _spoils(self, item: x86.Instruction, register: int, value: _Value) -> bool:
        """Whether a use that is not understood matters to a value.

        Behind a call, a register for results holds the result, unless it is used as the value would be.
        """
        if value.origin is None:
            return False
        if not value.past_a_call or register not in _RETURNED:
            return True
        if value.origin is Origin.DISTANCE:
            return _of_thread(item)
        return register in (item.memory_base, item.memory_index) or item.mnemonic == x86.Mnemonic.ADD


def _is_pointer(item: x86.Instruction) -> bool:
    """Whether it reads the thread pointer, which stands where it points."""
    return _of_thread(item) and _plain(item) and not item.memory_displacement and _size(item) == 8


def _plain(item: x86.Instruction) -> bool:
    return (item.memory_base, item.memory_index) == (x86.Register.NONE, x86.Register.NONE)


def _size(item: x86.Instruction) -> int:
    size: int = x86.MemorySizeExt.size(item.memory_size)
    return size


def _past(value: _Value) -> _Value:
    return value if value.origin is None else _Value(value.origin, value.at, value.distance, True)


def _joined(before: _State | None, after: Mapping[int, frozenset[_Value]]) -> _State:
    if before is None:
        return dict(after)
    return {
        register: before.get(register, _NOTHING_KNOWN) | after.get(register, _NOTHING_KNOWN)
        for register in before.keys() | after.keys()
    }

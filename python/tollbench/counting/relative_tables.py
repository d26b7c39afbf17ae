"""Tables of distances from themselves to what they list, as Clang makes of switches that choose a text.

LLVM Language Reference Manual, "llvm.load.relative": the table's address, and the number of four bytes at an
index added to it. Such numbers change wherever a linker puts what they lead to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import iced_x86 as x86

from tollbench.counting.image import Image

MOST_ENTRIES = 1 << 16
_BASE, _DISTANCE = "base", "distance"
_Known = frozenset[tuple[int, str]]  # registers that hold the table's address, or a distance from it
_NARROWEST_BYTES = 4  # a shorter write leaves a part of the register as it was
# What functions that are called leave as it is, and do not look at (System V ABI for x86-64).
_KEPT = frozenset(
    (
        x86.Register.RBX,
        x86.Register.RBP,
        x86.Register.R12,
        x86.Register.R13,
        x86.Register.R14,
        x86.Register.R15,
    )
)
_RETURNED = frozenset((x86.Register.RAX, x86.Register.RDX))
_FACTORY = x86.InstructionInfoFactory()


class _Otherwise(Exception):
    """The address is used for something else, or nobody knows for what."""


def relative_tables(image: Image, start: int, places: Sequence[int]) -> dict[int, int]:
    """Those of the instructions at `places` that load a table's address, each with the number of its entries.

    Whatever way the function goes on from there, it reads numbers of four bytes at the address and adds them
    to it, each after it compared the index with the number of entries; no other instruction sees them.
    """
    index = image.functions.containing(start)
    if index is None or image.functions.starts[index] != start:
        return {}
    raw = image.read(start, image.functions.ends[index] - start)
    instructions = list(x86.Decoder(64, raw, ip=start))
    if any(item.flow_control == x86.FlowControl.INDIRECT_BRANCH for item in instructions):
        return {}
    try:
        caught = image.unwinding.handlers(start) is not None
    except ValueError:
        return {}
    by_place = {item.ip: item for item in instructions}
    found = {}
    for place in places:
        try:
            loads = _Walk(by_place, caught).loads(place)
        except _Otherwise:
            continue
        counts = {_entries(instructions, load) for load in loads}
        if counts and 0 not in counts:
            found[place] = max(counts)
    return found


@dataclass
class _Walk:
    """Follows one address through all ways that a function may take."""

    instructions: Mapping[int, x86.Instruction]
    caught: bool  # a call may come back elsewhere
    found: set[int] = field(default_factory=set)

    def loads(self, at: int) -> set[int]:
        """Where distances are loaded. Raises _Otherwise."""
        loading = self.instructions[at]
        register = loading.op0_register
        if loading.mnemonic != x86.Mnemonic.LEA or register != _full(register):
            raise _Otherwise
        waiting: list[tuple[int, _Known]] = [(loading.next_ip, frozenset({(register, _BASE)}))]
        seen = set(waiting)
        while waiting:
            place, known = waiting.pop()
            if place not in self.instructions:
                raise _Otherwise
            item = self.instructions[place]
            known = self._after(item, known)
            more = {(target, known) for target in self._next(item, known)} - seen if known else set()
            waiting += more
            seen |= more
        return self.found

    def _after(self, item: x86.Instruction, known: _Known) -> _Known:
        """What is known behind an instruction. Raises _Otherwise where it sees what is known."""
        of = dict(known)
        used = [one for one in _FACTORY.info(item).used_registers() if _full(one.register) in of]
        if all(one.access == x86.OpAccess.WRITE for one in used):
            if any(x86.RegisterExt.size(one.register) < _NARROWEST_BYTES for one in used):
                raise _Otherwise
            return frozenset(one for one in known if one[0] not in {_full(each.register) for each in used})
        rest = frozenset(one for one in known if one[0] != item.op0_register)
        if _loads(item, of):
            self.found.add(item.ip)
            return rest | {(item.op0_register, _DISTANCE)}
        if _copies(item) and item.op1_register in of:
            return rest | {(item.op0_register, of[item.op1_register])}
        if _adds(item, of):
            return rest
        raise _Otherwise

    def _next(self, item: x86.Instruction, known: _Known) -> Iterator[int]:
        """Where it goes on. Raises _Otherwise where others may see what is known."""
        flow = item.flow_control
        registers = {register for register, _ in known}
        if flow in (x86.FlowControl.CALL, x86.FlowControl.INDIRECT_CALL):
            if self.caught or not registers <= _KEPT:
                raise _Otherwise
            yield item.next_ip
        elif flow == x86.FlowControl.RETURN:
            if registers & (_RETURNED | _KEPT):
                raise _Otherwise
        elif flow in (x86.FlowControl.NEXT, x86.FlowControl.CONDITIONAL_BRANCH):
            yield item.next_ip
        elif flow != x86.FlowControl.UNCONDITIONAL_BRANCH:
            raise _Otherwise
        if flow in (x86.FlowControl.CONDITIONAL_BRANCH, x86.FlowControl.UNCONDITIONAL_BRANCH):
            yield item.near_branch_target


def _full(register: Any) -> int:
    return x86.RegisterExt.full_register(register)


def _copies(item: x86.Instruction) -> bool:
    """Moves a whole register into another one."""
    registers = item.op0_kind == item.op1_kind == x86.OpKind.REGISTER
    return item.mnemonic == x86.Mnemonic.MOV and registers and item.op0_register == _full(item.op0_register)


def _loads(item: x86.Instruction, of: Mapping[int, str]) -> bool:
    """Reads a number at an index from the address, and makes eight bytes of it."""
    return (
        item.mnemonic == x86.Mnemonic.MOVSXD
        and item.op1_kind == x86.OpKind.MEMORY
        and item.op0_register == _full(item.op0_register)
        and of.get(item.memory_base) == _BASE
        and item.memory_index != x86.Register.NONE
        and item.memory_index not in of
        and item.memory_index_scale == 4
        and item.memory_displacement == 0
        and item.segment_prefix == x86.Register.NONE
    )


def _adds(item: x86.Instruction, of: Mapping[int, str]) -> bool:
    """Adds a distance to the address."""
    if item.mnemonic == x86.Mnemonic.ADD and item.op1_kind == x86.OpKind.REGISTER:
        return {of.get(item.op0_register), of.get(item.op1_register)} == {_BASE, _DISTANCE}
    return (
        item.mnemonic == x86.Mnemonic.LEA
        and item.op0_register == _full(item.op0_register)
        and {of.get(item.memory_base), of.get(item.memory_index)} == {_BASE, _DISTANCE}
        and item.memory_index_scale == 1
        and item.memory_displacement == 0
    )


def _entries(instructions: Sequence[x86.Instruction], load: int) -> int:
    """How many indices may get to a load: those up to `highest` of `cmp index, highest`, `ja`. 0: unknown."""
    targets = {item.near_branch_target for item in instructions if item.near_branch_target}
    position = next(number for number, item in enumerate(instructions) if item.ip == load)
    index: int = instructions[position].memory_index
    while position > 1 and instructions[position].ip not in targets:
        position -= 1
        item = instructions[position]
        if item.mnemonic == x86.Mnemonic.JA:
            before = instructions[position - 1]
            return 0 if item.ip in targets else _highest(before, index) + 1
        if item.flow_control != x86.FlowControl.NEXT:
            return 0
        used = _FACTORY.info(item).used_registers()
        if any(_full(one.register) == index and one.access != x86.OpAccess.READ for one in used):
            if item.mnemonic != x86.Mnemonic.MOV or item.op1_kind != x86.OpKind.REGISTER:
                return 0
            if min(map(x86.RegisterExt.size, (item.op0_register, item.op1_register))) < _NARROWEST_BYTES:
                return 0
            index = _full(item.op1_register)
    return 0


def _highest(item: x86.Instruction, register: int) -> int:
    """What a register is compared with; -1 where it is not."""
    if item.mnemonic != x86.Mnemonic.CMP or item.op0_kind != x86.OpKind.REGISTER:
        return -1
    if item.op1_kind not in _IMMEDIATES or _full(item.op0_register) != register:
        return -1
    if x86.RegisterExt.size(item.op0_register) < _NARROWEST_BYTES:
        return -1
    value = int(item.immediate(1))
    return value if 0 <= value < MOST_ENTRIES else -1


_IMMEDIATES = frozenset(
    (
        x86.OpKind.IMMEDIATE8,
        x86.OpKind.IMMEDIATE8TO32,
        x86.OpKind.IMMEDIATE8TO64,
        x86.OpKind.IMMEDIATE32,
        x86.OpKind.IMMEDIATE32TO64,
    )
)

"""What a function does with an address that it has in a register."""

from __future__ import annotations

import iced_x86 as x86

from tollbench.counting.image import Image

_READS = frozenset(
    (x86.OpAccess.READ, x86.OpAccess.COND_READ, x86.OpAccess.READ_WRITE, x86.OpAccess.READ_COND_WRITE)
)
# A function that is called may get it, or the caller what is returned (System V ABI for x86-64).
_HANDED_ON = frozenset(
    (
        x86.Register.RAX,
        x86.Register.RDI,
        x86.Register.RSI,
        x86.Register.RDX,
        x86.Register.RCX,
        x86.Register.R8,
        x86.Register.R9,
    )
)
_LEAVES = frozenset((x86.FlowControl.CALL, x86.FlowControl.INDIRECT_CALL, x86.FlowControl.INDIRECT_BRANCH))


def only_compared(image: Image, start: int, at: int) -> bool:
    """Whether the address that the instruction at `at` puts into a register is compared, and nothing else.

    So are the ends of loops. No other instruction of the function may read that register, whatever it holds
    then; where the function may hand registers on, it must not be one that is handed on.
    """
    index = image.functions.containing(start)
    if index is None:
        return False
    raw = image.read(start, image.functions.ends[index] - start)
    instructions = list(x86.Decoder(64, raw, ip=start))
    loading = next((item for item in instructions if item.ip == at), None)
    if loading is None or loading.op0_kind != x86.OpKind.REGISTER:
        return False
    register = x86.RegisterExt.full_register(loading.op0_register)
    if register in _HANDED_ON and any(_leaves(item, start, start + len(raw)) for item in instructions):
        return False
    factory = x86.InstructionInfoFactory()
    return all(
        item.ip == at or _harmless(item, register, factory, before=item.ip < at) for item in instructions
    )


def _leaves(item: x86.Instruction, start: int, end: int) -> bool:
    if item.flow_control in _LEAVES:
        return True
    branches = (x86.FlowControl.UNCONDITIONAL_BRANCH, x86.FlowControl.CONDITIONAL_BRANCH)
    return item.flow_control in branches and not start <= item.near_branch_target < end


def _harmless(
    item: x86.Instruction, register: int, factory: x86.InstructionInfoFactory, *, before: bool
) -> bool:
    reads = any(
        x86.RegisterExt.full_register(used.register) == register and used.access in _READS
        for used in factory.info(item).used_registers()
    )
    if not reads:
        return True
    if item.mnemonic == x86.Mnemonic.PUSH:  # the caller's value is saved
        return before
    in_memory = {
        x86.RegisterExt.full_register(part)
        for part in (item.memory_base, item.memory_index)
        if part != x86.Register.NONE
    }
    return item.mnemonic == x86.Mnemonic.CMP and register not in in_memory

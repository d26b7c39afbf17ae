"""Exact integer arithmetic for reference answers: a suite file states one as text over its parameters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from operator import add, mul, sub

from tollbench.errors import TollError

MAX_TEXT = 1_000
MAX_BITS = 65_536
MODULUS = 2**64


def evaluate(text: str, values: Mapping[str, int]) -> int:
    """`text` over whole numbers with + - * / // % ** and brackets, modulo 2**64.

    `/` must divide exactly, so that an answer is never rounded. Raises TollError for anything else.
    """
    try:
        if len(text) > MAX_TEXT:
            raise ValueError(f"it is longer than {MAX_TEXT} characters")
        return _value(ast.parse(text.strip(), mode="eval").body, values) % MODULUS
    except SyntaxError:
        problem = "it is not an arithmetic expression"
    except (ValueError, ZeroDivisionError, RecursionError, MemoryError) as error:
        problem = str(error)
    raise TollError(
        f"The reference answer {text[:200]!r} cannot be computed: {problem}.",
        "Mend `answer` in suite.toml: whole numbers, parameter names, + - * / // % ** and brackets.",
    )


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            if name not in values:
                raise ValueError(f"{name} is not a whole-number parameter (there are: {', '.join(values)})")
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            result = _OPERATORS[type(operator)](_value(left, values), _value(right, values))
            if result.bit_length() > MAX_BITS:
                raise ValueError(f"an intermediate value has more than {MAX_BITS} bits")
            return result
    raise ValueError(f"{ast.unparse(node)[:80]!r} is not allowed in it")


def _exact_division(dividend: int, divisor: int) -> int:
    quotient, remainder = divmod(dividend, divisor)
    if remainder:
        raise ValueError("a division leaves a remainder")
    return quotient


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ValueError("an exponent is negative")
    if abs(base) > 1 and base.bit_length() * exponent > 2 * MAX_BITS:
        raise ValueError(f"a power has more than {MAX_BITS} bits")
    return int(base**exponent)


def _quotient(dividend: int, divisor: int) -> int:
    return dividend // divisor


def _remainder(dividend: int, divisor: int) -> int:
    return dividend % divisor


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: _exact_division,
    ast.FloorDiv: _quotient,
    ast.Mod: _remainder,
    ast.Pow: _power,
}

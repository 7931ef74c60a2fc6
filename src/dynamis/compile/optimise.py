"""Rewrites of a Program that save time and change results by rounding at most."""

from collections import Counter

from .builder import Builder
from .program import Constant, Input, Operation, Program


def share_reciprocals(program: Program) -> Program:
    """Several divisions by one value become one reciprocal and multiplications."""
    divisors = Counter(
        i.operands[1] for i in program.instructions if isinstance(i, Operation) and i.op == "div"
    )
    shared = {value for value, count in divisors.items() if count > 1}
    if not shared:
        return program
    builder = Builder()
    new: list[int] = []
    for instruction in program.instructions:
        match instruction:
            case Input(port, index):
                new.append(builder.input(port, index))
            case Constant(value):
                new.append(builder.constant(value))
            case Operation("div", (a, b)) if b in shared:
                inverse = builder.op("div", builder.constant(1.0), new[b])
                new.append(builder.op("mul", new[a], inverse))
            case Operation(op, operands):
                new.append(builder.op(op, *(new[a] for a in operands)))
    results = [[new[v] for v in result] for result in program.results]
    return builder.program(program.name, program.inputs, program.outputs, results)


# taking out common factors: a x + b x = (a + b) x, across whole sums of a Program

Group = list[tuple[int, int]]  # terms with a common factor: (sign, other factor)
SUMS = ("add", "sub", "neg")


def factored(program: Program) -> Program:
    """a x + b x becomes (a + b) x, in sums of any length, where neither product is needed itself.

    A sum is read through additions, subtractions and sign changes that serve nothing else, so two
    of its terms need not stand side by side. Repeated until nothing more is saved.
    """
    while True:
        better = _factored_once(program)
        if better is None or better.cost.total >= program.cost.total:
            return program
        program = better


def _factored_once(program: Program) -> Program | None:
    """One pass over all sums; None if no sum has a common factor."""
    code = program.instructions
    uses = Counter(a for i in code if isinstance(i, Operation) for a in i.operands)
    uses.update(v for result in program.results for v in result)
    inner = _inner_sums(program, uses)
    sums = [
        k
        for k, i in enumerate(code)
        if isinstance(i, Operation) and i.op in ("add", "sub") and k not in inner
    ]
    found = {k: _common_factors(program, _terms(program, k, 1, inner), uses) for k in sums}
    if not any(found.values()):
        return None
    builder = Builder()
    new: list[int] = []
    for k, instruction in enumerate(code):
        match instruction:
            case Input(port, index):
                new.append(builder.input(port, index))
            case Constant(value):
                new.append(builder.constant(value))
            case Operation(op, operands):
                if groups := found.get(k):
                    new.append(_sum(builder, groups, new))
                else:
                    new.append(builder.op(op, *[new[a] for a in operands]))
    results = [[new[v] for v in result] for result in program.results]
    return builder.program(program.name, program.inputs, program.outputs, results)


def _inner_sums(program: Program, uses: Counter) -> set[int]:
    """Sums and sign changes that serve one other sum only."""
    inner = set()
    for instruction in program.instructions:
        if isinstance(instruction, Operation) and instruction.op in SUMS:
            for a in instruction.operands:
                part = program.instructions[a]
                plain = isinstance(part, Operation) and part.op in SUMS
                if plain and uses[a] == 1:
                    inner.add(a)
    return inner


def _terms(program: Program, k: int, sign: int, inner: set[int]) -> list[tuple[int, int]]:
    """(sign, value) of every term of a sum."""
    instruction = program.instructions[k]
    if not isinstance(instruction, Operation) or instruction.op not in SUMS:
        return [(sign, k)]
    signs = {"add": (sign, sign), "sub": (sign, -sign), "neg": (-sign,)}[instruction.op]
    found: list[tuple[int, int]] = []
    for a, own in zip(instruction.operands, signs, strict=True):
        found += _terms(program, a, own, inner) if a in inner else [(own, a)]
    return found


def _common_factors(
    program: Program, terms: list[tuple[int, int]], uses: Counter
) -> list[tuple[int | None, Group]]:
    """Terms grouped by a common factor, greedily; empty if there is none to take out."""
    products = {}
    for sign, value in terms:
        part = program.instructions[value]
        if isinstance(part, Operation) and part.op == "mul" and uses[value] == 1:
            products[sign, value] = part.operands
    if len(products) < 2:
        return []
    groups: list[tuple[int | None, Group]] = []
    left = dict(products)
    while left:
        counts = Counter(f for pair in left.values() for f in set(pair))
        factor, count = max(counts.items(), key=lambda item: (item[1], -item[0]))
        if count < 2:
            break
        taken = [key for key, pair in left.items() if factor in pair]
        group = []
        for sign, value in taken:
            a, b = left.pop((sign, value))
            group.append((sign, b if a == factor else a))
        groups.append((factor, group))
    if not groups:
        return []
    used = {value for sign, value in products if (sign, value) not in left}
    rest = [(sign, value) for sign, value in terms if value not in used]
    return [*groups, (None, rest)]


def _sum(builder: Builder, groups: list[tuple[int | None, Group]], new: list[int]) -> int:
    """Rebuild a sum of groups, positive terms first so that no sign change is left over."""
    signed: list[tuple[int, int]] = []
    for factor, group in groups:
        if factor is None:
            signed += [(sign, new[value]) for sign, value in group]
            continue
        sign, inside = _total(builder, [(s, new[v]) for s, v in group])
        signed.append((sign, builder.op("mul", inside, new[factor])))
    sign, value = _total(builder, signed)
    return value if sign > 0 else builder.op("neg", value)


def _total(builder: Builder, terms: list[tuple[int, int]]) -> tuple[int, int]:
    """A signed sum as (sign, value)."""
    ordered = sorted(terms, key=lambda term: -term[0])
    sign, value = ordered[0]
    for other, term in ordered[1:]:
        value = builder.op("add" if other == sign else "sub", value, term)
    return sign, value

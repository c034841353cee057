"""Which assembly a kernel may contain. What leaves its function could declare memory that
outlives a launch, or further entries. What reads the time, the number of a launch, the
multiprocessor or an address gives a kernel something that its arguments do not: it could be
right while it is judged, and wrong elsewhere."""

import re

_COMMENT = re.compile(r"//[^\n]*")
_OPERAND = re.compile(r"\$\{\d+(:[a-z])?\}")
_LABEL = re.compile(r"^\s*[\w$%]+\s*:(?!:)")
_CONSTRAINTS = re.compile(r"[\w=,&~{}+* ]*")
_ELSEWHERE = re.compile(r"%(?:clock|clock64|clock_hi|globaltimer(?:_lo|_hi)?|smid|gridid|pm\d+(?:_64)?)\b")


def check_registers(text: str) -> None:
    """PTX of a kernel, its own or a compiler's."""
    if found := _ELSEWHERE.search(text):
        raise ValueError(f"a kernel must not read {found[0]}: what it computes depends on its arguments "
                         "alone, not on when and where it runs")  # fmt: skip


def check_assembly(text: str) -> None:
    """Instructions alone, inside the function they stand in: no directive but .reg, braces
    that match, nothing that hides text from this check."""
    if not all(c in "\n\t" or " " <= c <= "~" for c in text):
        raise ValueError("inline assembly is plain ASCII text")
    for hidden in ("/*", '"', "#", "\\", "$(", "$|", "$)"):
        if hidden in text:
            raise ValueError(f"inline assembly must not contain {hidden}")
    text = _COMMENT.sub("", _OPERAND.sub("$0", text))
    if "${" in text:
        raise ValueError("inline assembly names its operands $0, $1, …")
    check_registers(text)
    if "__" in text or ".param" in text:
        raise ValueError("inline assembly must not name symbols outside the kernel")
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth != 0:
        raise ValueError("the braces of inline assembly do not match")
    for statement in re.split(r"[;{}]", text):
        while _LABEL.match(statement):
            statement = _LABEL.sub("", statement, count=1)
        if statement.lstrip().startswith(".") and not re.match(r"\s*\.reg\s", statement):
            raise ValueError("inline assembly must not contain directives other than .reg: "
                             + statement.strip()[:40])  # fmt: skip


def check_constraints(text: str) -> None:
    if not _CONSTRAINTS.fullmatch(text):
        raise ValueError("the constraints of inline assembly")


def check_pointers(text: str, constraints: str) -> None:
    """Assembly that is given pointers: they stand in brackets, where they are read and written
    through. What is no pointer and as wide is taken for one."""
    for at, constraint in enumerate(constraints.split(",")):
        operand = rf"\$(?:{at}\b|\{{{at}(?::[a-z])?\}})"
        if "l" in constraint and "=" not in constraint and re.search(
            operand, re.sub(rf"\[\s*{operand}\s*(?:\+\s*-?\w+\s*)?\]", "", text)
        ):
            raise ValueError(f"inline assembly uses a pointer other than as [${at}] or [${at}+16]")

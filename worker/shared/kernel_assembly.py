"""Which inline assembly a kernel may contain. Assembly that left its function could declare
memory that outlives a launch, or further entries."""

import re

_COMMENT = re.compile(r"//[^\n]*")
_OPERAND = re.compile(r"\$\{\d+(:[a-z])?\}")
_LABEL = re.compile(r"^\s*[\w$%]+\s*:(?!:)")
_CONSTRAINTS = re.compile(r"[\w=,&~{}+* ]*")


def check_text(text: str) -> None:
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
    if "__" in text:
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

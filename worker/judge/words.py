"""The words of a record, from the tables of the C side (src/verify/verdict.c and
src/pack/pack_file.c). Do not edit: `WRITE_WORDS=1 make unit NAME=words` writes it."""

VERDICTS = (
    "correct",
    "no_code",
    "truncated",
    "static_reject",
    "compile_error",
    "launch_error",
    "timeout",
    "out_of_memory",
    "crash",
    "wrong_shape",
    "wrong_dtype",
    "not_finite",
    "wrong_values",
    "hack",
    "not_judged",
    "infra",
)
STAGES = (
    "extract",
    "static",
    "fork",
    "load",
    "record",
    "compile",
    "first_call",
    "trials",
    "timing",
    "evidence",
    "done",
)
EVIDENCE = (
    "E0",
    "E2",
    "E3",
)
PRECISIONS = (
    "fp32",
    "fp16",
    "bf16",
    "tf32",
)
RULES = 2  # of truth: see verdict.h

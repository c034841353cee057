"""Why a decomposition, or one of its pieces, is refused: the nine steps of the validator and their
codes. docs/CURRICULUM.md has the same table."""

from dataclasses import dataclass

STEPS = {
    1: "parse", 2: "run", 3: "deterministic", 4: "declared", 5: "non-trivial", 6: "graph",
    7: "composition", 8: "realism", 9: "size",
}  # fmt: skip

# (step, code, meaning)
TABLE = [
    (1, "bad_json", "the proposal is not one JSON object"),
    (1, "bad_schema", "a field is missing, or is not of the kind that the contract asks for"),
    (1, "bad_id", "an id is not 3 to 40 lower-case letters, digits and underscores"),
    (1, "duplicate_id", "two subproblems have the same id"),
    (1, "syntax_error", "the source is not Python"),
    (1, "missing_definition", "the source lacks Model, get_inputs or get_init_inputs, or has two"),
    (1, "forbidden_import", "an import of something else than torch and math"),
    (1, "dsl_import", "an import of a kernel language: a piece is a PyTorch program"),
    (1, "forbidden_name", "a name that is neither defined in the file nor among the builtins allowed"),
    (1, "forbidden_attribute", "a function, method or attribute that pieces may not use"),
    (1, "forbidden_syntax", "a statement that pieces may not use"),
    (1, "monkeypatch", "an assignment to something that is not the file's own"),
    (2, "not_captured", "what the task does cannot be captured, or has no place to cut"),
    (2, "load_failed", "the file, or the construction of Model, raises an exception"),
    (2, "inputs_failed", "get_inputs raises an exception or returns something else than tensors"),
    (2, "forward_failed", "forward raises an exception or does not return one tensor"),
    (2, "timeout", "it did not end in time"),
    (2, "out_of_memory", "it needs more memory than it may take"),
    (2, "crashed", "its process ended by itself"),
    (2, "forged_answer", "its process sent something that the harness never sends"),
    (3, "inputs_vary", "get_inputs gives other values for the same seed"),
    (3, "constant_inputs", "get_inputs gives the same values for every seed"),
    (3, "state_across_calls", "a second call with the same inputs gives something else"),
    (3, "hidden_rng", "the output depends on the state of the random generator"),
    (3, "not_reproducible", "another process computes something else from the same inputs"),
    (3, "constant_output", "the output is the same for other inputs"),
    (4, "not_finite", "the output has NaN or Inf"),
    (4, "rms_out_of_range", "the rms of the output is not between 1e-3 and 1e3"),
    (4, "inputs_differ_from_declared", "get_inputs gives other shapes, dtypes or numbers of tensors"),
    (4, "output_differs_from_declared", "the output has another shape or dtype"),
    (5, "pure_copy", "the output only rearranges elements of the inputs"),
    (5, "ignores_input", "an input has no effect on the output"),
    (5, "too_small", "inputs and output together have fewer than 512 elements"),
    (5, "duplicate", "another subproblem has the same program and inputs"),
    (6, "unknown_source", "`from` names no argument of the task, or no subproblem and output"),
    (6, "source_mismatch", "`from` names a tensor of another shape"),
    (6, "cyclic", "subproblems need each other in a circle"),
    (6, "wrong_depends_on", "depends_on is not what the inputs' `from` says"),
    (6, "needs_refused", "it needs a subproblem that was refused"),
    (7, "composition_incomplete", "the composition names a subproblem that is missing or refused"),
    (7, "composition_not_bitwise", "the pieces in order do not give the task's output bit for bit"),
    (7, "composition_algebra", "in fp64 the composition differs from the task by more than 1e-9"),
    (7, "composition_inexact", "in the run's precision the composition is off by more than 1 %"),
    (7, "reformulation_differs", "a reformulation does not compute what the task computes"),
    (8, "unrealistic_inputs", "get_inputs is unlike the tensors that the task has there"),
    (9, "not_smaller", "a piece makes as many calls of torch as the task, or more"),
]  # fmt: skip
STEP = {code: step for step, code, _ in TABLE}


@dataclass
class Finding(Exception):
    """A refusal of one subproblem, or of the whole where `sub` is None."""

    code: str
    detail: str
    sub: str | None = None

    def __post_init__(self) -> None:
        if self.code not in STEP:
            raise ValueError(f"no such reason: {self.code}")

    def record(self) -> dict:
        line = " ".join(self.detail.split())[:300]
        return {"sub": self.sub, "step": STEP[self.code], "code": self.code, "detail": line}

"""Measures the reference under torch.compile, which kernels are compared with besides the eager
reference. Compiling takes long, so it happens here, in a process beside the judge, once per task
and precision. This process runs no candidate.

Started by the judge. A JSON line on stdin says what to compile. It prints `ready` when compiling is
done, or when that needs more memory than is free. Then it waits for a line `go`, which means that
it has the device to itself, measures, and prints the figures, or why there are none, as a JSON
line."""

import json
import os
import sys
import tempfile

if __name__ == "__main__":
    # worker/, where the packages lie
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not the answer
    asked = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory() as folder:
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            os.environ[name] = os.path.join(folder, name)
        print(json.dumps(measured(asked, out)), file=out, flush=True)


def measured(asked: dict, out) -> dict:
    from judge import feedback

    try:
        import torch
        import torch._inductor.config
        from judge import timing, truth
        from shared import inputs

        torch.set_num_threads(1)
        torch._inductor.config.compile_threads = 1
        reference = truth.Reference(
            asked["source"], asked["precision"], asked["device"], asked["init_seed"]
        )
        pair = reference.fresh()
        model, dtype = pair.baseline()
        call = torch.compile(model)

        def compile_it() -> None:
            args = inputs.make(reference.space, 1, "plain", reference.device, dtype)
            with torch.no_grad():
                call(*args)

        with truth.precision_flags(asked["precision"]):
            try:
                compile_it()
                wait_for_device(out)
            except torch.OutOfMemoryError:  # beside another task; alone it may fit
                torch.cuda.empty_cache()
                wait_for_device(out)
                compile_it()
            return {"ms": timing.sampled(pair, call, dtype), "why": None}
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is no candidate's
        why = f"{type(problem).__name__}: {problem}"
        return {"ms": None, "why": feedback.plain(feedback.clean(why))[:300]}


def wait_for_device(out) -> None:
    print("ready", file=out, flush=True)
    if sys.stdin.readline() != "go\n":
        os._exit(1)


if __name__ == "__main__":
    main()

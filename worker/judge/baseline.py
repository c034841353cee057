"""What a kernel is compared with besides the eager reference: the reference under
torch.compile. Compiling takes long, so it is done here, in a process beside the judge, once
for a task and precision; it runs no candidate.

Started by the judge. A JSON line on stdin says what to compile; `ready` goes out when that
is done; after a line `go`, when the device is ours alone, it is measured, and the figures,
or why there are none, go out as a JSON line."""

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
        args = inputs.make(reference.space, 1, "plain", reference.device, dtype)
        with truth.precision_flags(asked["precision"]):
            with torch.no_grad():
                call(*args)
            print("ready", file=out, flush=True)
            if sys.stdin.readline() != "go\n":
                os._exit(1)
            return {"ms": timing.sampled(pair, call, dtype), "why": None}
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is no candidate's
        why = f"{type(problem).__name__}: {problem}"
        return {"ms": None, "why": feedback.plain(feedback.clean(why))[:300]}


if __name__ == "__main__":
    main()

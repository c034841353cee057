"""What this Python can do, as one JSON object on stdout: `monkeys doctor` asks."""

import gc
import json
import platform
import sys


def main() -> None:
    gc.disable()  # nothing that is imported is garbage
    facts: dict = {"python": platform.python_version(), "executable": sys.executable}
    try:
        import torch

        facts["torch"] = torch.__version__
        facts["cuda"] = torch.version.cuda
        facts["gpus"] = [
            torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())
        ]
    except Exception as problem:  # a broken torch fails in many ways
        facts["torch_error"] = f"{type(problem).__name__}: {problem}"[:300]
    try:
        import numpy

        facts["numpy"] = numpy.__version__
    except ImportError:
        facts["numpy"] = None
    print(json.dumps(facts))
    gc.freeze()  # nor is it searched at the end


main()

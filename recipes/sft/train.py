#!/usr/bin/env python3
"""Trains a LoRA adapter on records that `monkeys export sft` writes.

    python3 recipes/sft/train.py --model Qwen/Qwen3-30B-A3B --data sft/train.jsonl --out adapter
    python3 recipes/sft/train.py … --grid batch=4,8 rank=32,64 epochs=2,4
    python3 recipes/sft/train.py --model Qwen/Qwen3-30B-A3B --out adapter --merge whole
    python3 recipes/sft/train.py --self-test

Needs torch, transformers and peft. A record has `messages`, the last of which is the assistant's,
or `prompt` and `completion`, each a list of messages. The loss is the mean over the tokens of the
completion, then over the examples of a batch; tokens of the prompt have no loss. A record that is
longer than --max-length is left out and counted, never cut. The same command continues where it
stopped. OUT/log.jsonl has a line for each step, OUT/summary.json what came of it."""

import argparse
import itertools
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
CHUNK = 2048  # completion tokens whose logits are held at once
STATE = "state.pt"


@dataclass(frozen=True)
class Settings:
    rank: int = 64
    alpha: int = 32
    lr: float = 4.99e-4
    warmup: int = 5
    batch: int = 8
    epochs: int = 4
    max_length: int = 24576
    save_every: int = 25
    seed: int = 0
    target: str = "attention"


@dataclass(frozen=True)
class Example:
    ids: list[int]
    start: int  # of the completion


# ---- records -----------------------------------------------------------------


def turns(record: dict) -> tuple[list[dict], dict]:
    """What was asked, and the answer."""
    messages = record.get("messages") or record["prompt"] + record["completion"]
    if messages[-1]["role"] != "assistant":
        raise ValueError("the last message is not the assistant's")
    return messages[:-1], messages[-1]


class ChatText:
    """A model's own tokenizer and chat template. The prompt is rendered as a server renders it, so
    that training and inference see the same tokens."""

    def __init__(self, model: str, thinking: bool) -> None:
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.thinking = thinking

    def example(self, record: dict) -> Example:
        asked, answer = turns(record)
        prompt = self.tokenizer.apply_chat_template(
            asked, tokenize=False, add_generation_prompt=True, enable_thinking=self.thinking
        )
        end = self.tokenizer.eos_token
        first = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        rest = self.tokenizer(answer["content"] + end, add_special_tokens=False)["input_ids"]
        return Example(first + rest, len(first))


class ByteText:
    """A token for each byte: for the self-test, which has no vocabulary."""

    end = 256

    def example(self, record: dict) -> Example:
        asked, answer = turns(record)
        prompt = "".join(f"{m['role']}\n{m['content']}\n" for m in asked) + "assistant\n"
        first = list(prompt.encode())
        return Example(first + [*answer["content"].encode(), self.end], len(first))


def read(path: Path, text: object, longest: int) -> list[Example]:
    examples, dropped = [], 0
    for number, line in enumerate(path.open(encoding="utf-8"), 1):
        if not line.strip():
            continue
        try:
            example = text.example(json.loads(line))
        except (ValueError, KeyError, TypeError, IndexError) as problem:
            sys.exit(f"{path}:{number}: not a record: {problem}")
        if len(example.ids) > longest:
            dropped += 1
        else:
            examples.append(example)
    print(f"{len(examples)} examples, {dropped} longer than {longest} tokens left out", flush=True)
    if not examples:
        sys.exit(f"{path}: no example is left")
    return examples


# ---- the loss ----------------------------------------------------------------


def _chunk_loss(hidden: torch.Tensor, head: torch.nn.Module, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(head(hidden).float(), labels, reduction="sum")


def completion_loss(model: torch.nn.Module, hidden: torch.Tensor, ids: torch.Tensor,
                    start: int) -> torch.Tensor:  # fmt: skip
    """The mean over the completion. Logits exist for one chunk at a time, also in backward."""
    head = model.get_output_embeddings()
    rows, labels = hidden[0, start - 1 : -1], ids[0, start:]
    total = hidden.new_zeros((), dtype=torch.float32)
    for at in range(0, len(labels), CHUNK):
        part = slice(at, at + CHUNK)
        total = total + checkpoint(
            _chunk_loss, rows[part], head, labels[part], use_reentrant=False
        )
    return total / len(labels)


def hidden_of(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """The last hidden state, without logits."""
    return model.get_base_model().model(input_ids=ids, use_cache=False).last_hidden_state


# ---- training ----------------------------------------------------------------


def with_adapter(base: torch.nn.Module, s: Settings) -> torch.nn.Module:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(s.seed)
    target = ATTENTION if s.target == "attention" else "all-linear"
    config = LoraConfig(r=s.rank, lora_alpha=s.alpha, lora_dropout=0.0, bias="none",
                        target_modules=target, task_type="CAUSAL_LM")  # fmt: skip
    model = get_peft_model(base, config)
    model.train()
    return model


def order(count: int, epoch: int, seed: int) -> list[int]:
    index = list(range(count))
    random.Random(f"{seed}/{epoch}").shuffle(index)
    return index


def schedule(count: int, s: Settings) -> list[list[int]]:
    """The examples of every step; the last batch of an epoch may be smaller."""
    steps = []
    for epoch in range(s.epochs):
        index = order(count, epoch, s.seed)
        steps += [index[at : at + s.batch] for at in range(0, count, s.batch)]
    return steps


def trainable(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return {n: p for n, p in model.named_parameters() if p.requires_grad}


def save(model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int, s: Settings,
         out: Path) -> None:  # fmt: skip
    """Adapter and state, put in place by renaming: one of the two versions is always whole."""
    fresh = Path(tempfile.mkdtemp(dir=out, prefix=".saving-"))
    model.save_pretrained(fresh)
    torch.save({"step": step, "settings": asdict(s), "optimizer": optimizer.state_dict(),
                "weights": {n: p.detach().cpu() for n, p in trainable(model).items()}},
               fresh / STATE)  # fmt: skip
    final, old = out / "adapter", out / ".old"
    shutil.rmtree(old, ignore_errors=True)
    if final.exists():
        os.rename(final, old)
    os.rename(fresh, final)
    shutil.rmtree(old, ignore_errors=True)


def restore(model: torch.nn.Module, optimizer: torch.optim.Optimizer, s: Settings,
            out: Path) -> int:  # fmt: skip
    """The step to continue with."""
    place = out / "adapter"
    if not place.exists() and (out / ".old").exists():  # stopped between two renamings
        os.rename(out / ".old", place)
    if not (place / STATE).exists():
        return 0
    state = torch.load(place / STATE, weights_only=True, map_location="cpu")
    if state["settings"] != asdict(s):
        sys.exit(f"{place}: begun with other settings ({state['settings']}); use another --out")
    with torch.no_grad():
        for name, parameter in trainable(model).items():
            parameter.copy_(state["weights"][name])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def one_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: list[Example],
             lr: float) -> float:  # fmt: skip
    device = next(model.parameters()).device
    total = 0.0
    for example in batch:
        ids = torch.tensor([example.ids], device=device)
        loss = completion_loss(model, hidden_of(model, ids), ids, example.start)
        (loss / len(batch)).backward()
        total += loss.item() / len(batch)
    torch.nn.utils.clip_grad_norm_(trainable(model).values(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total


@dataclass
class Stop:
    """Ends a training early; the same command continues it."""

    steps: float = math.inf
    seconds: float = math.inf
    began: float = field(default_factory=time.monotonic)

    def now(self, steps: int) -> bool:
        return steps >= self.steps or time.monotonic() - self.began >= self.seconds


def train(model: torch.nn.Module, examples: list[Example], s: Settings, out: Path,
          stop: Stop | None = None) -> list[float]:  # fmt: skip
    """Losses of the steps that were done now."""
    stop = stop or Stop()
    out.mkdir(parents=True, exist_ok=True)
    optimizer = torch.optim.AdamW(trainable(model).values(), lr=s.lr, betas=(0.9, 0.95),
                                  weight_decay=0.0)  # fmt: skip
    steps = schedule(len(examples), s)
    step = restore(model, optimizer, s, out)
    losses = []
    with (out / "log.jsonl").open("a", encoding="utf-8") as log:
        while step < len(steps) and not stop.now(len(losses)):
            batch = [examples[i] for i in steps[step]]
            began = time.monotonic()
            loss = one_step(model, optimizer, batch, s.lr * min(1.0, (step + 1) / s.warmup))
            seconds = time.monotonic() - began
            step += 1
            losses.append(loss)
            tokens = sum(len(e.ids) for e in batch)
            line = {"step": step, "of": len(steps), "loss": round(loss, 5), "tokens": tokens,
                    "tokens_per_s": round(tokens / seconds, 1)}  # fmt: skip
            if torch.cuda.is_available():
                line["max_memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
            print(json.dumps(line), file=log, flush=True)
            print(f"step {step}/{len(steps)}  loss {loss:.4f}  {tokens / seconds:,.0f} tokens/s",
                  flush=True)  # fmt: skip
            if step % s.save_every == 0 or step == len(steps) or stop.now(len(losses)):
                save(model, optimizer, step, s, out)
    return losses


def summarise(model: torch.nn.Module, out: Path) -> None:
    """One JSON object over the whole log, also of earlier parts of the training."""
    steps = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    steps = list({one["step"]: one for one in steps}.values())  # a step may have been repeated
    tenth = max(1, len(steps) // 10)
    seconds = sum(one["tokens"] / one["tokens_per_s"] for one in steps)
    device = next(model.parameters()).device
    made = {
        "steps": len(steps),
        "of": steps[-1]["of"],
        "loss_first": round(sum(one["loss"] for one in steps[:tenth]) / tenth, 4),
        "loss_last": round(sum(one["loss"] for one in steps[-tenth:]) / tenth, 4),
        "tokens": sum(one["tokens"] for one in steps),
        "tokens_per_s": round(sum(one["tokens"] for one in steps) / seconds, 1),
        "tokens_per_s_median": sorted(one["tokens_per_s"] for one in steps)[len(steps) // 2],
        "parameters": sum(p.numel() for p in model.parameters()),
        "trained_parameters": sum(p.numel() for p in trainable(model).values()),
        "max_memory_gb": max(one.get("max_memory_gb", 0) for one in steps) or None,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "torch": torch.__version__,
    }
    (out / "summary.json").write_text(json.dumps(made) + "\n")
    print(json.dumps(made), flush=True)


def load_base(name: str) -> torch.nn.Module:
    from transformers import AutoModelForCausalLM

    kind = torch.bfloat16 if torch.cuda.is_available() else torch.float32  # CPUs emulate bf16
    base = AutoModelForCausalLM.from_pretrained(name, dtype=kind, device_map="auto",
                                                attn_implementation="sdpa")  # fmt: skip
    base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    base.enable_input_require_grads()
    return base


def merge(o: argparse.Namespace) -> None:
    """Model and adapter as one model, for a server that does not load adapters."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = AutoModelForCausalLM.from_pretrained(o.model, dtype=torch.bfloat16)
    PeftModel.from_pretrained(base, o.out / "adapter").merge_and_unload().save_pretrained(o.merge)
    AutoTokenizer.from_pretrained(o.model).save_pretrained(o.merge)
    print(f"{o.merge}: {o.model} with {o.out / 'adapter'}")


# ---- grids -------------------------------------------------------------------


def grid(words: list[str], s: Settings) -> list[tuple[str, Settings]]:
    """batch=4,8 rank=32,64: every combination, with the name of its folder."""
    axes = []
    for word in words:
        name, _, values = word.partition("=")
        if name not in ("batch", "rank", "epochs", "lr") or not values:
            sys.exit(f"--grid {word}: write batch=, rank=, epochs= or lr=, and values")
        kind = float if name == "lr" else int
        axes.append([(name, kind(v)) for v in values.split(",")])
    made = []
    for chosen in itertools.product(*axes):
        folder = "-".join(f"{name}{value:g}" for name, value in chosen)
        made.append((folder, replace(s, **dict(chosen))))
    return made


def run_grid(o: argparse.Namespace, s: Settings, examples: list[Example]) -> None:
    for folder, one in grid(o.grid, s):
        print(f"== {folder}", flush=True)
        model = with_adapter(load_base(o.model), one)
        train(model, examples, one, o.out / folder)
        summarise(model, o.out / folder)
        del model
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    for folder, _ in grid(o.grid, s):
        lines = (o.out / folder / "log.jsonl").read_text().splitlines()
        last = [json.loads(line)["loss"] for line in lines[-10:]]
        print(f"{folder:<32} mean loss of the last {len(last)} steps {sum(last) / len(last):.4f}")


# ---- self-test ---------------------------------------------------------------


def tiny_base() -> torch.nn.Module:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(1)
    config = Qwen3Config(vocab_size=257, hidden_size=64, intermediate_size=128,
                         num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         head_dim=16, max_position_embeddings=256,
                         tie_word_embeddings=False, initializer_range=0.2)  # fmt: skip
    return Qwen3ForCausalLM(config)


def records(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for i in range(count):
            prompt = [{"role": "system", "content": "Port."},
                      {"role": "user", "content": f"Task {i % 8}"}]  # fmt: skip
            answer = {"role": "assistant", "content": "kernel " + "abcdefgh"[i % 8] * 6}
            record = ({"messages": [*prompt, answer]} if i % 2
                      else {"prompt": prompt, "completion": [answer]})  # fmt: skip
            print(json.dumps(record), file=out)


def check(claim: str, good: bool) -> None:
    print(f"{'ok' if good else 'NOT OK'}: {claim}", flush=True)
    if not good:
        sys.exit(1)


def check_loss(model: torch.nn.Module, example: Example) -> None:
    """One example against the plain definition, and where its gradient goes."""
    ids = torch.tensor([example.ids])
    hidden = hidden_of(model, ids)
    hidden.retain_grad()
    loss = completion_loss(model, hidden, ids, example.start)
    logits = model(input_ids=ids).logits[0, :-1].float()
    labels = ids[0, 1:].clone()
    labels[: example.start - 1] = -100
    plain = F.cross_entropy(logits, labels, ignore_index=-100)
    check("the chunked loss is the cross-entropy of the completion",
          torch.allclose(loss, plain, atol=1e-5))  # fmt: skip
    loss.backward()
    rows = hidden.grad[0].abs().sum(1)
    check("positions of the prompt get no gradient from the loss",
          not rows[: example.start - 1].any() and bool(rows[example.start - 1 : -1].all()))
    model.zero_grad(set_to_none=True)


def self_test() -> None:
    global CHUNK
    from peft import PeftModel

    CHUNK = 5  # so that every completion has several
    torch.use_deterministic_algorithms(True)
    s = Settings(rank=8, alpha=16, lr=1e-2, batch=8, epochs=10, max_length=64, save_every=7,
                 target="all")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        records(home / "data.jsonl", 32)
        (home / "data.jsonl").open("a").write(json.dumps({"messages": [
            {"role": "user", "content": "x" * 99}, {"role": "assistant", "content": "y"}]}) + "\n")
        examples = read(home / "data.jsonl", ByteText(), s.max_length)
        check("a record that is too long is left out", len(examples) == 32)

        model = with_adapter(tiny_base(), s)
        check_loss(model, examples[0])
        losses = train(model, examples, s, home / "whole")
        check(f"the loss falls: {losses[0]:.3f} to {losses[-1]:.3f}", losses[-1] < losses[0] / 2)

        first = with_adapter(tiny_base(), s)
        train(first, examples, s, home / "parts", Stop(steps=9))
        second = with_adapter(tiny_base(), s)
        train(second, examples, s, home / "parts")
        same = all(torch.equal(p, trainable(second)[n]) for n, p in trainable(model).items())
        check("a training that was stopped ends with the same weights", same)

        model.eval()
        again = PeftModel.from_pretrained(tiny_base(), home / "whole" / "adapter").eval()
        ids = torch.tensor([examples[3].ids])
        with torch.no_grad():
            check("the adapter can be loaded again",
                  torch.equal(model(input_ids=ids).logits, again(input_ids=ids).logits)
                  and not torch.equal(again(input_ids=ids).logits,
                                      tiny_base().eval()(input_ids=ids).logits))  # fmt: skip
    check("grids have every combination",
          [name for name, _ in grid(["batch=4,8", "rank=16"], s)]
          == ["batch4-rank16", "batch8-rank16"])  # fmt: skip


# ---- command line ------------------------------------------------------------


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--model", help="a model of Hugging Face, or its folder")
    p.add_argument("--data", type=Path, help="records, one JSON object per line")
    p.add_argument("--out", type=Path, help="folder for the adapter and the log")
    p.add_argument("--thinking", action="store_true", help="the template's thinking mode")
    p.add_argument("--grid", nargs="+", metavar="NAME=A,B", help="batch=, rank=, epochs=, lr=")
    p.add_argument("--time-limit", type=float, metavar="SECONDS", default=math.inf,
                   help="save and stop after so long; the same command continues")  # fmt: skip
    p.add_argument("--merge", metavar="DIR",
                   help="train nothing; write --model with the adapter in --out as one model")  # fmt: skip
    p.add_argument("--self-test", action="store_true", help="train a tiny random model on the CPU")
    for name, value in asdict(Settings()).items():
        p.add_argument("--" + name.replace("_", "-"), type=type(value), default=value,
                       help=f"default: {value}")  # fmt: skip
    return p.parse_args()


def main() -> None:
    o = arguments()
    if o.self_test:
        return self_test()
    if o.merge and o.model and o.out:
        return merge(o)
    if not (o.model and o.data and o.out):
        sys.exit("give --model, --data and --out, or --self-test")
    s = Settings(**{name: getattr(o, name) for name in asdict(Settings())})
    examples = read(o.data, ChatText(o.model, o.thinking), s.max_length)
    if o.grid:
        return run_grid(o, s, examples)
    model = with_adapter(load_base(o.model), s)
    train(model, examples, s, o.out, Stop(seconds=o.time_limit))
    summarise(model, o.out)


if __name__ == "__main__":
    main()

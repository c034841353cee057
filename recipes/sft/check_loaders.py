#!/usr/bin/env python3
"""Checks that trainers learn from an export what they are meant to: the last message, and nothing
else.

    python3 recipes/sft/check_loaders.py [--only NAME] DIR...

Needs torch, transformers and datasets; no model and no network. Each DIR, which `monkeys export` has
written, goes through the loading code of every trainer that is installed: trl, axolotl,
llamafactory, verl and tinker_cookbook. They get a tokenizer with a token for each byte. The others,
and those that cannot take a format, are skipped with the reason. Prints a line for each trainer and
folder; the exit status is 1 if a trainer learns something else."""

import argparse
import importlib.machinery
import json
import os
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["DISABLE_VERSION_CHECK"] = "1"  # of LLaMA-Factory, which names versions of others

import datasets
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

LONG = 1 << 20  # tokens: no record is longer
END = "<|im_end|>"
TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}
{% else %}{{ m.content }}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


class Skip(Exception):
    """The trainer cannot take this; the text says why."""


def byte_tokenizer() -> transformers.PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=END, pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"])  # fmt: skip
    made.chat_template = TEMPLATE
    return made


class Export:
    def __init__(self, folder: str, scratch: str) -> None:
        self.folder, self.scratch = Path(folder), Path(scratch)
        self.rows = datasets.load_dataset(folder, split="train", cache_dir=scratch)
        self.whole = "messages" in self.rows.column_names
        self.tokenizer = byte_tokenizer()

    def expected(self) -> list[str]:
        last = "messages" if self.whole else "completion"
        return [row[last][-1]["content"] for row in self.rows]

    def need_messages(self) -> None:
        """One answer in each conversation: these trainers learn all of them."""
        if not self.whole:
            raise Skip("takes the format messages only")
        if any(sum(m["role"] == "assistant" for m in row["messages"]) != 1 for row in self.rows):
            raise Skip("learns all answers of a conversation, not only the last")

    def text(self, ids: object, learned: object) -> str:
        kept = [int(i) for i, one in zip(ids, learned, strict=True) if one]
        return self.tokenizer.decode(kept).rstrip("\n").removesuffix(END)


# ---- trainers: what each learns of every record --------------------------------


def learned_by_trl(x: Export) -> Iterator[str]:
    import trl

    tiny = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        vocab_size=len(x.tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        head_dim=8, num_attention_heads=2, num_key_value_heads=1))  # fmt: skip
    trainer = trl.SFTTrainer(
        model=tiny, train_dataset=x.rows, processing_class=x.tokenizer,
        args=trl.SFTConfig(output_dir=str(x.scratch), max_length=None, report_to=[], use_cpu=True,
                           assistant_only_loss=x.whole, bf16=False))  # fmt: skip
    for made in trainer.train_dataset:
        batch = trainer.data_collator([made])
        yield x.text(batch["input_ids"][0], batch["labels"][0] != -100)


def learned_by_axolotl(x: Export) -> Iterator[str]:
    from axolotl.prompt_strategies.chat_template import load
    from axolotl.utils.dict import DictDefault

    x.need_messages()
    cfg = DictDefault({"sequence_len": LONG, "train_on_inputs": False,
                       "chat_template": "tokenizer_default"})  # fmt: skip
    strategy = load(x.tokenizer, cfg, {"type": "chat_template", "field_messages": "messages",
                                       "roles_to_train": ["assistant"]})  # fmt: skip
    for row in x.rows:
        made = strategy.tokenize_prompt({"messages": row["messages"]})
        yield x.text(made["input_ids"], [label != -100 for label in made["labels"]])


def without_audio() -> None:
    """LLaMA-Factory imports torchaudio, also for texts; its wheel on PyPI wants CUDA."""
    try:
        import torchaudio  # noqa: F401
    except (ImportError, OSError):
        empty = types.ModuleType("torchaudio")
        empty.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
        sys.modules["torchaudio"] = empty


def learned_by_llamafactory(x: Export) -> Iterator[str]:
    without_audio()
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams import DataArguments, ModelArguments

    x.need_messages()
    told = {"kernels": {
        "file_name": str((x.folder / "train.jsonl").resolve()), "formatting": "sharegpt",
        "columns": {"messages": "messages"},
        "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user",
                 "assistant_tag": "assistant", "system_tag": "system"},
    }}  # fmt: skip
    (x.scratch / "dataset_info.json").write_text(json.dumps(told))
    data = DataArguments(dataset="kernels", dataset_dir=str(x.scratch), template="qwen",
                         cutoff_len=LONG, preprocessing_num_workers=None)  # fmt: skip
    tokenizer = byte_tokenizer()
    template = get_template_and_fix_tokenizer(tokenizer, data)
    args = transformers.Seq2SeqTrainingArguments(output_dir=str(x.scratch), use_cpu=True,
                                                 report_to=[])  # fmt: skip
    model = ModelArguments(model_name_or_path="none", cache_dir=str(x.scratch))
    for made in get_dataset(template, model, data, args, "sft", tokenizer)["train_dataset"]:
        yield x.text(made["input_ids"], [label != -100 for label in made["labels"]])


def learned_by_verl(x: Export) -> Iterator[str]:
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

    x.need_messages()
    path = x.scratch / "train.parquet"
    x.rows.to_parquet(str(path))
    made = MultiTurnSFTDataset(
        str(path), x.tokenizer, {"max_length": LONG, "pad_mode": "no_padding"}
    )
    for i in range(len(made)):
        yield x.text(made[i]["input_ids"].tolist(), made[i]["loss_mask"].tolist())


def learned_by_tinker_cookbook(x: Export) -> Iterator[str]:
    from tinker_cookbook.renderers import TrainOnWhat, get_renderer
    from tinker_cookbook.supervised.data import conversation_to_datum

    x.need_messages()
    renderer = get_renderer("qwen3_instruct", x.tokenizer)
    for row in x.rows:
        datum = conversation_to_datum(row["messages"], renderer, LONG,
                                      TrainOnWhat.ALL_ASSISTANT_MESSAGES)  # fmt: skip
        inputs = datum.loss_fn_inputs
        targets, weights = (inputs[n].to_torch() for n in ("target_tokens", "weights"))
        yield x.text(targets.tolist(), (weights > 0).tolist())


TRAINERS = {
    name.removeprefix("learned_by_"): f
    for name, f in list(globals().items())
    if name.startswith("learned_by_")
}


# ---- the check -----------------------------------------------------------------


def check(name: str, x: Export) -> bool:
    """Whether nothing is wrong."""
    try:
        learned = list(TRAINERS[name](x))
    except Skip as why:
        print(f"{x.folder}: {name}: skipped: {why}", flush=True)
        return True
    except ImportError as why:
        print(f"{x.folder}: {name}: skipped: not installed ({why})", flush=True)
        return True
    wrong = Counter(learned) - Counter(x.expected())
    for text in wrong:
        print(f"{x.folder}: {name} learns {text[:60]!r}…")
    missing = (Counter(x.expected()) - Counter(learned)).total()
    print(f"{x.folder}: {name}: {len(learned)} records, {wrong.total()} wrong, {missing} missing",
          flush=True)  # fmt: skip
    return not wrong and not missing


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--only", choices=TRAINERS, help="this trainer")
    p.add_argument("folder", nargs="+", metavar="DIR")
    o = p.parse_args()
    good = True
    for folder in o.folder:
        for name in [o.only] if o.only else TRAINERS:
            with tempfile.TemporaryDirectory() as scratch:
                good = check(name, Export(folder, scratch)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that TRL learns from an export what it is meant to: the last message, and nothing else.

    python3 recipes/sft/check_trl.py DIR...

Needs torch, transformers, datasets and trl; no model and no network. Each DIR, which `monkeys
export` has written, is loaded as a dataset and goes through TRL's SFTTrainer, with a random tiny
model and a token for each byte. Prints a line for each record that is wrong; the exit status is 1
if there is one."""

import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import datasets
import transformers
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

END = "<|im_end|>"
TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}
{% else %}{{ m.content }}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


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


def tiny_model(words: int) -> transformers.PreTrainedModel:
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        vocab_size=words, hidden_size=16, intermediate_size=16, num_hidden_layers=1, head_dim=8,
        num_attention_heads=2, num_key_value_heads=1))  # fmt: skip


def check(folder: str, scratch: str) -> int:
    """The number of wrong records."""
    rows = datasets.load_dataset(folder, split="train", cache_dir=scratch)
    whole = "messages" in rows.column_names
    tokenizer = byte_tokenizer()
    trainer = trl.SFTTrainer(
        model=tiny_model(len(tokenizer)), train_dataset=rows, processing_class=tokenizer,
        args=trl.SFTConfig(output_dir=scratch, max_length=None, assistant_only_loss=whole,
                           report_to=[], use_cpu=True, bf16=False))  # fmt: skip
    wrong = 0
    for row, made in zip(rows, trainer.train_dataset, strict=True):
        batch = trainer.data_collator([made])
        ids, labels = batch["input_ids"][0], batch["labels"][0]
        learned = tokenizer.decode(ids[labels != -100]).rstrip("\n").removesuffix(END)
        if learned != row["messages" if whole else "completion"][-1]["content"]:
            print(f"{folder}: {row['id']}: TRL learns {learned[:60]!r}…")
            wrong += 1
    print(f"{folder}: {len(rows)} records, {wrong} wrong")
    return wrong


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        return int(sum(check(folder, scratch) for folder in sys.argv[1:]) > 0)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes a small Qwen3 with random weights and a tokenizer of its own, to try the recipes with.

    python3 recipes/sft/random_model.py --data sft/train.jsonl --out model

Needs torch and transformers; no network. The tokenizer is a byte-level BPE that is made from the
texts of the records, with the special tokens and the chat template of Qwen3. The defaults give
about 70 million parameters; the same data and options give the same model."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END, PAD = "<|im_end|>", "<|endoftext|>"
SPECIAL = [PAD, "<|im_start|>", END, "<think>", "</think>"]
TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}"""


def texts(path: Path) -> Iterator[str]:
    for line in path.open(encoding="utf-8"):
        record = json.loads(line)
        for message in record.get("messages") or record["prompt"] + record["completion"]:
            yield message["content"]


def tokenizer(path: Path, words: int) -> transformers.PreTrainedTokenizerFast:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(texts(path), trainers.BpeTrainer(
        vocab_size=words, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=END, pad_token=PAD,
        additional_special_tokens=["<|im_start|>"])  # fmt: skip
    made.chat_template = TEMPLATE
    return made


def model(words: int, o: argparse.Namespace, end: int, pad: int) -> transformers.PreTrainedModel:
    torch.manual_seed(o.seed)
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        vocab_size=words, hidden_size=o.hidden, intermediate_size=3 * o.hidden,
        num_hidden_layers=o.layers, num_attention_heads=max(o.hidden // 64, 2),
        num_key_value_heads=max(o.hidden // 128, 1), head_dim=64, max_position_embeddings=32768,
        tie_word_embeddings=False, eos_token_id=end, pad_token_id=pad))  # fmt: skip


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--data", type=Path, required=True, help="records, one JSON object per line")
    p.add_argument("--out", type=Path, required=True, help="the folder of the model")
    p.add_argument("--vocab", type=int, default=8192, help="tokens, at most (default: 8192)")
    p.add_argument("--hidden", type=int, default=640, help="width (default: 640)")
    p.add_argument("--layers", type=int, default=12, help="default: 12")
    p.add_argument("--seed", type=int, default=0, help="default: 0")
    o = p.parse_args()
    words = tokenizer(o.data, o.vocab)
    made = model(len(words), o, words.eos_token_id, words.pad_token_id)
    made.to(torch.bfloat16).save_pretrained(o.out)
    words.save_pretrained(o.out)
    print(f"{sum(w.numel() for w in made.parameters()) / 1e6:.1f} million parameters, "
          f"{len(words)} tokens: {o.out}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Make the reference for perplexity: two tiny random models, and the perplexities that lmppl computes with them.

    scripts/parity_perplexity.py [FOLDER]    by default plugin/tests/golden/perplexity

It needs lmppl and transformers 4, and always writes the same bytes: weights come from Python's own random generator,
tokenizers are trained on one thread. `gpt2` is like GPT-2: no start token, no pad token (lmppl adds one), and an output
layer wider than its tokenizer. `llama` starts each text with a token and pads with its end token.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "plugin" / "tests" / "golden" / "perplexity"
SEED = 2
VOCABULARY = 320
CONTEXT_TOKENS = 96
BATCH_SIZES = (1, 3, 8, 64)
PACKAGES = ("lmppl", "tokenizers", "torch", "transformers")

SUBJECTS = ("The dog", "A young woman", "My neighbour", "An old fisherman", "Every child")
VERBS = ("catches", "throws", "carries", "paints", "washes")
OBJECTS = ("the frisbee", "a red kite", "two apples", "an umbrella", "the garden gate")
PLACES = ("in the park.", "near the harbour, at dawn.", "while it rains.")

# a text is a part and its number of repetitions
TEXTS = (
    ("", 1),
    ("D", 1),
    ("Dogs", 1),
    ("The dog catches the frisbee in the park.", 1),
    ("The dog catches the frisbee in the park.", 1),
    ("the dog catches the frisbee in the park", 1),
    ("A young woman throws a red kite near the harbour, at dawn.", 1),
    ("An old fisherman carries two apples while it rains, and every child washes an umbrella in the park.", 1),
    ("  Two   spaces\tand a tab. ", 1),
    ("Line one\nline two\n\n", 1),
    ("A dog \U0001f415 and a frisbee \U0001f94f\u200d\u2640\ufe0f", 1),
    ("\U0001f600", 1),
    ("na\u00efve caf\u00e9, \u201cquoted\u201d \u2013 snow\u2011covered", 1),
    ("\u72d7\u6293\u98de\u76d8", 1),
    ("NUL \x00 and bell \x07 inside", 1),
    ("\x00", 1),
    ("It ends</s> here<|endoftext|> and goes on.</s>", 1),
    ("</s>", 1),
    ("kite ", 20),
    ("The dog paints the garden gate. ", 12),
    ("dog frisbee ", 5000),
)


def main() -> None:
    """Write one folder for each model, and `expected.json`."""
    parser = argparse.ArgumentParser(description="Make the perplexity reference of the tests.")
    parser.add_argument("folder", nargs="?", type=Path, default=GOLDEN)
    folder: Path = parser.parse_args().folder
    perplexities = {}
    for name, make in (("gpt2", make_gpt2), ("llama", make_llama)):
        make(folder / name)
        perplexities[name] = {size: reference(folder / name, size) for size in BATCH_SIZES}
    expected = {
        "made_with": versions(),
        "context_tokens": CONTEXT_TOKENS,
        "texts": TEXTS,
        "perplexities": perplexities,
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    sys.stdout.write(f"{folder}: {len(TEXTS)} texts, {size / 1000:.0f} kB\n")


def make_gpt2(folder: Path) -> None:
    """A small GPT-2 without a pad token."""
    library: Any = importlib.import_module("transformers")
    tokenizer = trained_tokenizer(["<|endoftext|>"])
    save_tokenizer(folder, tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>")
    save_model(folder, library.GPT2LMHeadModel(library.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=VOCABULARY + 8, n_positions=CONTEXT_TOKENS,
        bos_token_id=0, eos_token_id=0, use_cache=True,
    )))  # fmt: skip


def make_llama(folder: Path) -> None:
    """A small Llama with a start token, and with the end token for padding."""
    library: Any = importlib.import_module("transformers")
    processors: Any = importlib.import_module("tokenizers.processors")
    tokenizer = trained_tokenizer(["<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    save_tokenizer(folder, tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    save_model(folder, library.LlamaForCausalLM(library.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=VOCABULARY, max_position_embeddings=CONTEXT_TOKENS, bos_token_id=0, eos_token_id=1,
    )))  # fmt: skip


def trained_tokenizer(special_tokens: list[str]) -> Any:
    """A small byte-level BPE tokenizer."""
    library: Any = importlib.import_module("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special_tokens, show_progress=False,
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(
        [f"{subject} {verb} {thing} {place}" for subject in SUBJECTS for verb in VERBS
         for thing in OBJECTS for place in PLACES], trainer,
    )  # fmt: skip
    return tokenizer


def save_tokenizer(folder: Path, tokenizer: Any, **special_tokens: str) -> None:
    """Write the tokenizer in the format of transformers."""
    library: Any = importlib.import_module("transformers")
    whole = library.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=CONTEXT_TOKENS, padding_side="right", **special_tokens
    )
    whole.save_pretrained(folder)


def save_model(folder: Path, model: Any) -> None:
    """Write the model with random weights, large enough that every token and position changes the result."""
    torch: Any = importlib.import_module("torch")
    generator = random.Random(SEED)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            is_norm = weight.dim() == 1 and ("norm" in name or "ln_" in name) and name.endswith("weight")
            is_embedding = "embed" in name or ".wte." in name or ".wpe." in name
            reach = 0.3 if weight.dim() == 1 else 0.5 if is_embedding else 2 / math.sqrt(weight.shape[-1])
            values = [generator.uniform(-reach, reach) + is_norm for _ in range(weight.numel())]
            weight.copy_(torch.tensor(values).reshape(weight.shape))
    model.save_pretrained(folder)


def reference(folder: Path, batch_size: int) -> list[float | None]:
    """lmppl's perplexity of each text; None if it has none, or if lmppl cannot score the text alone."""
    module: Any = importlib.import_module("lmppl.ppl_recurrent_lm")
    module.internet_connection = lambda: False  # lmppl opens the page of a search engine to see if there is a network
    scorer = module.LM(str(folder), trust_remote_code=False, num_gpus=0)
    texts = [part * times for part, times in TEXTS]
    places = [
        place for place, text in enumerate(texts) if batch_size > 1 or len(scorer.tokenizer(text)["input_ids"]) > 1
    ]
    values: list[float | None] = [None] * len(texts)
    for place, value in zip(places, scorer.get_perplexity([texts[place] for place in places], batch_size), strict=True):
        values[place] = value if math.isfinite(value) else None
    return values


def versions() -> dict[str, str]:
    """The versions of the packages that made the reference."""
    metadata = importlib.import_module("importlib.metadata")
    return {package: metadata.version(package).partition("+")[0] for package in PACKAGES}


if __name__ == "__main__":
    main()

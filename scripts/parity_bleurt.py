"""Make the reference for BLEURT: a tiny random checkpoint, and the scores that bleurt-pytorch computes with it.

    scripts/parity_bleurt.py [FOLDER]    by default plugin/tests/golden/bleurt

It needs bleurt-pytorch and transformers 4, and always writes the same bytes: weights come from Python's own random
generator, the tokenizer is trained on one thread, and scores are computed in float64 and rounded.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent.parent / "plugin" / "tests" / "golden" / "bleurt"
MAX_TOKENS = 512
SEED = 20
VOCABULARY = 280
PACKAGES = ("bleurt-pytorch", "sentencepiece", "torch", "transformers")

SUBJECTS = ("The dog", "A young woman", "My neighbour", "An old fisherman", "Every child")
VERBS = ("catches", "throws", "carries", "paints", "washes", "forgets", "repairs")
OBJECTS = ("the frisbee", "a red kite", "two apples", "an umbrella", "the garden gate", "her violin")
PLACES = ("in the park.", "near the harbour, at dawn.", "while it rains.", "behind the kitchen window!")
LONG = " ".join(f"The dog number {number} carries the garden gate." for number in range(40))

TEXTS = (
    "",
    "Dogs",
    "The dog catches the frisbee in the park.",
    "A young woman throws a red kite near the harbour, at dawn.",
    "the dog catches the frisbee in the park",
    "  Two   spaces\tand a tab. ",
    "Line one\nline two",
    "A dog \U0001f415 and a frisbee \U0001f94f\u200d\u2640\ufe0f",
    "na\u00efve caf\u00e9, \u201cquoted\u201d \u2013 snow\u2011covered",
    "The dog [SEP] catches the [CLS]frisbee[PAD] in [UNK] the [MASK] park.",
    "NUL \x00 and bell \x07 inside",
    "\u72d7\u6293\u98de\u76d8",
    LONG,
    "kite " * 400,
)
SHORT_TEXTS = len(TEXTS) - 2
LONG_TEXT, KITES = SHORT_TEXTS, SHORT_TEXTS + 1
PAIRS = (
    *((place, place) for place in range(SHORT_TEXTS)),
    *((place, other) for place in range(SHORT_TEXTS) for other in (2, 3) if place != other),
    *((other, place) for place in range(SHORT_TEXTS) for other in (2, 3) if place != other),
    *((LONG_TEXT, LONG_TEXT), (LONG_TEXT, KITES), (KITES, LONG_TEXT), (LONG_TEXT, 1), (1, LONG_TEXT), (KITES, 0)),
)


def main() -> None:
    """Write `spm.model`, the checkpoint and `expected.json` into the folder."""
    parser = argparse.ArgumentParser(description="Make the BLEURT reference of the tests.")
    parser.add_argument("folder", nargs="?", type=Path, default=GOLDEN)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spm.model").write_bytes(trained_tokenizer())
    save_checkpoint(folder)
    pairs = list(scored_pairs(folder))
    # one line for each text and each pair, so that a diff is readable
    lists = {"texts": TEXTS, "pairs": pairs}
    parts = [f'"{name}": [\n{",".join(map(_line, items))}]' for name, items in lists.items()]
    text = f'{{"made_with": {json.dumps(versions())},\n{",".join(parts)}}}\n'
    (folder / "expected.json").write_text(text, encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.iterdir())
    sys.stdout.write(f"{folder}: {len(pairs)} pairs, {size / 1000:.0f} kB\n")


def _line(item: object) -> str:
    return json.dumps(item) + "\n"


def sentences() -> list[str]:
    """The texts that the tokenizer is trained on."""
    return [
        f"{subject} {verb} {thing} {place}"
        for subject in SUBJECTS
        for verb in VERBS
        for thing in OBJECTS
        for place in PLACES
    ]


def trained_tokenizer() -> bytes:
    """A small sentencepiece model with BERT's special tokens, made on one thread; it contains no path."""
    sentencepiece: Any = importlib.import_module("sentencepiece")
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()),
        model_writer=written,
        model_type="unigram",
        vocab_size=VOCABULARY,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        num_threads=1,
        minloglevel=2,
        pad_id=0,
        unk_id=1,
        pad_piece="[PAD]",
        unk_piece="[UNK]",
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
    )
    return written.getvalue()


def save_checkpoint(folder: Path) -> None:
    """A small BLEURT-20 with random weights, large enough that every token, position and segment changes the score."""
    torch: Any = importlib.import_module("torch")
    bleurt: Any = importlib.import_module("bleurt_pytorch")
    config = bleurt.BleurtConfig(
        vocab_size=VOCABULARY,
        embedding_size=8,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=1,
        pad_token_id=0,
    )
    model = bleurt.BleurtForSequenceClassification(config)
    generator = random.Random(SEED)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            is_norm = name.endswith("LayerNorm.weight")
            reach = 0.3 if weight.dim() == 1 else 1.0 if "embeddings." in name else 2 / math.sqrt(weight.shape[-1])
            values = [generator.uniform(-reach, reach) + is_norm for _ in range(weight.numel())]
            weight.copy_(torch.tensor(values).reshape(weight.shape))
    model.save_pretrained(folder, safe_serialization=True)


def scored_pairs(folder: Path) -> Iterator[dict[str, Any]]:
    """For each pair its tokens by bleurt-pytorch, and its score without padding, in float64."""
    torch: Any = importlib.import_module("torch")
    bleurt: Any = importlib.import_module("bleurt_pytorch")
    importlib.import_module("transformers").logging.set_verbosity_error()
    tokenizer = bleurt.BleurtTokenizer.from_pretrained(folder)
    model = bleurt.BleurtForSequenceClassification.from_pretrained(folder).double().eval()
    for places in PAIRS:
        reference, candidate = (TEXTS[place] for place in places)
        whole = tokenizer(reference, candidate, verbose=False)
        cut = tokenizer(reference, candidate, truncation="longest_first", max_length=MAX_TOKENS, return_tensors="pt")
        with torch.no_grad():
            score = model(**cut).logits.item()
        yield {
            "pair": places,
            "score": round(score, 9),
            "is_cut": len(whole["input_ids"]) > MAX_TOKENS,
            "input_ids": cut["input_ids"][0].tolist(),
            "token_type_ids": cut["token_type_ids"][0].tolist(),
        }


def versions() -> dict[str, str]:
    """The versions of the packages that made the reference."""
    metadata = importlib.import_module("importlib.metadata")
    return {package: metadata.version(package).partition("+")[0] for package in PACKAGES}


if __name__ == "__main__":
    main()

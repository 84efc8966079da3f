"""Generation from cases to judged and stored records, compared with plain loops over `model.generate`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from rows import Row

from pytest_ocg.backends.huggingface.backend import HuggingFaceBackend
from pytest_ocg.inputs.cases import Case, cut_batches, expand_cases
from pytest_ocg.inputs.concepts import load_dataset
from pytest_ocg.inputs.models import load_registry, resolve_model
from pytest_ocg.inputs.prompts import Prompt, load_templates
from pytest_ocg.inputs.selection import SetSample, sample_sets
from pytest_ocg.inputs.settings import DEFAULT_MAX_NEW_TOKENS
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.run.options import Options
from pytest_ocg.run.plan import Plan
from pytest_ocg.run.runner import Runner

MODEL = "smollm2-135m"
BARE_BATCH_SIZES = (32, 96)
SINGLE_PROMPTS = 12


def measure(templates: tuple[int, ...] = (0,), sets: int = 4) -> list[Row]:
    """Rows for a bare loop at its best batch size and for one call per test, on the same prompts."""
    plan = _plan(templates, sets)
    backend = HuggingFaceBackend(plan.specs[MODEL], plan.settings(MODEL))
    prompts = [plan.prompt(case) for case in plan.cases]
    backend.generate(prompts[:2])
    loaded = backend._load()
    model, tokenizer = loaded.model, loaded.tokenizer
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    bare = {size: _bare(model, tokenizer, prompts, size) for size in BARE_BATCH_SIZES}
    ours_seconds, replies = _ours(plan, backend)
    best = min(bare, key=lambda size: bare[size][0])
    bare[best] = min(bare[best], _bare(model, tokenizer, prompts, best))
    again_seconds, _ = _ours(plan, backend)
    ours_seconds = min(ours_seconds, again_seconds)
    single_seconds, _ = _bare(model, tokenizer, prompts[:: len(prompts) // SINGLE_PROMPTS], 1)
    equal = sum(one == other for one, other in zip(replies, bare[best][1], strict=True))
    rate, bare_rate = len(prompts) / ours_seconds, len(prompts) / bare[best][0]
    single_rate = SINGLE_PROMPTS / single_seconds
    return [
        Row(
            "generation end to end against a bare generate loop at its best batch size",
            f"{rate:.1f} a second against {bare_rate:.1f} in batches of {best}; {equal} of {len(prompts)} equal",
            rate / bare_rate,
            at_least=1.3,
        ),
        Row(
            "generation end to end against one generate call per test",
            f"{rate:.1f} a second against {single_rate:.1f}",
            rate / single_rate,
            at_least=4,
        ),
    ]


def _plan(templates: tuple[int, ...], sets: int) -> Plan:
    options: Any = dict.fromkeys(Options.__dataclass_fields__)
    options.update(
        models=(MODEL,), concepts="everyday", sets=SetSample(sets, 0), templates=templates, conditions=("ordered",),
        shots=0, matcher="inflection", metrics=("cheap",), dtype="auto", device="auto", seed=0, refresh=True,
        trust_remote_code=False, allow_pickle=False,
    )  # fmt: skip
    dataset = load_dataset("everyday")
    spec = resolve_model(MODEL, load_registry())
    return Plan(Options(**options), dataset, sample_sets(dataset.sets, sets, 0), load_templates(), {MODEL: spec})


def _ours(plan: Plan, backend: HuggingFaceBackend) -> tuple[float, list[str]]:
    cases: list[Case] = expand_cases(
        [MODEL], plan.sets, conditions=plan.options.conditions, templates=plan.options.templates, shots=0
    )
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Cache.open(Path(folder)) as cache:
        runner = Runner(
            plan,
            cut_batches(cases, {MODEL: backend.preferred_batch_size()}),
            identities={MODEL: backend.identity()},
            cache=cache,
            open_backend=lambda model: backend,
            before_generating=lambda batch, prompts: None,
        )
        records = [runner.record(case)[0] for case in cases]
    return time.perf_counter() - started, [record.reply or "" for record in records]


def _bare(model: Any, tokenizer: Any, prompts: list[Prompt], size: int) -> tuple[float, list[str]]:
    import torch

    started, replies = time.perf_counter(), list[str]()
    for start in range(0, len(prompts), size):
        chats = [
            [{"role": message.role, "content": message.content} for message in prompt.messages]
            for prompt in prompts[start : start + size]
        ]
        texts = tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True)
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
        with torch.inference_mode():
            made = model.generate(
                **inputs,
                do_sample=False,
                max_new_tokens=DEFAULT_MAX_NEW_TOKENS,
                pad_token_id=tokenizer.pad_token_id,
            )
        new = made[:, inputs["input_ids"].shape[1] :]
        replies += [text.strip() for text in tokenizer.batch_decode(new, skip_special_tokens=True)]
    return time.perf_counter() - started, replies

import json
import shutil
from pathlib import Path

import pytest

from pytest_ocg.backends.huggingface.devices import Device
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.errors import ModelError
from pytest_ocg.metrics.bleurt_model import bleurt_spec, load_bleurt, rembert_settings, score_encoded

GOLDEN = Path(__file__).parents[1] / "golden" / "bleurt"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
PAIRS = [tuple(EXPECTED["texts"][place] for place in row["pair"]) for row in EXPECTED["pairs"]]
SCORES = [row["score"] for row in EXPECTED["pairs"]]
CPU = Device("cpu", "float32", False)


def load(folder: Path, *, allow_pickle: bool = False):
    return load_bleurt(Source("folder", "tiny", content="0", path=folder), CPU, allow_pickle=allow_pickle)


@pytest.fixture(scope="module")
def loaded():
    return load(GOLDEN)


@pytest.fixture
def folder(tmp_path):
    """A copy of the checkpoint that a test may damage."""
    for name in ("config.json", "model.safetensors", "spm.model"):
        shutil.copy(GOLDEN / name, tmp_path / name)
    return tmp_path


def change_config(folder: Path, **changes) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = {name: value for name, value in {**config, **changes}.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")


def change_weights(folder: Path, change) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def save_as_pickle(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize("size", [1, 7, len(PAIRS)])
def test_scores_are_those_of_bleurt_pytorch_whatever_the_padding(loaded, size):
    encoded = [loaded.tokenizer.encode_pair(*pair) for pair in PAIRS]
    scores = [
        score for start in range(0, len(PAIRS), size) for score in score_encoded(loaded, encoded[start : start + size])
    ]
    assert scores == pytest.approx(SCORES, abs=1e-5)


def test_the_reference_would_notice_segments_or_directions_mixed_up(loaded):
    from dataclasses import replace

    encoded = [loaded.tokenizer.encode_pair(*pair) for pair in PAIRS]
    one_segment = [replace(pair, candidate_start=len(pair.tokens)) for pair in encoded]
    turned = [loaded.tokenizer.encode_pair(candidate, reference) for reference, candidate in PAIRS]
    for wrong in (one_segment, turned):
        assert max(abs(a - b) for a, b in zip(score_encoded(loaded, wrong), SCORES, strict=True)) > 0.05


@pytest.mark.parametrize(
    ("name", "source", "revision"),
    [
        ("BLEURT-20", "lucadiliello/BLEURT-20", None),
        ("bleurt-20-d12", "lucadiliello/BLEURT-20-D12", None),
        ("BLEURT-20-D6", "lucadiliello/BLEURT-20-D6", None),
        ("BLEURT-20-D3", "lucadiliello/BLEURT-20-D3", None),
        ("somebody/bleurt", "somebody/bleurt", None),
        ("lucadiliello/BLEURT-20@refs/pr/1", "lucadiliello/BLEURT-20", "refs/pr/1"),
        (str(GOLDEN), str(GOLDEN.resolve()), None),
    ],
)
def test_a_checkpoint_is_named_by_its_size_a_hub_id_or_a_folder(name, source, revision):
    spec = bleurt_spec(name)
    assert (spec.backend, spec.source, spec.revision) == ("huggingface", source, revision)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("BLEURT20", r"'BLEURT20' does not exist; did you mean 'BLEURT-20'\? Choose BLEURT-20, BLEURT-20-D12"),
        ("openai:gpt-4o", r"'openai:gpt-4o' is not a BLEURT checkpoint\. Choose BLEURT-20, .* or the folder of such"),
        ("./nowhere", r"'\./nowhere' does not exist\. Choose BLEURT-20, "),
        ("", r"BLEURT model '' does not exist\. Choose"),
    ],
)
def test_a_name_that_is_no_checkpoint_is_refused_with_the_choices(name, message):
    with pytest.raises(ModelError, match=message):
        bleurt_spec(name)


def test_weights_that_are_pickles_give_the_same_scores_where_they_are_allowed(folder, loaded):
    save_as_pickle(folder)
    with pytest.raises(ModelError, match=r"BLEURT model 'tiny' cannot be loaded: .*model\.safetensors"):
        load(folder)
    pickled = load(folder, allow_pickle=True)
    encoded = [loaded.tokenizer.encode_pair(*pair) for pair in PAIRS[:4]]
    assert score_encoded(pickled, encoded) == score_encoded(loaded, encoded)


def test_a_pickle_that_is_allowed_still_cannot_run_code(folder):
    import torch

    (folder / "model.safetensors").unlink()
    torch.save({"classifier.bias": _Ran(folder / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"BLEURT model 'tiny' cannot be loaded: .*[Ww]eights"):
        load(folder, allow_pickle=True)
    assert not (folder / "ran").exists()


class _Ran:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "spm.model").unlink(), r"spm\.model"),
        (lambda folder: (folder / "spm.model").write_bytes(b"no"), r"spm\.model is not a sentencepiece model"),
        (lambda folder: (folder / "config.json").write_text("{"), r"Expecting property name"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"short"), r"cannot be loaded: .+"),
        (lambda folder: (folder / "model.safetensors").unlink(), r"model\.safetensors"),
        (
            lambda folder: change_config(folder, model_type="bert"),
            r"has model_type 'bert' .*, so it is not of BLEURT-20",
        ),
        (
            lambda folder: change_config(folder, embedding_size=None),
            r"and embedding_size None, so it is not of BLEURT-20",
        ),
        (lambda folder: change_config(folder, hidden_size=...), r"config\.json has no 'hidden_size'"),
        (lambda folder: change_config(folder, hidden_size="large"), r"cannot be loaded: .*hidden_size"),
        (
            lambda folder: change_config(folder, max_position_embeddings=128),
            r"max_position_embeddings 128, less than 512",
        ),
        (lambda folder: change_config(folder, vocab_size=20), r"spm\.model has \d+ pieces, but the weights have 20"),
        (
            lambda folder: change_config(folder, num_hidden_layers=3),
            r"weights that are missing or do not fit: 16, such as",
        ),
        (
            lambda folder: change_config(folder, num_hidden_layers=1),
            r"weights that are missing or do not fit: 16, such as",
        ),
        (
            lambda folder: change_weights(folder, lambda weights: weights.pop("classifier.weight")),
            r"weights that are missing or do not fit: 1, such as 'classifier\.weight'",
        ),
        (
            lambda folder: change_weights(
                folder, lambda weights: weights.update(more=weights["classifier.bias"].clone())
            ),
            r"weights that are missing or do not fit: 1, such as 'more'",
        ),
    ],
)
def test_a_damaged_or_foreign_checkpoint_is_refused_saying_what_is_wrong(folder, damage, message):
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        load(folder)
    assert str(caught.value).startswith("BLEURT model 'tiny' cannot be loaded: ")
    assert str(caught.value).endswith("as bleurt-pytorch saves it, such as lucadiliello/BLEURT-20")


def test_a_configuration_is_put_into_the_terms_of_rembert():
    config = json.loads((GOLDEN / "config.json").read_text(encoding="utf-8"))
    settings = rembert_settings({**config, "unknown": 1})
    assert (settings["input_embedding_size"], settings["hidden_size"], settings["num_labels"]) == (8, 32, 1)
    assert "unknown" not in settings

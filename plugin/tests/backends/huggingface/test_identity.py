from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from pytest_ocg.errors import ModelError, OptionError


def test_the_identity_of_a_folder_is_its_content(save_model, backend_of, tmp_path):
    folder = save_model()
    before = backend_of(folder).identity()
    moved = folder.rename(tmp_path / "elsewhere").rename(folder)
    (folder / "README.md").write_text("Other words about the same model.")
    assert backend_of(moved).identity() == before
    assert before["source"] == "tiny"
    (folder / "generation_config.json").write_text("{}")
    assert backend_of(folder).identity()["content"] != before["content"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"quantization": "4bit"}, "quantization"),
        ({"max_new_tokens": 9}, "max_new_tokens"),
        ({"dtype": "fp16"}, "dtype"),
    ],
)
def test_what_changes_the_text_changes_the_identity(change, key, save_model, backend_of):
    folder = save_model()
    one, other = backend_of(folder).identity(), backend_of(folder, **change).identity()
    assert [name for name in one if one[name] != other[name]] == [key]


@pytest.mark.parametrize("change", [{"batch_size": 3}, {"seed": 5}, {"allow_pickle": True}])
def test_what_does_not_change_the_text_does_not_change_the_identity(change, save_model, backend_of):
    folder = save_model()
    assert backend_of(folder, **change).identity() == backend_of(folder).identity()


def test_identity_and_batch_size_need_no_torch(save_model):
    folder = save_model()
    program = (
        "import sys\n"
        "from pytest_ocg.backends.base import GenerationSettings\n"
        "from pytest_ocg.backends.huggingface.backend import HuggingFaceBackend\n"
        "from pytest_ocg.inputs.models import ModelSpec\n"
        f"backend = HuggingFaceBackend(ModelSpec('tiny', 'huggingface', {str(folder)!r}), GenerationSettings())\n"
        "assert backend.identity()['content'] and backend.preferred_batch_size()\n"
        "print(sorted({'torch', 'transformers', 'numpy', 'bitsandbytes'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"dtype": "float23"}, OptionError, "dtype 'float23' is not known; use auto, float32, float16, bfloat16"),
        ({"device": "tpu"}, OptionError, "device 'tpu' is not known; use auto, cpu, cuda, cuda:N or mps"),
        ({"quantization": "4bit", "device": "mps"}, ModelError, "quantization '4bit' is not available on device 'mps'"),
    ],
)
def test_unavailable_settings_are_reported_before_loading(settings, error, message, save_model, backend_of):
    with pytest.raises(error, match=message):
        backend_of(save_model(), **settings).identity()


def test_the_identity_of_a_gguf_file_is_its_hash(backend_of, tmp_path):
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF and more")
    identity = backend_of(file).identity()
    assert identity["content"] == hashlib.sha256(b"GGUF and more").hexdigest()
    assert identity["source"] == "tiny.gguf"

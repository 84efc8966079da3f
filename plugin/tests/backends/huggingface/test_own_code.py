"""Models with their own code: it runs only with the option, and the error if it cannot run."""

from __future__ import annotations

import json

import pytest

from pytest_ocg.backends.huggingface.loading import check_code
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import load_registry

transformers = pytest.importorskip("transformers")

SOURCE = Source("folder", "acme/dog")
OWN = {"auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}, "model_type": "quark"}
SERVE = "serve it elsewhere and pass --ocg-base-url"


@pytest.mark.parametrize(
    ("config", "trusted"),
    [({}, False), ({"model_type": "quark"}, False), ({**OWN, "model_type": "phi3"}, False), (OWN, True)],
)
def test_a_model_that_needs_no_code_or_may_run_it_is_let_through(config, trusted):
    assert check_code(SOURCE, config, trust_remote_code=trusted, note="") is None


def test_a_model_that_needs_code_is_refused_with_two_ways_out():
    with pytest.raises(ModelError) as caught:
        check_code(SOURCE, OWN, trust_remote_code=False, note="")
    assert str(caught.value) == (
        "model 'acme/dog' needs code from its own repository; read that code, then pass --ocg-trust-remote-code, "
        f"or {SERVE}"
    )


def test_the_note_in_the_registry_is_in_the_error():
    spec = load_registry()["phi3-small"]
    config = {**OWN, "model_type": "phi3small"}
    with pytest.raises(ModelError, match=r"does not load on transformers 5: serve it and use --ocg-base-url\); read"):
        check_code(SOURCE, config, trust_remote_code=spec.trust_remote_code, note=spec.note)


@pytest.fixture
def own_code(save_model, monkeypatch, tmp_path):
    """A saved model whose configuration class is in a file of its own, with this code."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))

    def make(code):
        folder = save_model()
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **OWN}))
        (folder / "own.py").write_text(code)
        return folder

    return make


def test_code_of_a_model_does_not_run_without_the_option(own_code, backend_of, make_prompt, tmp_path):
    folder = own_code(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    for attempt in (
        lambda backend: backend.check_loading(None),
        lambda backend: backend.generate([make_prompt("dog")]),
    ):
        with pytest.raises(
            ModelError, match="needs code from its own repository; read that code, then pass --ocg-trust"
        ):
            attempt(backend_of(folder))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "from transformers.cache_utils import NoSuchCache\n",
            f"the code in its repository does not run on transformers {transformers.__version__} (cannot import name "
            "'NoSuchCache' from 'transformers.cache_utils'",
        ),
        (
            "import transformers\nclass Config(transformers.NoSuchClass): pass\n",
            f"the code in its repository does not run on transformers {transformers.__version__} (module transformers "
            "has no attribute NoSuchClass",
        ),
        ("import no_such_package\n", "no_such_package. Run `pip install no_such_package`; install what is missing, or"),
    ],
)
def test_code_for_another_version_is_an_error_with_a_server_as_the_way_out(
    code, message, own_code, backend_of, make_prompt
):
    folder = own_code(code)
    with pytest.raises(ModelError) as caught:
        backend_of(folder, trust_remote_code=True).generate([make_prompt("dog")])
    assert str(caught.value).startswith(f"model {str(folder)!r} cannot be loaded: ")
    assert message in str(caught.value)
    assert str(caught.value).endswith(SERVE)
    assert "\n" not in str(caught.value)

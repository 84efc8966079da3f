from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from pytest_ocg.backends.huggingface import hub, sources
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec

errors = pytest.importorskip("huggingface_hub.errors")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "acme/dog-7b"


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """An empty hub cache, and no hub: every request is refused."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def fake_hub(hub_cache, monkeypatch):
    """Replaces the hub by an answer or an exception."""
    import huggingface_hub

    def answer(info=None, *, model_info=None, auth_check=None, snapshot_download=None):
        class Api:
            def model_info(self, name, revision, timeout):
                if model_info:
                    raise model_info
                return info

            def auth_check(self, name):
                if auth_check:
                    raise auth_check

        def fetch(*arguments, **named):
            if isinstance(snapshot_download, Exception):
                raise snapshot_download
            return str(snapshot_download)

        monkeypatch.setattr(huggingface_hub, "HfApi", Api)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)

    return answer


def _cache(root, *names, commit=COMMIT, index=None):
    repository = root / f"models--{NAME.replace('/', '--')}"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(commit)
    for name in names:
        (snapshot / name).write_text("{}")
    if index is not None:
        (snapshot / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return snapshot


def _info(*names, gated=False, sha=COMMIT):
    siblings = [type("Sibling", (), {"rfilename": name})() for name in names]
    return type("Info", (), {"sha": sha, "siblings": siblings, "gated": gated})()


def _response(error):
    return error("server text\nsecond line", response=SimpleNamespace(headers={}, request=None, status_code=401))


def test_a_cached_model_is_at_its_cached_commit_without_asking_the_hub(hub_cache):
    _cache(hub_cache, "config.json", "model.safetensors")
    revision, names = hub.look_up(NAME, None)
    assert (revision, sorted(names)) == (COMMIT, ["config.json", "model.safetensors"])
    assert hub.is_cached(NAME, None)
    assert hub.is_cached(NAME, COMMIT)
    assert not hub.is_cached(NAME, "other")
    assert not hub.is_cached("no hub id at all", None)


def test_a_cached_tokenizer_alone_is_not_a_cached_model(hub_cache, fake_hub):
    _cache(hub_cache, "config.json", "tokenizer.json")
    assert not hub.is_cached(NAME, None)
    fake_hub(_info("model.safetensors", sha="f" * 40))
    assert hub.look_up(NAME, None) == ("f" * 40, ["model.safetensors"])


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (_response(errors.GatedRepoError), f"'{NAME}' is gated: accept its licence on its hub page, then log in"),
        (_response(errors.RepositoryNotFoundError), f"'{NAME}' is not on the hub, or private and you are not logged"),
        (_response(errors.RevisionNotFoundError), f"'{NAME}' has no revision 'v1'"),
        (
            _response(errors.HfHubHTTPError),
            f"'{NAME}' at revision 'v1' is not in the local hub cache and .* \\(server text\\): connect",
        ),
        (
            errors.OfflineModeIsEnabled("offline"),
            f"'{NAME}' at revision 'v1' is not in the local hub cache and .* \\(offline\\)",
        ),
        (errors.HFValidationError("bad"), f"'{NAME}' is not a hub id of the form ORG/NAME"),
        (ValueError("a page"), f"'{NAME}' at revision 'v1' is not in the local hub cache and .* \\(a page\\): connect"),
        (
            ConnectionResetError("reset"),
            f"'{NAME}' at revision 'v1' is not in the local hub cache and .* \\(reset\\): connect once",
        ),
    ],
)
def test_an_error_of_the_hub_becomes_one_message_with_a_way_out(raised, message, fake_hub):
    fake_hub(model_info=raised)
    with pytest.raises(ModelError, match=message) as caught:
        hub.look_up(NAME, "v1")
    assert "\n" not in str(caught.value)


def test_a_gated_model_is_refused_before_it_is_downloaded(fake_hub):
    fake_hub(_info("model.safetensors", gated="manual"), auth_check=_response(errors.GatedRepoError))
    with pytest.raises(ModelError, match="is gated"):
        hub.look_up(NAME, None)


def test_a_complete_snapshot_is_used_and_an_incomplete_one_is_downloaded(hub_cache, fake_hub, tmp_path):
    fake_hub(snapshot_download=tmp_path / "fetched")
    snapshot = _cache(
        hub_cache, "config.json", "tokenizer.json", "a.safetensors", index={"x": "a.safetensors", "y": "b.safetensors"}
    )
    notices = []
    arguments = {"allow_pickle": False, "notice": notices.append}
    assert hub.download(NAME, COMMIT, **arguments) == tmp_path / "fetched"
    assert notices == [f"downloading {NAME} at 0123456789ab from the hub"]
    (snapshot / "b.safetensors").touch()
    assert hub.download(NAME, COMMIT, **arguments) == snapshot
    assert len(notices) == 1


def test_a_failed_download_has_a_reason(fake_hub):
    fake_hub(snapshot_download=errors.LocalEntryNotFoundError("no"))
    with pytest.raises(ModelError, match="cannot be reached"):
        hub.download(NAME, COMMIT, allow_pickle=False, notice=lambda text: None)


@pytest.mark.parametrize(
    ("names", "allowed", "is_refused"),
    [
        (["config.json", "pytorch_model.bin"], False, True),
        (["config.json", "pytorch_model.bin"], True, False),
        (["pytorch_model.bin", "model.safetensors"], False, False),
        (["consolidated.00.pth"], False, True),
        (["config.json"], False, False),
    ],
)
def test_weights_that_are_pickles_are_refused_unless_asked_for(names, allowed, is_refused, fake_hub):
    fake_hub(_info(*names))
    spec = ModelSpec("dog", "huggingface", NAME)
    if is_refused:
        with pytest.raises(ModelError, match=f"'{NAME}': its weights are pickles .* --ocg-allow-pickle"):
            sources.find_source(spec, allow_pickle=allowed, notice=lambda text: None)
    else:
        found = sources.find_source(spec, allow_pickle=allowed, notice=lambda text: None)
        assert (found.kind, found.revision, found.path) == ("hub", COMMIT, None)

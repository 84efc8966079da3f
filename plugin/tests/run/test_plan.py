"""What a run will do, from its options alone: which cases, and what a model's name means where replies come from."""

from pathlib import Path

import pytest

from pytest_ocg.errors import OptionError
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.run.options import DECLARATIONS, Options
from pytest_ocg.run.plan import DEFAULT_MAX_NEW_TOKENS, make_plan

SERVER = "http://127.0.0.1:1/v1"

SHOWS_THE_SOURCE = """
from pytest_ocg.backends.scripted import SCRIPTS, ScriptedBackend

def pytest_ocg_make_backend(spec, settings):
    print("asked for", spec.backend, spec.source)
    return ScriptedBackend(SCRIPTS["in-order"])
"""


def plan_of(*models, registry=(), **given):
    """The plan of the everyday sets under template 0, for options by name as they are typed."""
    typed = {one.field: one.default for one in DECLARATIONS} | {"concepts": "everyday", "templates": "0"} | given
    read = {one.field: one.read(text) for one in DECLARATIONS if (text := typed[one.field]) is not None}
    fields = {one.field: read.get(one.field) for one in DECLARATIONS}
    conditions = fields.pop("condition")
    fields["report"] = ()
    return make_plan(Options(models=models, conditions=conditions, **fields), {spec.name: spec for spec in registry})


def spec_of(model, **given) -> ModelSpec:
    [spec] = plan_of(model, **given).specs.values()
    return spec


@pytest.mark.parametrize("name", ["foo", "llama3:8b", "/models/tuned", "openai:foo", "org/name"])
@pytest.mark.parametrize("given", [{"base_url": SERVER}, {"backend": "openai"}])
def test_a_server_may_call_its_models_as_it_likes(name, given):
    spec = spec_of(name, **given)
    assert (spec.name, spec.backend, spec.source) == (name, "openai", name.removeprefix("openai:"))
    assert spec.base_url == given.get("base_url")


def test_a_name_that_the_registry_has_keeps_what_the_registry_knows_of_it():
    spec = spec_of("gemma2-9b", base_url=SERVER)
    assert (spec.backend, spec.source, spec.published_as) == ("openai", "google/gemma-2-9b-it", "Gemma2-9B")


def test_what_the_registry_knows_of_a_hub_id_holds_behind_a_server():
    plan = plan_of("AIDC-AI/Marco-o1", base_url=SERVER)
    [(name, spec)] = plan.specs.items()
    assert (spec.source, spec.reasoning) == ("AIDC-AI/Marco-o1", ("<Thought>", "</Thought>"))
    assert plan.settings(name).max_new_tokens == spec.max_new_tokens > DEFAULT_MAX_NEW_TOKENS


def test_another_server_gets_neither_the_key_nor_the_price_of_the_registry():
    hosted = ModelSpec("mine", "openai", "m", base_url="http://127.0.0.1:2/v1", key_variable="MY_KEY")
    same = spec_of("mine", registry=[hosted], base_url=hosted.base_url)
    other = spec_of("mine", registry=[hosted], base_url=SERVER)
    assert (same.base_url, same.key_variable) == (hosted.base_url, "MY_KEY")
    assert (other.base_url, other.key_variable, other.price) == (SERVER, None, None)


def test_replies_made_elsewhere_are_read_from_their_file_whatever_the_model_is():
    for name, published in (("gemma2-9b", "Gemma2-9B"), ("never-heard-of", None)):
        spec = spec_of(name, backend="replay", outputs="replies.jsonl")
        assert (spec.backend, spec.source, spec.revision) == ("replay", str(Path("replies.jsonl")), None)
        assert spec.published_as == published


@pytest.mark.parametrize(
    ("given", "known", "cap"),
    [({}, None, DEFAULT_MAX_NEW_TOKENS), ({}, 4096, 4096), ({"max_new_tokens": "7"}, 4096, 7)],
)
def test_a_cap_is_that_of_the_option_then_of_the_model_then_the_usual_one(given, known, cap):
    plan = plan_of("mine", registry=[ModelSpec("mine", "openai", "m", max_new_tokens=known)], **given)
    assert plan.settings("mine").max_new_tokens == cap


def test_cases_are_all_orders_of_all_sets_and_the_same_each_time():
    plan = plan_of("scripted:quarter", "scripted:echo", sets="2:0", templates="0,3", condition="both")
    assert len(plan.cases) == 2 * 2 * 2 * 2 * 24
    assert {case.model for case in plan.cases} == {"scripted_quarter", "scripted_echo"}
    assert (
        plan.cases == plan_of("scripted:quarter", "scripted:echo", sets="2:0", templates="0,3", condition="both").cases
    )


def test_a_shard_knows_the_whole_and_one_without_a_set_is_refused():
    plan = plan_of("scripted:quarter", sets="3:0", shard="2/3")
    assert (len(plan.sets), plan.whole.sets, plan.whole.cases_per_row) == (1, 3, 72)
    assert plan_of("scripted:quarter", sets="3:0").whole is None
    with pytest.raises(OptionError, match=r"--ocg-shard 4/5: .*3 concept sets; use at most 3 shards"):
        plan_of("scripted:quarter", sets="3:0", shard="4/5")


def test_a_backend_is_made_for_what_the_plan_says(bench):
    bench.pytester.makeconftest(SHOWS_THE_SOURCE)
    result = bench.run("--ocg-base-url", SERVER, "-s", model="gemma2-9b")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["asked for openai google/gemma-2-9b-it"])
    assert bench.results()["rows"][0]["published_as"] == "Gemma2-9B"

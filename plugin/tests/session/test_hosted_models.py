"""What the user sees of a hosted model: replies judged, every fault counted as an error, one message, and no key."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from plugin.tests.backends.openai.fault_server import (
    KEY,
    RESET,
    Answer,
    FaultServer,
    completion,
    envelope,
    in_order,
    refusal,
)

WAYS = pytest.mark.parametrize("way", [(), ("-n", "2")], ids=["no xdist", "-n2"])
NO_CREDIT = refusal(429, "You exceeded your current quota", code="insufficient_quota")
LIMITED = refusal(429, "Rate limit reached", code="rate_limit_exceeded", headers={"Retry-After": "0.05"})
KINDS = {
    "filtered": completion(None, "content_filter"),
    "refused": completion(None, refusal="I cannot."),
    "empty": envelope([]),
    "truncated": completion("", "length"),
    "backend": completion("A dog.", "banana"),
}
PASSING = (RESET, LIMITED, refusal(500, "oops"), Answer(body='{"choices": [{'), Answer(body='{"error": {"code": 503}}'))


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def faulty(request):
    """Each kind of fault in turn: what passes once, what stays for good, and every seventh case with a reply."""
    order = sum(map(ord, request.words.replace(" ", ""))) + request.words.index(" ")
    if request.number == 0:
        return in_order(request)
    kinds = (*KINDS.values(), *PASSING)
    fault = kinds[(order * 7 + len(request.words.split()[1])) % len(kinds)]
    return in_order(request) if fault in PASSING and request.times > 1 else fault


def ask(bench, server, *more, model="openai:served"):
    """A run that asks the server."""
    return bench.run("--ocg-base-url", server.url, *more, model=model)


def everything_left(bench, result):
    """All that a run leaves behind, as bytes: both outputs and every file of its folder."""
    files = [path.read_bytes() for path in bench.path.rglob("*") if path.is_file()]
    return b"".join([result.stdout.str().encode(), result.stderr.str().encode(), *files])


@WAYS
def test_a_hosted_model_is_asked_once_a_case_and_remembered(bench, way):
    with FaultServer() as server:
        result = ask(bench, server, *way)
        assert result.ret == 0
        assert result.parseoutcomes() == {"passed": 72}
        assert len(server.requests) == 72
        assert ask(bench, server).parseoutcomes() == {"passed": 72}
        assert len(server.requests) == 72
    row = bench.results()["rows"][0]
    assert row["counts"]["cached"] == 72
    [made] = row["made_by"]
    assert (made["reported_models"], made["system_fingerprints"], made["base_url"]) == (
        ["served-1"],
        ["fp_1"],
        server.url,
    )
    assert made["effective_decoding"] == {"temperature": 0, "seed": 0, "max_tokens": 128}
    assert {(one["prompt_tokens"], one["completion_tokens"]) for one in bench.generations()} == {(50, 10)}
    assert KEY.encode() not in everything_left(bench, result)


def test_every_fault_is_an_error_of_its_kind_and_none_is_a_miss_or_kept(bench):
    with FaultServer(faulty) as server:
        result = ask(bench, server)
        counts = bench.results()["rows"][0]["counts"]
        assert result.ret == 1
        assert (counts["miss"], counts["not_run"], counts["hit"] + counts["error"]) == (0, 0, 72)
        assert set(counts["errors"]) == set(KINDS)
        assert counts["hit"] > 20
        server.answer = in_order
        before = len(server.requests)
        assert ask(bench, server).parseoutcomes() == {"passed": 72}
        assert len(server.requests) - before == counts["error"]
    assert bench.results()["rows"][0]["counts"]["cached"] == counts["hit"]


@WAYS
def test_a_wrong_key_ends_the_run_with_one_message_and_is_shown_nowhere(bench, way):
    wrong = refusal(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key")
    with FaultServer(lambda request: wrong) as server:
        result = ask(bench, server, *way)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    output = result.stdout.str() + result.stderr.str()
    assert f"openai:served: {server.url} refuses the key in OPENAI_API_KEY" in output
    assert len(server.requests) == 1
    assert KEY.encode() not in everything_left(bench, result)
    assert "Traceback" not in output


@WAYS
def test_no_credit_in_mid_run_loses_nothing_and_the_next_run_goes_on(bench, way):
    with FaultServer(lambda request: in_order(request) if request.number < 30 else NO_CREDIT) as server:
        result = ask(bench, server, "--ocg-batch-size", "24", "--ocg-concurrency", "1", *way)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        output = result.stdout.str() + result.stderr.str()
        assert "the account of the key in OPENAI_API_KEY has no credit left: top it up or use another" in output
        assert bench.results("ocg-results/partial")["rows"][0]["counts"]["miss"] == 0
        server.answer = in_order
        before = len(server.requests)
        assert ask(bench, server).parseoutcomes() == {"passed": 72}
        assert len(server.requests) - before == 72 - 30
    assert bench.results()["rows"][0]["counts"]["cached"] == 30


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_in_mid_batch_keeps_the_replies_that_came(bench):
    with FaultServer(lambda request: in_order(request) if request.number < 5 else Answer(kind="silence")) as server:
        command = [
            sys.executable,
            "-m",
            "pytest",
            *bench.arguments("--ocg-base-url", server.url, "--ocg-concurrency", "1", model="openai:served"),
        ]
        running = subprocess.Popen(command, cwd=bench.path, stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while len(server.requests) < 6 and time.monotonic() < deadline:  # one at a time: five replies came before it
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=120)
        assert running.returncode == pytest.ExitCode.INTERRUPTED
        assert "openai:served: interrupted; the replies so far are kept" in output
        server.answer = in_order
        before = len(server.requests)
        assert ask(bench, server).parseoutcomes() == {"passed": 72}
        assert len(server.requests) - before == 72 - 5


def test_the_key_is_in_no_log(bench):
    with FaultServer() as server:
        result = ask(bench, server, "-k", "VVVV", "--log-file", "all.log", "--log-file-level", "DEBUG")
    assert result.ret == 0
    assert f"POST {server.url}" in (bench.path / "all.log").read_text(encoding="utf-8")
    assert KEY.encode() not in everything_left(bench, result)


@pytest.mark.parametrize("key", ["", f"{KEY}\n"])
def test_a_key_that_cannot_be_right_is_a_usage_error_before_anything_is_asked(bench, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with FaultServer() as server:
        result = ask(bench, server)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the key in OPENAI_API_KEY *"])
    assert server.requests == []
    assert KEY.encode() not in everything_left(bench, result)


def test_openai_itself_wants_a_key(bench, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    result = bench.run(model="gpt-4o-mini")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: https://api.openai.com/v1 needs a key and OPENAI_API_KEY is not set*"])


def test_a_server_of_ones_own_needs_no_key_and_a_registry_key_is_not_sent_to_it(bench, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with FaultServer() as server:
        assert ask(bench, server, "-k", "VVVV", model="gemini-pro").ret == 0
        assert {request.key for request in server.requests} == {"no-key"}
        assert {request.body["model"] for request in server.requests} == {"gemini-1.5-pro-001"}


def test_credentials_in_the_base_url_are_refused_and_not_shown(bench):
    result = bench.run("--ocg-base-url", f"http://user:{KEY}@127.0.0.1:1/v1", model="openai:served")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: the base URL of 'openai:served' contains credentials, a query or a fragment; *"]
    )
    assert KEY.encode() not in everything_left(bench, result)


def without_temperature(request):
    if "temperature" in request.body:
        return refusal(400, "Unsupported value: 'temperature'", code="unsupported_value", param="temperature")
    return in_order(request)


def test_what_it_costs_and_what_the_server_refuses_is_reported_once_for_all_workers(bench):
    with FaultServer(without_temperature) as server:
        result = ask(bench, server, "--ocg-max-new-tokens", "100", "-n", "2")
    assert result.ret == 0
    [line] = [line for line in result.outlines if "cached replies cost nothing" in line]
    assert line.startswith("openai_served: 72 prompts, about ")
    assert "replies of at most 7,200 tokens in total; cost unknown; " in line
    first_verdict = next(number for number, text in enumerate(result.outlines) if "100%]" in text)
    assert result.outlines.index(line) < first_verdict
    [note] = [line for line in result.outlines if line.startswith("note: ")]
    assert note.startswith("note: openai:served: the server does not accept temperature 0")
    [made] = bench.results()["rows"][0]["made_by"]
    assert made["effective_decoding"] == {"temperature": None, "seed": 0, "max_tokens": 100}


def test_a_known_price_is_applied_to_what_is_selected(bench):
    result = bench.run("--co", "-k", "VVVV", model="gpt-4o")
    result.stdout.fnmatch_lines(
        ["gpt-4o: 24 prompts, *; replies of at most 3,072 tokens *; cost about $0.05 at most (price of 2024-05-13); *"]
    )


def test_the_price_of_the_registry_is_not_that_of_another_server(bench):
    result = bench.run("--co", "--ocg-base-url", "http://127.0.0.1:1/v1", model="gpt-4o")
    result.stdout.fnmatch_lines(["gpt-4o: 72 prompts, *; cost unknown; *"])


def test_quiet_and_local_models_say_nothing_of_cost(bench):
    bench.run("--co", "-q", model="gpt-4o").stdout.no_fnmatch_line("*; cost *")
    bench.run("--co").stdout.no_fnmatch_line("*; cost *")


def test_concurrency_is_no_part_of_what_a_reply_is_remembered_under(bench):
    with FaultServer() as server:
        ask(bench, server, "--ocg-concurrency", "2")
        ask(bench, server, "--ocg-concurrency", "5", "--ocg-output", "again")
        assert len(server.requests) == 72
    identity = json.dumps(bench.results("again")["rows"][0]["identity"])
    assert "concurrency" not in identity
    assert os.environ["OPENAI_API_KEY"] not in identity

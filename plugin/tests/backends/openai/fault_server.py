"""A server on loopback for chat completions that can fail in every way that servers do."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.openai.backend import OpenAIBackend, RetryLimits
from pytest_ocg.backends.openai.client import Clock
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Message, Prompt

KEY = "sk-secret-5dfb"
QUICK = RetryLimits(first_pause_seconds=0.01, longest_pause_seconds=0.02)
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SYSTEM = Message("system", "You are a helpful assistant. Please generate only an answer.")
PROMPTS = tuple(
    Prompt(
        ("dog", "catch", number), 0, "ordered", 0, (SYSTEM, Message("user", f"Concepts: dog catch {number}\n\nAnswer:"))
    )
    for number in NUMBERS
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `number` counts requests from 0, `times` counts from 1 how often these messages were sent."""

    number: int
    times: int
    key: str
    body: Mapping[str, Any]

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.body["messages"]]

    @property
    def words(self) -> str:
        """The text between `Concepts:` and the end of that line: the words in the order asked for."""
        return self.body["messages"][-1]["content"].rpartition("Concepts: ")[2].partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does: an HTTP response, cut off after `cut_at` bytes; or `reset`, or `silence`."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    cut_at: int | None = None
    kind: str = "response"


def completion(content: object, finish_reason: object = "stop", **message: object) -> Answer:
    """A chat completion whose message has this content; `message` adds fields to it."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    return envelope([choice])


def envelope(choices: object, **more: object) -> Answer:
    """A chat completion with these choices."""
    usage = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
    plain = {"object": "chat.completion", "model": "served-1", "system_fingerprint": "fp_1", "usage": usage}
    return Answer(body=json.dumps({**plain, "choices": choices, **more}))


def in_order(request: Request) -> Answer:
    """A sentence with the words in the order asked for."""
    return completion(f"The {', the '.join(request.words.split())}.")


def refusal(status: int, message: str, *, headers: Mapping[str, str] = MappingProxyType({}), **error: object) -> Answer:
    """An error as OpenAI words it: `code`, `param` and `type` come from `error`."""
    return Answer(status, json.dumps({"error": {"message": message, **error}}), headers)


def failing_at(word: str, *answers: Answer | None) -> Callable[[Request], Answer]:
    """Replies in order, but to the prompt with the word these answers one after the other; the last one repeats."""

    def answer(request: Request) -> Answer:
        failure = answers[min(request.times, len(answers)) - 1] if word in request.words else None
        return failure if failure is not None else in_order(request)

    return answer


RESET = Answer(kind="reset")
SILENCE = Answer(kind="silence")


class _Sockets(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Print nothing about clients that close the connection."""


class FaultServer:
    """Answers each request by calling `answer`, and keeps all requests in `requests`."""

    def __init__(self, answer: Callable[[Request], Answer] = in_order) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._http = _Sockets(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> FaultServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _take(self, key: str, body: Mapping[str, Any]) -> Request:
        with self._lock:
            times = 1 + sum(request.body["messages"] == body["messages"] for request in self.requests)
            request = Request(len(self.requests), times, key, body)
            self.requests.append(request)
            return request

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the headers to be acknowledged

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not self.path.endswith("/v1/chat/completions"):
                    self._respond(Answer(404, "<html>nothing here</html>"))
                    return
                answer = server.answer(server._take(self.headers["Authorization"].removeprefix("Bearer "), body))
                if answer.kind == "silence":
                    server._released.wait()
                    self.close_connection = True
                elif answer.kind == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                else:
                    self._respond(answer)

            def _respond(self, answer: Answer) -> None:
                content = answer.body.encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: answer.cut_at])
                if answer.cut_at is not None:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Print nothing to standard error."""

        return Handler


class PlayedClock(Clock):
    """A clock that does not move until so many tasks sleep `together`; then it moves to the first wake-up time."""

    def __init__(self, *, together: int = 1) -> None:
        self.seconds = 0.0
        self._together = together
        self._asleep: list[tuple[float, asyncio.Event]] = []
        self._limits: list[tuple[asyncio.AbstractEventLoop, asyncio.Timeout]] = []

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._asleep.append((self.seconds + seconds, woken))
        if len(self._asleep) == self._together:
            self.seconds = min(moment for moment, _ in self._asleep)
            for moment, event in self._asleep:
                if moment <= self.seconds:
                    event.set()
            self._asleep = [(moment, event) for moment, event in self._asleep if not event.is_set()]
        await woken.wait()

    def timeout(self, seconds: float) -> asyncio.Timeout:
        limit = asyncio.timeout(None)
        self._limits.append((asyncio.get_running_loop(), limit))
        return limit

    def run_out(self) -> None:
        """Let the last request run into its time limit; called in the thread of a server."""
        loop, limit = self._limits[-1]
        loop.call_soon_threadsafe(lambda: limit.reschedule(loop.time()))


class Hosted:
    """Servers and the backends that ask them, all closed at the end."""

    def __init__(self) -> None:
        self._servers = ExitStack()
        self._backends: list[OpenAIBackend] = []

    def __enter__(self) -> Hosted:
        return self

    def __exit__(self, *_: object) -> None:
        for backend in self._backends:
            backend.close()
        self._servers.close()

    def serve(self, answer: Callable[[Request], Answer] = in_order) -> FaultServer:
        return self._servers.enter_context(FaultServer(answer))

    def backend_of(
        self,
        server: FaultServer,
        *,
        limits: RetryLimits = QUICK,
        notice: Callable[[str], None] = lambda text: None,
        concurrency: int = 4,
        clock: Clock | None = None,
        **spec: Any,
    ) -> OpenAIBackend:
        asked = ModelSpec("hosted", "openai", "served", base_url=server.url, **spec)
        settings = GenerationSettings(concurrency=concurrency, max_new_tokens=64, seed=3)
        self._backends.append(OpenAIBackend(asked, settings, notice, limits, clock))
        return self._backends[-1]

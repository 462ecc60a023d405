"""Clients as they really call a model through a gateway: each builds its history from the answers it gets.

They keep the habits of their kind: old thinking is dropped, cache markers move, the system prompt is reworded
in every turn, texts become blocks and back.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from midfold.messages import ToolCall
from midfold.testing import Reply
from midfold.testing.upstream import Received
from midfold.wire.apis import Completion, StreamReader, get_api, read_reply

Items = list[dict[str, Any]]
Ask = Callable[..., Any]
_CALL_NUMBERS = count(1)
"""A provider never gives an id twice; the sizes of two requests may be equal."""


def answer_as_an_agent(received: Received) -> Reply:
    """Ask for a tool when a person spoke, and say what was done when a tool did."""
    newest = next(
        message
        for message in reversed(received.messages)
        if message.role != "system" and not message.text.startswith("Keep in mind")
    )
    number = sum(1 for message in received.messages if message.role == "assistant")
    if newest.role == "tool" or any(True for part in newest.parts if type(part).__name__ == "ToolResult"):
        return Reply(f"Done with step {number}: the tariff of zone {number % 7} is 2.4{number % 10}.")
    call = ToolCall(f"call_{next(_CALL_NUMBERS)}", "read_file", json.dumps({"path": f"src/zone_{number}.py"}))
    return Reply("Let me look.", (call,), reasoning=f"I should read file {number}.")


def tool_output(number: int, chars: int = 3_000) -> str:
    """What a tool says; every line is another one."""
    lines = (
        f"zone_{number}.py:{line}: rate = {line * 37 % 101}.{number % 10}  # checked" for line in range(400)
    )
    return "\n".join(lines)[:chars]


@dataclass
class Client:
    """A client with one conversation. `ask` sends a request and returns the answer."""

    ask: Ask
    session: str = "9f0c2f8e-0000-4000-8000-000000000001"
    history: Items = field(default_factory=list)
    turns: int = 0
    answers: list[Any] = field(default_factory=list)
    dialect = ""
    path = ""
    streams = True

    def turn(self, words: str) -> str:
        """Say something, run the tools that the model asks for, and return what it says in the end."""
        self.turns += 1
        self.history += self.say(words)
        while True:
            completion = self._call()
            self.history += [message.raw for message in completion.messages]  # type: ignore[misc]
            calls = [call for message in completion.messages for call in message.calls]
            if not calls:
                return completion.text
            self.history += self.results([(call.id, tool_output(self.turns)) for call in calls])

    def _call(self) -> Completion:
        body = json.loads(json.dumps(self.body()))
        answer = self.ask(self.path, body | {"stream": self.streams}, **self.headers())
        self.answers.append(answer)
        assert answer.status == 200, answer.body
        if not self.streams:
            return read_reply(get_api(self.dialect), answer.body)
        reader = StreamReader(get_api(self.dialect))
        for _ in [*reader.feed(answer.body), *reader.finish()]:
            pass
        return reader.completion()

    @property
    def folds(self) -> list[int]:
        """How many folds stood under each request."""
        return [int(answer.changes.get("x-midfold-folded", 0)) for answer in self.answers]

    def say(self, words: str) -> Items:
        return [{"role": "user", "content": words}]

    def results(self, results: list[tuple[str, str]]) -> Items:
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        raise NotImplementedError

    def headers(self) -> dict[str, str]:
        return {}


class ClaudeCode(Client):
    """Sends blocks, a system message in the middle, and a marker on the newest message alone."""

    dialect = "anthropic"
    path = "/v1/messages?beta=true"

    def headers(self) -> dict[str, str]:
        return {
            "x_claude_code_session_id": self.session,
            "anthropic_version": "2023-06-01",
            "anthropic_beta": "claude-code-20250219,context-management-2025-06-27",
            "x_api_key": "a-key-of-the-client",
        }

    def say(self, words: str) -> Items:
        if self.history:
            return super().say(words)
        blocks = [
            {"type": "text", "text": text} for text in ("<env>linux</env>", "<rules>none</rules>", words)
        ]
        return [{"role": "user", "content": blocks}, {"role": "system", "content": "The folder is /work."}]

    def results(self, results: list[tuple[str, str]]) -> Items:
        return [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}]}
                    for call, text in results
                ],
            }
        ]

    def body(self) -> dict[str, Any]:
        marker = {"cache_control": {"type": "ephemeral"}}
        words = f"You are a coding agent. Git status after {self.turns} turns: clean."
        return {
            "model": "claude-opus-4-1",
            "max_tokens": 1_000,
            "system": [{"type": "text", "text": "x" * 40}, {"type": "text", "text": words, **marker}],
            "tools": [{"name": "read_file", "input_schema": {"type": "object", "properties": {}}}],
            "metadata": {"user_id": json.dumps({"session_id": self.session})},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "messages": self._messages(marker),
        }

    def _messages(self, marker: dict[str, Any]) -> Items:
        last_words = max(
            index
            for index, item in enumerate(self.history)
            if item["role"] == "user" and "tool_result" not in str(item["content"])
        )
        sent = []
        for index, item in enumerate(self.history):
            content = item["content"]
            if isinstance(content, list) and index < last_words:
                content = [block for block in content if block["type"] != "thinking"]
            sent.append({**item, "content": content})
        newest = sent[-1]["content"]
        blocks = newest if isinstance(newest, list) else [{"type": "text", "text": newest}]
        return [*sent[:-1], {**sent[-1], "content": [*blocks[:-1], {**blocks[-1], **marker}]}]


class Codex(Client):
    """Sends items of the Responses API with thinking that is sealed, and rewords its developer messages."""

    dialect = "openai_responses"
    path = "/v1/responses"

    def headers(self) -> dict[str, str]:
        return {"session_id": self.session, "authorization": "Bearer a-key-of-the-client"}

    def say(self, words: str) -> Items:
        content = [{"type": "input_text", "text": words}]
        return [{"type": "message", "role": "user", "content": content}]

    def results(self, results: list[tuple[str, str]]) -> Items:
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in results]

    def body(self) -> dict[str, Any]:
        developer = [
            {"type": "input_text", "text": "Permissions: all."},
            {"type": "input_text", "text": f"It is day {self.turns}."},
        ]
        return {
            "model": "gpt-5-codex",
            "store": False,
            "prompt_cache_key": self.session,
            "include": ["reasoning.encrypted_content"],
            "tools": [{"type": "function", "name": "read_file", "parameters": {"type": "object"}}],
            "input": [{"type": "message", "role": "developer", "content": developer}, *self.history],
        }


class SdkAgent(Client):
    """Sends plain chat completions, the system prompt with the time of day, and no name for anything."""

    dialect = "openai_chat"
    path = "/v1/chat/completions"
    streams = False

    def headers(self) -> dict[str, str]:
        return {"authorization": "Bearer a-key-of-the-client"}

    def results(self, results: list[tuple[str, str]]) -> Items:
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]

    def body(self) -> dict[str, Any]:
        dropped = ("reasoning_content", "refusal", "annotations")
        sent = [{key: value for key, value in item.items() if key not in dropped} for item in self.history]
        system = {"role": "system", "content": f"You are an agent. The time is {self.turns % 24}:00."}
        return {
            "model": "gpt-5-mini",
            "messages": [system, *sent],
            "tools": [
                {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}
            ],
        }


class Aider(Client):
    """Sends a file that changes and an answer of its own before what it works on, and a reminder at the end.

    What it works on becomes history with every third request; then the file moves behind it.
    """

    dialect = "openai_chat"
    path = "/v1/chat/completions"
    streams = False
    reminds_in = "system"
    """the role of the reminder; with none, it stands behind the words of the newest request"""

    done = 0
    """how many messages are history"""

    def turn(self, words: str) -> str:
        if self.turns % 3 == 0 and self.history:
            self.history += [
                {"role": "user", "content": "The files were changed as you said."},
                {"role": "assistant", "content": "Ok."},
            ]
            self.done = len(self.history)
        return super().turn(words + tool_output(self.turns, 2_000))

    def results(self, results: list[tuple[str, str]]) -> Items:
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]

    def body(self) -> dict[str, Any]:
        file = "These are the files that you may change; trust them.\n" + tool_output(self.done, 1_500)
        files = [
            {"role": "user", "content": file},
            {"role": "assistant", "content": "Ok, I will change only these files."},
        ]
        sent = [dict(item) for item in [*self.history[: self.done], *files, *self.history[self.done :]]]
        reminder = "Answer with whole functions, and nothing else. " * 5
        if self.reminds_in:
            sent.append({"role": self.reminds_in, "content": reminder})
        elif sent[-1]["role"] == "user":
            sent[-1]["content"] += f"\n\n{reminder}"
        system = {"role": "system", "content": "You are an agent."}
        tool = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}
        return {"model": "gpt-5-mini", "messages": [system, *sent], "tools": [tool]}


class AiderWithWords(Aider):
    """Puts its reminder behind the words of the newest request."""

    reminds_in = ""


class Noted(SdkAgent):
    """Puts a note of the user's before the newest reply and the newest request, wherever they are."""

    role = "user"
    depth = 2

    def body(self) -> dict[str, Any]:
        body = super().body()
        items = body["messages"]
        note = {"role": self.role, "content": "Keep in mind: answers are short, and units are metric."}
        at = max(len(items) - self.depth, 1)
        while items[at]["role"] == "tool":  # a result follows its call
            at -= 1
        return body | {"messages": [*items[:at], note, *items[at:]]}


class NotedLast(Noted):
    """Puts the note at the very end."""

    depth = 0

    def body(self) -> dict[str, Any]:
        body = SdkAgent.body(self)
        note = {"role": "user", "content": "Keep in mind: answers are short, and units are metric."}
        return body | {"messages": [*body["messages"], note]}


CLIENTS = {"Claude Code": ClaudeCode, "Codex": Codex, "an SDK agent": SdkAgent}
RESTLESS = {
    "aider": Aider,
    "aider that reminds in the request": AiderWithWords,
    "a note in the middle": Noted,
    "a note at the end": NotedLast,
}
"""Clients that move messages with each request."""

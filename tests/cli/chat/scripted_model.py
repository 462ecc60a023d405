"""A model in a process of its own that does what its prompts say; what it was sent is kept in a file.

    python scripted_model.py LOG

It prints its address, and serves until its standard input is closed. The newest words of the user are what it
obeys; after a tool's result it says how that begins.

    read PATH      call read_file            run COMMAND    call terminal
    say N words    answer at length          hang           answer nothing, for ever
    slowly         begin, and then hang      anything else  answer with it

A model that is called `window-N` refuses what has more tokens. Summaries are written at once, or never, where
what is to be summarised has the word `endless`.
"""

import json
import sys
from pathlib import Path

from midfold.messages import ToolCall, ToolResult
from midfold.providers.summarizers.costs import system_text
from midfold.testing.upstream import (
    NEVER,
    Answer,
    DeliveryFault,
    Ending,
    Received,
    Reply,
    Upstream,
    overflow,
)

WORDS = "The harbour lamp number {} was cleaned, oiled and lit again before the tide came in."
SUMMARY = "## Goal\nKeep the lamps lit.\n\n## Critical Context\n- The scripted summary was here."
THEN_HANG = DeliveryFault(cut_at=900, ending=Ending.STALL)


def answer(received: Received) -> Answer:
    window = received.model.removeprefix("window-")
    if window.isdecimal():
        refusal = overflow(
            "openai", window_tokens=int(window), input_tokens=received.count_tokens(), output_tokens=0
        )
        if refusal:
            return refusal
    body = received.body.decode()
    if system_text()[:40] in body:
        return NEVER if "endless" in body else Reply(SUMMARY)
    results = [part for part in received.messages[-1].parts if isinstance(part, ToolResult)]
    if results:
        return Reply(f"The tool said: {results[-1].text.strip().splitlines()[0]}")
    return obey(next(message.text for message in reversed(received.messages) if message.role == "user"))


def obey(words: str) -> Answer:
    verb, _, rest = words.partition(" ")
    match verb:
        case "read":
            return call("read_file", path=rest)
        case "run":
            return call("terminal", command=rest)
        case "say":
            return Reply(f"{speak(int(rest.split()[0]))} So much for {rest}.")
        case "hang":
            return NEVER
        case "slowly":
            return Reply(speak(600), fault=THEN_HANG)
        case _:
            return Reply(f"You said: {words}")


def speak(count: int) -> str:
    return " ".join(WORDS.format(number) for number in range(count // 15 + 1))


def call(name: str, **arguments: str) -> Reply:
    return Reply("I look.", calls=(ToolCall(f"call_{name}", name, json.dumps(arguments)),))


def main() -> None:
    log = Path(sys.argv[1])

    def script(received: Received) -> Answer:
        with log.open("a") as file:
            file.write(json.dumps(received.json) + "\n")
        return answer(received)

    with Upstream(script) as upstream:
        sys.stdout.write(f"{upstream.url}/v1\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()

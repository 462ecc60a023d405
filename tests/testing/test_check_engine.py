"""`check_engine` lets good engines pass, alone and in a host, and names the promise that another breaks."""

import subprocess
import sys

import pytest

from midfold.engines import ContextCompressor, ContextEngine
from midfold.errors import EngineContractError
from midfold.messages import SYSTEM_ROLES
from midfold.testing import check_engine
from midfold.wire import detect, parse
from midfold.wire.usage import normalize_usage


class KeepNewest(ContextEngine):
    """Keeps the system prompt and the newest exchange, and echoes."""

    name = "keep-newest"
    compressed = 0
    echoed = 0

    def update_from_response(self, usage):
        self.last_prompt_tokens = normalize_usage(usage).prompt_tokens

    def should_compress(self, prompt_tokens=None):
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        return 0 < self.threshold_tokens <= tokens

    def compress(self, messages, current_tokens=None, focus_topic=None):
        type(self).compressed += 1
        parsed = parse(messages, detect(messages)) if messages else []
        start = max((i for i, each in enumerate(parsed) if each.role == "user" and each.text), default=0)
        kept = [i for i, each in enumerate(parsed) if i >= start or each.role in SYSTEM_ROLES]
        return [messages[index] for index in kept]

    def get_tool_schemas(self):
        words = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}
        return [{"name": "echo", "description": "Say it again.", "parameters": words}]

    def handle_tool_call(self, name, args, **info):
        if name != "echo":
            return super().handle_tool_call(name, args, **info)
        type(self).echoed += 1
        return '{"words": "' + args["words"] + '"}'


@pytest.mark.slow
def test_a_plain_engine_passes_and_is_really_used():
    class Used(KeepNewest):
        pass

    check_engine(Used)
    assert Used.echoed >= 3
    alone = 4 * 2 * 3 + 4  # each dialect and seed with and without an open call, and odd input
    assert Used.compressed > alone


@pytest.mark.slow
def test_the_compressor_passes():
    check_engine(ContextCompressor)


class Raises(KeepNewest):
    def handle_tool_call(self, name, args, **info):
        if name == "echo":
            raise OSError("the disk is gone")
        return super().handle_tool_call(name, args, **info)


class SpeaksPlainly(KeepNewest):
    def handle_tool_call(self, name, args, **info):
        return "words" if name == "echo" else super().handle_tool_call(name, args, **info)


class NamesOddly(KeepNewest):
    def get_tool_schemas(self):
        return [{"name": "has blanks", "parameters": {"type": "object", "properties": {}}}]


class FailsAtContinuations(KeepNewest):
    def on_session_start(self, session_id, **info):
        if info.get("home") and info.get("boundary_reason"):
            raise KeyError("old_session_id")


class FailsAtReset(KeepNewest):
    def on_session_reset(self):
        raise KeyError("lost")


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (Raises, "its tool 'echo' is answered with JSON, not with 'Error: OSError: the disk is gone'"),
        (SpeaksPlainly, "is answered with JSON, not with 'words'"),
        (NamesOddly, "a tool has a name of letters"),
        (FailsAtContinuations, "on_session_start never raises; it raised KeyError"),
        (FailsAtReset, r"one raised KeyError\('lost'\)"),
    ],
)
def test_an_engine_that_fails_in_a_chat_is_named_with_the_promise(engine, words):
    with pytest.raises(EngineContractError, match=words):
        check_engine(engine)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_the_kit_loads_no_agent_and_no_http_client():
    done = run("import sys, midfold.testing; print('midfold.agent' in sys.modules, 'aiohttp' in sys.modules)")
    assert done.stdout == "False False\n", done.stderr


@pytest.mark.slow
def test_without_the_host_the_missing_extra_is_named():
    code = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from midfold.engines import ContextCompressor\n"
        "from midfold.errors import ExtraMissing\n"
        "from midfold.testing import check_engine\n"
        "try: check_engine(ContextCompressor)\n"
        "except ExtraMissing as error: print(error)\n"
    )
    done = run(code)
    assert (
        "to use chats that check an engine, install one more part: pip install 'midfold[models]'"
        in done.stdout
    )

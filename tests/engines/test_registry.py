"""Engines are found by name, loaded when asked for, and named when they do not load."""

import pytest

from midfold.engines import ContextCompressor
from midfold.engines.registry import PLUGIN_FOLDER, find_engine, list_engines
from midfold.errors import EngineNotFound

PLUGIN = """
from midfold.engines import ContextEngine

class KeepLast(ContextEngine):
    name = "keep-last"
    def update_from_response(self, usage): ...
    def should_compress(self, prompt_tokens=None): return False
    def compress(self, messages, current_tokens=None, focus_topic=None): return list(messages)
"""


@pytest.fixture
def home(tmp_path):
    def put(name, code):
        folder = tmp_path / PLUGIN_FOLDER / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(code)
        return tmp_path

    return put


def test_the_built_in_engine_is_found():
    assert find_engine("compressor") is ContextCompressor


def test_a_class_is_found_by_module_and_name():
    assert find_engine("midfold.engines.compressor:ContextCompressor") is ContextCompressor


def test_a_plug_in_folder_is_found_and_listed(home):
    where = home("keep-last", PLUGIN)
    assert find_engine("keep-last", where)().name == "keep-last"
    assert [offer.name for offer in list_engines(where)] == ["compressor", "keep-last", "lcm"]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(EngineNotFound, match="no context engine 'lcmm'; there are compressor"):
        find_engine("lcmm")


def test_a_broken_plug_in_names_itself(home):
    with pytest.raises(EngineNotFound, match=r"'bad' \(it does not load: ZeroDivisionError"):
        find_engine("bad", home("bad", "1 / 0"))


@pytest.mark.parametrize("name", ["json:loads", "json:nothing", "no_such_module:Class"])
def test_what_is_no_engine_is_refused(name):
    with pytest.raises(EngineNotFound):
        find_engine(name)


def test_listing_loads_nothing(home):
    where = home("bad", "1 / 0")
    assert "bad" in [offer.name for offer in list_engines(where)]

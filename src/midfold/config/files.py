"""Read a file of settings, YAML or TOML, into a mapping. Whatever is wrong with it is one `ConfigError`.

Importing this loads PyYAML, so it is imported where a file or a variable is read.
"""

import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from yaml.constructor import ConstructorError
from yaml.reader import ReaderError

from midfold.config.masking import Description
from midfold.errors import ConfigError
from midfold.files import read_bytes

_TOML_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
# What a parser quotes from a file can be a password; single characters are punctuation.
_QUOTED = re.compile(r"'[^']{2,}'|\"[^\"]{2,}\"")
_TOO_DEEP = "nested too deeply, or inside itself"
_MAX_CHARS = 262_144
_MAX_VALUES = 10_000
"""Values of a text of YAML, each counted wherever an alias repeats it."""
_MAX_DEPTH = 64


class BrokenFile(Exception):
    """A text is not what its format asks for. `line` is `None` where the parser does not say."""

    def __init__(self, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.reason = _QUOTED.sub("'…'", " ".join(reason.split()))
        self.line = line


def read_tree(file: Path) -> Mapping[object, object]:
    """Return the values of a file; an empty file has none. A file that is not called `.toml` is YAML."""
    parse, form = (parse_toml, "TOML") if file.suffix == ".toml" else (parse_yaml, "YAML")
    try:
        tree = parse(read_bytes(file).decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(str(file), Description("missing"), hint="a YAML or TOML file") from None
    except OSError as error:
        reason = f"unreadable ({error.strerror})"
        raise ConfigError(str(file), Description(reason), hint="a YAML or TOML file") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(str(file), Description(f"broken at line {line}"), hint="text in UTF-8") from None
    except BrokenFile as error:
        position = f" at line {error.line}" if error.line else ""
        raise ConfigError(str(file), Description(f"broken{position} ({error.reason})"), hint=form) from None
    if tree is None:
        return {}
    if not isinstance(tree, Mapping):
        raise ConfigError(str(file), Description("not a mapping"), hint="sections with settings")
    return tree


def parse_yaml(text: str) -> object:
    """Return the values in a YAML text, or raise `BrokenFile`. Tags that would run code are refused."""
    if len(text) > _MAX_CHARS:
        raise BrokenFile(f"longer than {_MAX_CHARS:,} characters", None)
    try:
        # The loader written in C is faster, and ends the whole process when a text is nested too deeply.
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        _check(node)
        return None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise BrokenFile(error.problem or "no YAML", mark.line + 1 if mark else None) from None
    except ReaderError as error:
        raise BrokenFile(error.reason, text.count("\n", 0, error.position) + 1) from None
    except RecursionError:
        raise BrokenFile(_TOO_DEEP, None) from None
    except (ValueError, LookupError, AttributeError) as error:
        # PyYAML lets through whatever its converters of dates, numbers and booleans raise.
        raise BrokenFile(str(error), None) from None


def parse_toml(text: str) -> object:
    """Return the values in a TOML text, or raise `BrokenFile`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = _TOML_POSITION.search(str(error))
        line = int(position[1]) if position and position[1] else len(text.splitlines())
        raise BrokenFile(_TOML_POSITION.sub("", str(error)), line) from None
    except RecursionError:
        raise BrokenFile(_TOO_DEEP, None) from None


def _check(root: yaml.Node | None) -> None:
    """Refuse what PyYAML does in silence: it drops the first of two sections with one name.

    Aliases of aliases make a few lines stand for millions of values, so those are counted first as they would
    be written out.
    """
    waiting: list[tuple[yaml.Node, int]] = [] if root is None else [(root, 0)]
    for count in itertools.count():
        if not waiting:
            return
        node, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise BrokenFile(_TOO_DEEP, node.start_mark.line + 1)
        if count > _MAX_VALUES:
            raise BrokenFile(f"more than {_MAX_VALUES:,} values, aliases written out", None)
        if isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(node)
        waiting += ((child, depth + 1) for child in _children(node))


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return itertools.chain.from_iterable(node.value)
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    seen: set[object] = set()
    for key, _value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else key
        if name in seen:
            raise ConstructorError(None, None, "the same key for the second time", key.start_mark)
        seen.add(name)

"""Where settings come from, which source wins, and what is said when one cannot be read."""

import math
import subprocess
import sys
from types import MappingProxyType

import pytest

from midfold.config import check_settings, load_settings
from midfold.errors import ConfigError

THRESHOLD = "MIDFOLD_COMPRESSION__THRESHOLD"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def load(home):
    """Load settings from a home folder with these files, and these variables and flags."""

    def loader(yaml=None, *, flags=MappingProxyType({}), **variables):
        if yaml is not None:
            (home / "config.yaml").write_text(yaml, "utf-8")
        return load_settings(environment={"MIDFOLD_HOME": str(home), **variables}, flags=flags)

    return loader


@pytest.fixture
def refuse(load):
    """Load settings that are wrong; returns the sentence."""

    def refuser(*arguments, **options):
        with pytest.raises(ConfigError) as raised:
            load(*arguments, **options)
        return str(raised.value)

    return refuser


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(load):
    file = "compression: {threshold: 0.6, target_ratio: 0.3, protect_last_n: 9}"
    variables = {THRESHOLD: "0.7", "MIDFOLD_COMPRESSION__TARGET_RATIO": "0.4"}
    settings = load(file, flags={"compression.threshold": 0.8}, **variables)
    found = {
        key: (entry.value, entry.origin) for entry in settings.entries() if (key := entry.key.split(".")[-1])
    }
    assert found["threshold"] == (0.8, "flag --threshold")
    assert found["target_ratio"] == (0.4, "environment MIDFOLD_COMPRESSION__TARGET_RATIO")
    assert found["protect_last_n"] == (9, "config.yaml")
    assert found["protect_first_n"] == (3, "default")
    assert settings.compression.threshold == 0.8


def test_a_flag_that_was_not_given_changes_nothing(load):
    settings = load("compression: {threshold: 0.6}", flags={"compression.threshold": None})
    assert settings.compression.threshold == 0.6


def test_the_flag_for_the_name_of_a_model_is_called_model(load):
    assert load(flags={"model.name": "x"}).origins["model.name"] == "flag --model"


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("COMPRESSION__ENABLED", "false", False),
        ("COMPRESSION__THRESHOLD", "0.6", 0.6),
        ("COMPRESSION__PROTECT_LAST_N", "7", 7),
        ("COMPRESSION__STRATEGY", "fold", "fold"),
        ("MODEL__NAME", "2024-01-01", "2024-01-01"),
        ("MODEL__NAME", "123", "123"),
        ("MODEL__NAME", "[broken", "[broken"),
        ("MODEL__CONTEXT_LENGTH", "200_000", 200_000),
        ("MODEL__CACHE_TTL", "1h", "1h"),
        ("CONTEXT__ENGINE", "module:Class", "module:Class"),
        ("AUXILIARY__COMPRESSION__CONTEXT_LENGTH", "32000", 32_000),
        ("TOOL_OUTPUT__PER_TOOL__TERMINAL", "inf", math.inf),
        ("GATEWAY__PORT", "8080", 8080),
        ("PROVIDERS__LOCAL__BASE_URL", "http://localhost:8000/v1", "http://localhost:8000/v1"),
    ],
)
def test_a_variable_is_read_as_yaml(load, variable, text, value):
    settings = load(**{f"MIDFOLD_{variable}": text})
    key = variable.lower().replace("__", ".")
    found = {entry.key: entry for entry in settings.entries()}[key]
    assert (found.value, found.origin) == (value, f"environment MIDFOLD_{variable}")


def test_null_in_a_variable_takes_a_value_back(load):
    assert load("model: {name: x}", MIDFOLD_MODEL__NAME="null").model.name is None


def test_a_credential_in_a_variable_stays_the_text_it_is(load):
    assert load(MIDFOLD_PROVIDERS__OPENAI__API_KEY="0123").providers["openai"] == {"api_key": "0123"}


def test_an_empty_variable_is_not_set(load):
    assert load("compression: {threshold: 0.6}", **{THRESHOLD: ""}).compression.threshold == 0.6


def test_variables_without_two_underscores_are_not_settings(load):
    others = ("MIDFOLD_DATA", "MIDFOLD_TRACEBACK", "MIDFOLD_UPDATE_SNAPSHOTS", "OTHER__KEY")
    assert load(**dict.fromkeys(others, "1")) == load()


def test_an_unknown_variable_is_refused_with_a_suggestion(refuse):
    assert refuse(MIDFOLD_COMPRESSION__TRESHOLD="0.6") == (
        "compression.treshold is unknown; expected compression.threshold "
        "(from environment MIDFOLD_COMPRESSION__TRESHOLD)"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("compression: {treshold: 0.6}", "compression.threshold"),
        ("compression: {protect_last: 3}", "compression.protect_last_n"),
        ("compresion: {threshold: 0.6}", "compression"),
        ("modle: {name: x}", "model"),
        ("threshold: 0.6", "compression.threshold"),
        ("model: {strategy: fold}", "compression.strategy"),
        ("auxilary.compression.context_length: 5", "auxiliary.compression.context_length"),
        ("auxiliary: {custom: {compresssion: a/b}}", "auxiliary.custom.compression"),
        ("provider: {x: 1}", "providers"),
        ("model: {api_key: x}", "one of name, context_length, cache_ttl, fallback"),
        (
            "7: x",
            "one of auxiliary, compression, context, gateway, model, recall, store, tool_output, providers",
        ),
    ],
)
def test_an_unknown_key_suggests_the_nearest(refuse, written, meant):
    assert f" is unknown; expected {meant} (from config.yaml)" in refuse(written)


def test_a_section_that_is_no_section_is_refused(refuse):
    assert refuse("compression: 5") == "compression is 5; expected a section with settings (from config.yaml)"


def test_a_key_that_could_steer_a_terminal_is_written_out(refuse):
    assert "\x1b" not in refuse('"\\e[31m": 1')


@pytest.mark.parametrize(
    "nothing", ["", "# only a comment", "---", "{}", "compression:", "compression: {}", "gateway:"]
)
def test_an_empty_file_or_section_says_nothing(load, nothing):
    assert load(nothing) == load()


def test_entries_of_a_mapping_join_its_defaults(load):
    settings = load("tool_output: {per_tool: {terminal: 10, a.b: .inf}}")
    assert settings.tool_output.per_tool == {"read_file": math.inf, "terminal": 10, "a.b": math.inf}


def test_trees_from_several_sources_are_merged(load):
    file = "providers: {openai: {base_url: x, api_key: a}, local: {}}"
    settings = load(file, MIDFOLD_PROVIDERS__OPENAI__API_KEY="b", MIDFOLD_PROVIDERS__LOCAL__PORT="1")
    assert settings.providers == {"openai": {"base_url": "x", "api_key": "b"}, "local": {"port": 1}}


def test_what_was_given_is_not_changed(load):
    flags = {"providers": {"local": {}}, "providers.local.port": 1}
    assert load(flags=flags).providers == {"local": {"port": 1}}
    assert flags == {"providers": {"local": {}}, "providers.local.port": 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "compression: {threshold: 0.6}"),
        ("config.yml", "compression.threshold: 0.6"),
        ("config.toml", "[compression]\r\nthreshold = 0.6\r\n"),
        ("config.toml", "\ufeffcompression.threshold = 0.6"),
    ],
)
def test_the_file_in_the_home_folder_is_read(load, home, name, text):
    (home / name).write_text(text, "utf-8", newline="")
    settings = load()
    assert settings.compression.threshold == 0.6
    assert settings.origins["compression.threshold"] == name


def test_two_files_in_the_home_folder_are_one_too_many(refuse, home):
    (home / "config.toml").write_text("")
    told = refuse("")
    assert (
        told
        == f"{home / 'config'} is there more than once, as config.yaml and config.toml; expected one file"
    )


def test_a_named_file_wins_over_the_variable_over_the_home_folder(load, home):
    for name, threshold in (("named", 0.1), ("variable", 0.2), ("config", 0.3)):
        (home / f"{name}.yaml").write_text(f"compression.threshold: {threshold}")
    environment = {"MIDFOLD_HOME": str(home), "MIDFOLD_CONFIG": str(home / "variable.yaml")}
    assert load().compression.threshold == 0.3
    assert load_settings(environment=environment).compression.threshold == 0.2
    named = load_settings(path=home / "named.yaml", environment=environment)
    assert named.compression.threshold == 0.1


@pytest.mark.parametrize("name", ["missing.yaml", "missing.toml"])
def test_a_named_file_must_be_there(refuse, home, name):
    told = refuse(MIDFOLD_CONFIG=str(home / name))
    assert told == f"{home / name} is missing; expected a YAML or TOML file"


def test_a_folder_is_not_a_file(refuse, home):
    assert "is unreadable (Is a directory); expected a YAML or TOML file" in refuse(MIDFOLD_CONFIG=str(home))


BOMB = b"\n".join(
    [b"a0: &a0 [x]", *(b"a%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 10))]
)
MERGED = b"\n".join(
    [
        b"a0: &a0 {x: 1}",
        *(b"a%d: &a%d {<<: [%s]}" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 10)),
    ]
)
BROKEN = {
    "tab": ("config.yaml", b"compression:\n\tthreshold: 1", "broken at line 2 (found character"),
    "colons": ("config.yaml", b"a: 1\nb: c: d", "broken at line 2 (mapping values are not allowed here)"),
    "open quote": ("config.yaml", b"a: 'x\nb: 1", "broken at line 2"),
    "twice": ("config.yaml", b"model:\n  name: a\nmodel:\n  name: b", "broken at line 3 (the same key"),
    "two documents": ("config.yaml", b"a: 1\n---\nb: 1", "broken at line 2"),
    "control character": ("config.yaml", b"a: 1\nb: \x01", "broken at line 2"),
    "not UTF-8": ("config.yaml", b"a: 1\nb: \xff", "broken at line 2; expected text in UTF-8"),
    "code": (
        "config.yaml",
        b"a: !!python/object/apply:os.getcwd []",
        "broken at line 1 (could not determine",
    ),
    "no date": ("config.yaml", b"gateway: {since: 2024-99-99}", "broken (month must be"),
    "deep": ("config.yaml", b"gateway: " + b"[" * 50_000, "nested too deeply"),
    "inside itself": ("config.yaml", b"gateway: &g {x: *g}", "nested too deeply, or inside itself"),
    "aliases of aliases": ("config.yaml", BOMB, "more than 10,000 values, aliases written out"),
    "merged aliases": ("config.yaml", MERGED, "more than 10,000 values, aliases written out"),
    "a huge file": ("config.yaml", b"# \n" * 100_000, "longer than 262,144 characters"),
    "list": ("config.yaml", b"- compression", "is not a mapping; expected sections with settings"),
    "text": ("config.yaml", b"compression", "is not a mapping; expected sections with settings"),
    "toml": ("config.toml", b"[compression]\nthreshold 0.6", "broken at line 2 (Expected '=' after a key"),
    "cut toml": ("config.toml", b"[compression]\nthreshold =", "broken at line 2 (Invalid value)"),
    "toml twice": ("config.toml", b"[model]\n[model]\n", "broken at line 2"),
    "deep toml": ("config.toml", b"gateway = " + b"[" * 50_000, "nested too deeply"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_its_line(refuse, home, name):
    file, data, words = BROKEN[name]
    (home / file).write_bytes(data)
    told = refuse()
    assert told.startswith(f"{home / file} is ")
    assert words in told
    assert "\n" not in told


def test_all_problems_are_collected_and_the_first_is_raised(home):
    (home / "config.yaml").write_text("compression: {threshold: 5, style: x}\nnonsense: 1\nmodel: {name: y}")
    environment = {"MIDFOLD_HOME": str(home), "MIDFOLD_MODEL__CACHE_TTL": "2h"}
    checked = check_settings(environment=environment, flags={"compression.budget": "none"})
    keys = [problem.key for problem in checked.problems]
    assert keys == [
        "compression.threshold",
        "compression.style",
        "nonsense",
        "model.cache_ttl",
        "compression.budget",
    ]
    assert checked.file == home / "config.yaml"
    assert (checked.settings.compression.threshold, checked.settings.model.name) == (0.5, "y")
    with pytest.raises(ConfigError, match=r"compression\.threshold is 5"):
        load_settings(environment=environment)


def test_a_broken_file_does_not_hide_problems_elsewhere(home):
    (home / "config.yaml").write_text("[")
    checked = check_settings(environment={"MIDFOLD_HOME": str(home), THRESHOLD: "7"})
    assert [problem.key for problem in checked.problems] == [
        str(home / "config.yaml"),
        "compression.threshold",
    ]


def test_importing_the_package_loads_no_parser():
    code = (
        "import sys, midfold.config; print([m for m in ('yaml', 'msgspec', 'tomllib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

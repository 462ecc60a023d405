"""The script that rewrites the snapshot of models."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "refresh_models.py"


def chat(provider: str, **facts: object) -> dict[str, object]:
    return {"mode": "chat", "litellm_provider": provider, "source": "https://example.com", **facts}


TABLE = {
    "sample_spec": {"mode": "one of: chat, embedding"},
    "meter-1": chat(
        "openai",
        max_input_tokens=1000,
        max_output_tokens=100,
        supports_prompt_caching=True,
        input_cost_per_token=2.5e-07,
        output_cost_per_token=1e-06,
        cache_read_input_token_cost=2.5e-08,
        input_cost_per_token_above_200k_tokens=5e-07,
        output_cost_per_token_above_200k_tokens=2e-06,
    ),
    "host/meter-1": chat("host", max_input_tokens=900, input_cost_per_token=0.0, output_cost_per_token=0.0),
    "graded": chat(
        "host",
        tiered_pricing=[
            {"range": [0, 32000], "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
            {"range": [32000, 64000], "input_cost_per_token": 3e-06, "output_cost_per_token": 4e-06},
        ],
    ),
    "slip": chat("host", max_input_tokens=500, input_cost_per_token=3, output_cost_per_token=4),
    "nothing-known": chat("host"),
    "gpt-5.1-codex": chat("openai", max_input_tokens=400_000, max_output_tokens=128_000),
    "host/gpt-5.5-pro": chat("host", max_input_tokens=1_050_000, max_output_tokens=128_000),
    "gpt-5-chat": chat("openai", max_input_tokens=128_000),
    "other": chat("host", max_input_tokens=400_000),
    "host/gemini-2.0-flash": chat("host", input_cost_per_token=1e-07, output_cost_per_token=4e-07),
    "painter": {"mode": "image_generation", "litellm_provider": "openai", "max_input_tokens": 5},
}
TABLE["azure/meter-1"] = TABLE["meter-1"] | {"litellm_provider": "azure"}


def test_facts_are_kept_repeats_and_guesses_are_not(tmp_path):
    wheel = tmp_path / "litellm-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("litellm/model_prices_and_context_window_backup.json", json.dumps(TABLE))
    output = tmp_path / "models.json"
    subprocess.run([sys.executable, SCRIPT, wheel, "--output", output], check=True, capture_output=True)
    text = output.read_text()
    _date, source, models = json.loads(text)
    assert source == "litellm 9.9.9, model_prices_and_context_window (MIT)"
    assert "://" not in text
    assert models == {
        "graded": ["host", None, None, False, [1, 2], [[32000, [3, 4]]]],
        "gpt-5-chat": ["openai", 128_000, None, False],
        "gpt-5.1-codex": ["openai", 272_000, 128_000, False],
        "host/gemini-2.0-flash": ["host", 1_048_576, None, False, [0.1, 0.4]],
        "host/gpt-5.5-pro": ["host", 922_000, 128_000, False],
        "other": ["host", 400_000, None, False],
        "host/meter-1": ["host", 900, None, False],
        "meter-1": ["openai", 1000, 100, True, [0.25, 1, 0.025], [[200000, [0.5, 2]]]],
        "slip": ["host", 500, None, False],
    }

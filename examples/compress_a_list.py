"""Compress a list of messages to a ceiling, and look at what left it."""

import midfold
from midfold.testing import transcript

messages = transcript("openai_chat", turns=60, result_chars=2_000, last="Write the release note.")
result = midfold.compress(messages, max_tokens=6_000)

print(result.headline)
print(f"{result.tokens_before:,} → {result.tokens_after:,} tokens")
for match in result.find("AssertionError")[:3]:
    print(f"message {match.index}: …{match.snippet}…")

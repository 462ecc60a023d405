"""An agent loop of ten lines with the engine in it; the model is a stand-in that answers at once."""

import midfold


def call_model(messages: list[object]) -> tuple[dict[str, object], dict[str, int]]:
    """Answer at once; put your client here."""
    usage = {"prompt_tokens": 40 + 90 * len(messages), "completion_tokens": 12}
    return {"role": "assistant", "content": f"Looked at {len(messages)} messages."}, usage


engine = midfold.ContextCompressor(context_length=16_000)
messages: list[object] = [{"role": "system", "content": "You look after parking meters."}]
for turn in range(200):
    messages.append({"role": "user", "content": f"Check meter {turn}. " + "It takes coins. " * 12})
    if engine.should_compress_preflight(messages):
        messages = engine.compress(messages)
        print(f"turn {turn}: compressed to {len(messages)} messages")
    reply, usage = call_model(messages)
    engine.update_from_response(usage)
    messages.append(reply)
print(engine.get_status())

"""The Anthropic SDK, every second answer as a stream."""

from anthropic import Anthropic
from work import PROMPTS, read_file, tell

client = Anthropic(max_retries=0)
messages = []
options = {
    "model": "claude-opus-4-1",
    "max_tokens": 500,
    "system": "You are an agent.",
    "tools": [{"name": "read_file", "input_schema": {"type": "object"}}],
}
for number, prompt in enumerate(PROMPTS):
    messages.append({"role": "user", "content": prompt})
    while True:
        if number % 2:
            with client.messages.stream(messages=messages, **options) as events:
                reply = events.get_final_message()
        else:
            reply = client.messages.create(messages=messages, **options)
        messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            break
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": read_file(call.input["path"])}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
    tell(reply.content[-1].text)

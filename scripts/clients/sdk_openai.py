"""The OpenAI SDK with chat completions, every second answer as a stream."""

import json

from openai import OpenAI
from work import PROMPTS, read_file, tell

TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}

client = OpenAI(max_retries=0)
messages = [{"role": "system", "content": "You are an agent."}]
for number, prompt in enumerate(PROMPTS):
    messages.append({"role": "user", "content": prompt})
    while True:
        asked = {"model": "gpt-5-mini", "messages": messages, "tools": [TOOL]}
        if number % 2:
            with client.chat.completions.stream(**asked) as events:
                reply = events.get_final_completion().choices[0].message
        else:
            reply = client.chat.completions.create(**asked).choices[0].message
        messages.append(reply.model_dump(exclude_none=True, exclude={"parsed"}))
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            content = read_file(json.loads(call.function.arguments)["path"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    tell(reply.content)

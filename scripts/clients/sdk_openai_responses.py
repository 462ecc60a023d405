"""The OpenAI SDK with the Responses API, every second answer as a stream."""

import json

from openai import OpenAI
from work import PROMPTS, read_file, tell

TOOL = {"type": "function", "name": "read_file", "parameters": {"type": "object"}}

client = OpenAI(max_retries=0)
items = []
for number, prompt in enumerate(PROMPTS):
    items.append({"role": "user", "content": prompt})
    while True:
        asked = {"model": "gpt-5-mini", "input": items, "tools": [TOOL], "store": False}
        if number % 2:
            with client.responses.stream(**asked) as events:
                reply = events.get_final_response()
        else:
            reply = client.responses.create(**asked)
        items += [item.to_dict() for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            output = read_file(json.loads(call.arguments)["path"])
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    tell(reply.output_text)

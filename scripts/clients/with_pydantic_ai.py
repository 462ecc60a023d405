"""pydantic-ai with the model that the first argument names."""

import sys

from pydantic_ai import Agent
from work import PROMPTS, read_file, tell

agent = Agent(sys.argv[1], instructions="You are an agent.", tools=[read_file])
history = []
for prompt in PROMPTS:
    result = agent.run_sync(prompt, message_history=history)
    history = result.all_messages()
    tell(result.output)

"""openai-agents with the API that the first argument names: `responses` or `chat_completions`."""

import sys

from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled
from work import PROMPTS, read_file, tell

set_tracing_disabled(disabled=True)
set_default_openai_api(sys.argv[1])
agent = Agent(
    "reader", instructions="You are an agent.", model="gpt-5-mini", tools=[function_tool(read_file)]
)
history = []
for prompt in PROMPTS:
    result = Runner.run_sync(agent, [*history, {"role": "user", "content": prompt}])
    history = result.to_input_list()
    tell(result.final_output)

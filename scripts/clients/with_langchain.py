"""LangChain's chat model for OpenAI or Anthropic, as the first argument says, with a tool loop by hand."""

import sys

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from work import PROMPTS, read_file, tell

if sys.argv[1] == "openai":
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="gpt-5-mini", max_retries=0)
else:
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model="claude-opus-4-1", max_retries=0)
bound = model.bind_tools([tool(read_file)])
messages = [SystemMessage("You are an agent.")]
for number, prompt in enumerate(PROMPTS):
    messages.append(HumanMessage(prompt))
    while True:
        if number % 2:
            reply = None
            for chunk in bound.stream(messages):
                reply = chunk if reply is None else reply + chunk
        else:
            reply = bound.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            break
        messages += [
            ToolMessage(read_file(call["args"]["path"]), tool_call_id=call["id"]) for call in reply.tool_calls
        ]
    tell(str(reply.text))

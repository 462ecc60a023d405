"""Estimates count what is sent, once, as it is now."""

import midfold

WORDS = "word " * 10_000


def estimate(messages, **beside):
    return midfold.ContextCompressor(200_000, model="gpt-5").estimate(messages, **beside)


def make_tools():
    return [
        {"type": "function", "function": {"name": f"tool_{number}", "description": "", "parameters": {}}}
        for number in range(5)
    ]


def test_a_copy_of_the_words_beside_a_message_is_not_counted():
    """B9: what a client keeps on a message for itself never reaches the provider."""
    plain = [{"role": "user", "content": WORDS}]
    with_copy = [{"role": "user", "content": WORDS, "api_content": WORDS}]
    assert estimate(with_copy) == estimate(plain)


def test_a_tool_that_grows_in_place_is_counted_anew():
    """B9: neither the first nor the last tool, nor the list, tells that one in the middle changed."""
    engine = midfold.ContextCompressor(200_000, model="gpt-5")
    messages, tools = [{"role": "user", "content": "hello"}], make_tools()
    before = engine.estimate(messages, tools=tools)
    tools[2]["function"]["description"] = WORDS
    assert engine.estimate(messages, tools=tools) > before + 9_000
    tools[2]["function"]["description"] = ""
    assert engine.estimate(messages, tools=tools) == before


def test_the_same_tools_in_another_list_count_the_same():
    engine = midfold.ContextCompressor(200_000, model="gpt-5")
    messages = [{"role": "user", "content": "hello"}]
    assert engine.estimate(messages, tools=make_tools()) == engine.estimate(messages, tools=make_tools())

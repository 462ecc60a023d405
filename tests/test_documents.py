"""A message as a search sees it."""

from midfold.documents import read_document, read_documents
from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.search import Origin, SearchIndex

SUMMARY = (
    "This session is being continued from a previous conversation. The summary below covers it.\n\n"
    + "\n".join(
        f"## Part {number}\nThe harbour pump was repaired in step {number}." for number in range(1, 24)
    )
)


def call(name: str, arguments: str, words: str = "") -> Message:
    parts = (Text(words), ToolCall("c1", name, arguments)) if words else (ToolCall("c1", name, arguments),)
    return Message("assistant", parts)


def result(text: str, name: str | None = None) -> Message:
    return Message("tool", (ToolResult("c1", text, name=name),))


def test_arguments_are_carried_and_words_are_said():
    document = read_document(call("write_file", '{"content": "pump"}', "Now I write the file."))

    assert document.texts == ("Now I write the file.",)
    assert document.carried == ("write_file", '{"content": "pump"}')


def test_a_person_who_answers_through_a_tool_speaks_as_a_person():
    asked = call("AskUserQuestion", '{"question": "Where to store it?"}')
    answered = result('User has answered: "Where to store it?"="In the settings file".')

    _, document = read_documents([asked, answered])

    assert (document.role, document.origin) == ("user", Origin.MESSAGE)


def test_output_of_a_tool_is_said_to_be_such():
    _, document = read_documents([call("bash", "{}"), result("total 12")])

    assert (document.role, document.origin) == ("tool", Origin.TOOL_OUTPUT)


def test_the_summary_of_another_product_is_a_summary_and_not_the_word_of_a_person():
    document = read_document(Message("user", (Text(SUMMARY),)))

    assert (document.role, document.origin) == ("", Origin.SUMMARY)


def test_what_a_search_asked_and_found_is_left_out():
    asked, found = read_documents([call("recall", '{"query": "pump"}'), result("message 3: the pump")])

    said = (*asked.texts, *asked.carried, *found.texts, *found.carried)
    assert said == ()


def test_a_summary_comes_behind_what_it_tells_of():
    told = Message("assistant", (Text("I repaired the pump of the harbour: the seal was worn."),))
    index = SearchIndex(read_documents([told, Message("user", (Text(SUMMARY),))]))

    assert index.search("who repaired the pump of the harbour")[0].number == 0


def test_long_output_that_comes_again_is_one_find_and_two_short_answers_are_two():
    listing = "\n".join(f"harbour/pump_{number}.py" for number in range(9))
    messages = [call("bash", "{}"), result(listing), call("bash", "{}"), result(listing)]
    index = SearchIndex(
        read_documents(
            [*messages, Message("user", (Text("harbour yes"),)), Message("user", (Text("harbour yes"),))]
        )
    )

    assert sorted(found.number for found in index.search("harbour")) == [3, 4, 5]

"""Questions in plain words find the message that answers them."""

import pytest

from midfold.search import Document, Origin, SearchIndex, read_query

CHAT = [
    ("user", "Caroline: Hey Melanie, long time no see! How are the kids?"),
    ("assistant", "Melanie: All fine. I took them to the museum, they loved the dinosaurs."),
    ("user", "Caroline: I went to a LGBTQ support group yesterday and it was so powerful."),
    ("assistant", "Melanie: Wow, what happened there?"),
    ("user", "Caroline: The transgender stories were so inspiring!"),
    ("assistant", "Melanie: I painted a lake sunrise last year, it is special to me."),
    ("user", "Caroline: I have been looking into adoption agencies."),
    ("assistant", "Melanie: That is great. I signed up for a pottery class."),
]
WORK = [
    ("user", "Please make the login page faster."),
    ("assistant", "I will profile it first."),
    ("tool", "Traceback: ConnectionResetError in db/pool.py, line 40"),
    ("assistant", "The cause is the pool: every request opens a new connection."),
    ("user", "请不要在本地转换文件"),
    ("assistant", "好的，我会在服务器上转换"),
    ("user", "サーバーの設定を変更してください"),
    ("assistant", "サーバーの設定を変更しました"),
    ("user", "테스트가 실패한 이유가 뭐야?"),
    ("tool", "FAILED tests/test_pool.py::test_reuse - AssertionError"),
    ("assistant", "La prueba falló porque la configuración estaba vacía."),
]


def ask(said, question, limit=3):
    index = SearchIndex(Document((text,), role) for role, text in said)
    return [found.number for found in index.search(question, limit)]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When did Caroline go to the support group?", 2),
        ("When did Melanie paint a sunrise?", 5),
        ("What does Caroline research about adopting?", 6),
        ("Where did Melanie take her children?", 1),
    ],
)
def test_a_question_about_people_finds_its_answer(question, answer):
    assert answer in ask(CHAT, question)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("why was the page slow?", 3),
        ("which line raised the exception", 2),
        ("error in pool.py line", 2),
        ("在本机转换", 4),
        ("サーバー設定の変更", 6),
        ("테스트 실패 이유", 8),
        ("por qué fallaron las pruebas", 10),
    ],
)
def test_a_question_about_work_finds_its_answer_in_any_language(question, answer):
    assert answer in ask(WORK, question)


def test_the_answer_need_not_have_the_words_of_the_question():
    said = [
        ("assistant", "Which version number should the release have?"),
        ("user", "0.57.0"),
        *[("assistant", f"step {n} is done") for n in range(20)],
    ]
    assert 1 in ask(said, "release version number", limit=2)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"new connection"', {3}),
        ("connection AND pool", {2, 3}),
        ("pool -connection", {9}),
        ("pool NOT connection", {9}),
        ("Connect*", {2, 3}),
        ("traceback OR profile", {1, 2}),
    ],
)
def test_operators_hold_when_they_are_written(query, found):
    assert set(ask(WORK, query, limit=10)) == found


def test_what_says_the_same_is_found_once():
    same = [Document((f"the harbour meter reads {7}",), identity="a")] * 3
    index = SearchIndex([*same, Document(("the harbour is closed",), identity="b")])
    assert len(index.search("harbour", 10)) == 2


def test_what_was_said_comes_before_a_summary_of_it():
    index = SearchIndex(
        [
            Document(("the harbour meter reads seven",), "user"),
            Document(("Summary: the harbour meter reads seven",), "user", Origin.SUMMARY),
        ]
    )
    assert [found.number for found in index.search("harbour meter", 2)] == [0, 1]


@pytest.mark.parametrize("query", ["", "???", "\0", '"', "(" * 500, "*"])
def test_a_query_without_words_finds_nothing(query):
    assert ask(WORK, query) == []


def test_more_is_never_found_than_asked_for():
    assert len(ask(WORK, "the pool connection", limit=2)) == 2
    assert SearchIndex().search(read_query("pool")) == []


def test_a_file_in_the_arguments_of_a_call_does_not_answer_in_place_of_a_sentence():
    index = SearchIndex()
    file = " ".join(f"line {number} of the harbour plan and its pump" for number in range(60))
    index.add(Document((), "assistant", carried=("write_file", file)))
    index.add(Document(("The pump of the harbour failed since its seal was worn.",), "assistant"))

    assert index.search("why did the harbour pump fail")[0].number == 1


def test_short_output_is_found_by_the_call_before_it():
    index = SearchIndex()
    index.add(Document(("Let me run the migration against the copy.",), "assistant"))
    index.add(Document(("exit code 0",), "tool", Origin.TOOL_OUTPUT))
    for number in range(20):
        index.add(Document((f"Reading chapter {number}.",), "assistant"))

    assert 1 in [found.number for found in index.search("result of the migration against the copy", 2)]


def test_a_request_is_found_by_what_the_model_said_of_it():
    index = SearchIndex()
    for number in range(20):
        index.add(Document((f"Reading chapter {number}.",), "assistant"))
    index.add(Document(("ok, do that",), "user"))
    index.add(Document(("The user agrees to the refactoring of the parser.",), "assistant"))

    assert 20 in [found.number for found in index.search("agreement to the refactoring of the parser", 2)]


def test_versions_of_one_list_leave_room_for_others():
    index = SearchIndex()
    steps = "todo list: pump, valve, seal, gauge, hose, filter, tank, drain"
    for number in range(8):
        index.add(Document((f"{steps}; {number} done",), "tool", Origin.TOOL_OUTPUT))
    index.add(Document(("Of the list for the pump only the gauge is missing.",), "assistant"))
    for number in range(20):
        index.add(Document((f"Reading chapter {number}.",), "assistant"))

    found = [each.number for each in index.search("todo list of the pump and the valve", 5)]

    assert 8 in found[:3]
    assert len(found) == 5


def test_what_a_model_concludes_comes_before_what_it_says_while_it_works():
    said = [
        Document(("Please find out why the export of invoices is slow.",), "user"),
        Document(
            ("Let me look at the slow export of invoices.",), "assistant", carried=("read", "export.py")
        ),
        Document(("def export(): ...",), "tool", Origin.TOOL_OUTPUT),
        Document(("The slow export of invoices opens a connection each time.",), "assistant"),
    ]
    found = SearchIndex(said).search("reason for the slow export of invoices", 4)
    assert [each.number for each in found if said[each.number].role == "assistant"] == [3, 1]


def test_what_a_long_message_is_about_stands_at_its_beginning():
    rows = [[f"row {number}, value {number * each}" for number in range(500)] for each in (7, 11)]
    words = "the ferry to Skarn was cancelled"
    early = Document(("\n".join([words, *rows[0]]),), "tool", Origin.TOOL_OUTPUT)
    late = Document(("\n".join([*rows[1], words]),), "tool", Origin.TOOL_OUTPUT)
    found = [each.number for each in SearchIndex([early, late]).search("which ferry was cancelled")]
    assert found == [0, 1]


def test_who_asks_about_a_person_in_a_chat_is_shown_what_that_person_said():
    said = [
        ("user", "Nadia: Bruno, my class starts on Monday."),
        ("assistant", "Bruno: My class starts on Sunday, Nadia."),
    ]
    assert ask(said, "When does the class of Bruno start?", 1) == [1]
    assert ask(said, "When does the class of Nadia start?", 1) == [0]


def test_a_line_of_a_chat_is_found_by_what_its_speaker_said_before_it():
    said = [
        ("user", "Pottery begins again, at last."),
        ("assistant", "Oh, nice."),
        ("user", "The class meets on Monday at six."),
        ("assistant", "I have no time for that."),
        ("user", "You never have."),
        ("assistant", "True."),
        ("user", "The class meets on Sunday at nine."),
        ("assistant", "Fine."),
    ]
    assert ask(said, "when does the pottery class meet", 2) == [2, 6]


@pytest.mark.parametrize(
    "question", ["error of the harbour build", "harbour build 的错误", "el fallo de harbour build"]
)
def test_a_query_for_a_failure_prefers_output_that_failed(question):
    said = [
        text
        for code in (1, 0)
        for text in ("the weather is fine", f"Exit code {code}\nharbour build, 3 steps", "the sea is calm")
    ]
    index = SearchIndex(Document((text,), "tool", Origin.TOOL_OUTPUT) for text in said)
    assert index.search(question)[0].number == 1
    assert index.search("what are the harbour build steps")[0].number == 4


def test_in_a_chat_without_tools_nobody_concludes():
    question = "who repaired the old wooden boat"
    chat = [
        Document(("Ana repaired the old wooden boat",), "user"),
        Document(("Nice weather today, is it not?",), "user"),
        Document(("The harbour was full on Sunday.",), "user"),
        Document(("Ben repaired the old wooden boat",), "assistant"),
    ]
    work = [*chat, Document(("A boat?",), "assistant", carried=("list", "files"))]
    assert [SearchIndex(some).search(question)[0].number for some in (chat, work)] == [0, 3]


@pytest.mark.parametrize(
    ("question", "wish", "answer"),
    [
        ("エクスポート機能追加の要望", "エクスポート機能を追加して", "エクスポート機能を追加しました"),
        ("내보내기 기능 추가 요청", "내보내기 기능 추가해줘", "내보내기 기능 추가 완료"),
        ("petición de añadir la exportación", "añade la exportación", "la exportación se va a añadir"),
    ],
)
def test_a_query_for_a_request_prefers_the_person_in_any_language(question, wish, answer):
    work = Document(("…",), "assistant", carried=("edit", "export.py"))
    index = SearchIndex([Document((answer,), "assistant"), work, Document((wish,), "user")])
    assert index.search(question)[0].number == 2


def test_standing_instructions_come_behind_what_was_said_and_lend_it_nothing():
    manual = "Refunds are refused when a ticket is used. Refund rules: a refund takes a week."
    index = SearchIndex(
        [
            Document((manual,), role="system"),
            Document(("Hello, how can I help you?",), role="assistant"),
            Document(("Thursday would suit me.",), role="user"),
            Document(("Your refund was refused, for the ticket was used.",), role="assistant"),
        ]
    )
    first = [found.number for found in index.search("why was the refund refused")]
    assert first == [3, 0, 2]

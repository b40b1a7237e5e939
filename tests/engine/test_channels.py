import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.profiles import Profile
from hubserve_engine.profiles.families import FAMILIES

THINK = ("<think>", "</think>")


def split(
    *chunks: str,
    tags: tuple[str, str] | None = THINK,
    thinking_open: bool = False,
    anywhere: bool = False,
    marks: tuple[str, ...] = (),
    calls: tuple[str, ...] = (),
    begun: str = "",
) -> tuple[str, str]:
    """All the reasoning and all the content."""
    splitter = ChannelSplitter(
        tags, thinking_open=thinking_open, anywhere=anywhere, marks=marks, calls=calls, begun=begun
    )
    joined = {"reasoning": "", "content": ""}
    for segments in [*map(splitter.feed, chunks), splitter.finish()]:
        for channel, text in segments:
            assert text
            joined[channel] += text
    return joined["reasoning"], joined["content"]


def test_a_whole_answer_in_one_chunk() -> None:
    splitter = ChannelSplitter(THINK, thinking_open=False)
    assert splitter.feed("<think>\nhm\n</think>\n\nYes.\n") == [
        ("reasoning", "hm"),
        ("content", "Yes.\n"),
    ]
    assert splitter.finish() == []


def test_thinking_that_the_prompt_opened() -> None:
    assert split("hm\n\nso\n</think>\n\nYes.", thinking_open=True) == ("hm\n\nso", "Yes.")


def test_an_answer_without_thinking_is_passed_on_untouched() -> None:
    assert split("\n  Yes.\n") == ("", "\n  Yes.\n")


def test_an_answer_that_never_closes_thinking_is_all_thinking() -> None:
    assert split("<think>\nand then", " </thi") == ("and then </thi", "")


CALL = "<tool_call>\n{}\n</tool_call>"


def test_thinking_between_calls() -> None:
    text = f"<think>\na\n</think>\n\n{CALL}\n<think>\nb\n</think>\n\n{CALL}\n<think>c"
    assert split(text, calls=("</tool_call>",)) == ("a\nb\nc", CALL + CALL)
    for size in (1, 2, 3, 7):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        assert split(*chunks, calls=("</tool_call>",)) == ("a\nb\nc", CALL + CALL)


def test_what_follows_a_call_and_is_no_thinking_stays_as_it_is() -> None:
    text = f"{CALL}\n{CALL}\n\nI say <think>."
    assert split(text, calls=("</tool_call>",)) == ("", text)
    assert split(CALL, "\n", "\n", "<thi", calls=("</tool_call>",)) == ("", f"{CALL}\n\n<thi")


def test_empty_thinking() -> None:
    assert split("<think>\n\n</think>\n\nYes.") == ("", "Yes.")
    assert split("\n</think>\n\nYes.", thinking_open=True) == ("", "Yes.")


def test_spaces_and_indentation_stay() -> None:
    assert split("<think> a </think>\n    code") == (" a ", "    code")


def test_a_tag_that_an_answer_speaks_about_is_content() -> None:
    answer = "Write <think>x</think> around it."
    assert split(answer) == ("", answer)
    assert split("<think>a</think>" + answer) == ("a", answer)


def test_a_second_block_straight_after_the_first_is_thinking() -> None:
    assert split("<think>a</think>\n<think>\nb</think>\nc") == ("a\nb", "c")


def test_tags_that_say_what_is_so_already_are_dropped() -> None:
    assert split("<think>\na</think>b", thinking_open=True) == ("a", "b")
    assert split("</think>\n\nb") == ("", "b")


def test_a_tag_within_thinking_is_thinking() -> None:
    assert split("<think>the <think> tag</think>b") == ("the <think> tag", "b")


def test_a_tag_that_stays_a_beginning_is_text() -> None:
    assert split("<thi") == ("", "<thi")
    assert split("<thin", "ner>") == ("", "<thinner>")


def test_text_is_held_back_only_while_it_may_be_a_tag() -> None:
    splitter = ChannelSplitter(THINK, thinking_open=True)
    assert splitter.feed("a <") == [("reasoning", "a ")]
    assert splitter.feed("b\n") == [("reasoning", "<b")]
    assert splitter.feed("c") == [("reasoning", "\nc")]
    assert splitter.feed("</think>x <") == [("content", "x <")]


def test_endless_white_space_is_not_collected() -> None:
    assert split(*[" "] * 65, "<think>a") == ("", " " * 65 + "<think>a")
    splitter = ChannelSplitter(THINK, thinking_open=False)
    assert "".join(text for _ in range(100) for _, text in splitter.feed("\n"))


def test_without_tags_all_is_content() -> None:
    assert split("<think>a</think>b", tags=None) == ("", "<think>a</think>b")


def test_control_tokens_count_in_the_middle_of_an_answer() -> None:
    tags = ("<|channel>thought", "<channel|>")
    text = "Let me look. <|channel>thought\nhm\n<channel|>Found."
    assert split(text, tags=tags, anywhere=True) == ("hm", "Let me look. Found.")


HARMONY = next(family.profile for family in FAMILIES if family.profile.name == "harmony")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<|channel|>analysis<|message|>hm<|end|>"
            "<|start|>assistant<|channel|>final<|message|>Yes.",
            ("hm", "Yes."),
        ),
        ("<|channel|>final<|message|>Yes.", ("", "Yes.")),
        (
            "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
            "<|channel|>analysis<|message|>hm",
            ("hm", "I look."),
        ),
    ],
)
def test_frames_of_an_answer_are_no_part_of_it(text: str, expected: tuple[str, str]) -> None:
    found = split(text, tags=HARMONY.thinking_tags, anywhere=True, marks=HARMONY.marks)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("all\nHi.", "Hi."),
        ("all\nHi.>>>all\nSo.", "Hi.So."),
        ("look\n{}", ">>>look\n{}"),
        ("all\nI look.>>>look\n{}>>>", "I look.>>>look\n{}>>>"),
        ("al", ""),
        ("", ""),
    ],
)
def test_a_mark_may_begin_in_the_prompt(text: str, content: str) -> None:
    for chunks in ([text], list(text)):
        found = split(*chunks, tags=None, marks=(">>>all\n",), begun=">>>")
        assert found == ("", content)


def pieces_of(*texts: str) -> st.SearchStrategy[str]:
    """Texts made of tags, beginnings of tags and other text."""
    parts = {text[:end] for text in texts for end in range(1, len(text) + 1)}
    letters = st.sampled_from(["a", "b c", "\n", "\n\n", " ", "<", "/"])
    some = st.sampled_from(sorted(texts)) | st.sampled_from(sorted(parts)) | letters
    return st.lists(some, max_size=12).map("".join)


cuts = st.lists(st.integers(0, 80), max_size=20).map(sorted)


def cut(text: str, at: list[int]) -> list[str]:
    return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]


@given(pieces_of(*THINK, "</call>"), cuts, st.booleans(), st.booleans(), st.booleans())
@example("\n<think>\n\na\n\n</think>\n\nb", list(range(26)), False, False, False)
def test_any_chunking_gives_the_same_channels(
    text: str, at: list[int], thinking_open: bool, anywhere: bool, calls: bool
) -> None:
    def run(*chunks: str) -> tuple[str, str]:
        ends = ("</call>",) if calls else ()
        return split(*chunks, thinking_open=thinking_open, anywhere=anywhere, calls=ends)

    assert run(*cut(text, at)) == run(text) == run(*text)


@given(st.sampled_from([f.profile for f in FAMILIES]), st.data(), cuts, st.booleans())
def test_any_chunking_gives_the_same_channels_in_every_family(
    profile: Profile, data: st.DataObject, at: list[int], thinking_open: bool
) -> None:
    text = data.draw(pieces_of(*(profile.thinking_tags or ()), *profile.marks))
    begun = data.draw(st.sampled_from(["", profile.answer_start[:3]]))

    def run(*chunks: str) -> tuple[str, str]:
        return split(
            *chunks,
            tags=profile.thinking_tags,
            thinking_open=thinking_open,
            anywhere=profile.thinking_anywhere,
            marks=profile.marks,
            begun="" if thinking_open else begun,
        )

    assert run(*cut(text, at)) == run(text) == run(*text)


@given(st.text(alphabet="<>/thinka \n", max_size=40), cuts, st.booleans())
def test_nothing_is_lost_but_newlines_where_there_is_no_tag(
    text: str, at: list[int], thinking_open: bool
) -> None:
    if any(tag in text for tag in THINK):
        return
    reasoning, content = split(*cut(text, at), thinking_open=thinking_open)
    assert (content, reasoning) == (("", text.strip("\n")) if thinking_open else (text, ""))

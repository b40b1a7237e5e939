"""The record that describes a family of models."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """How the answers of a family are laid out.

    `thinking_tags` enclose thinking; None where the family has none that we know. With
    `thinking_anywhere` they count in the middle of an answer too, which suits control tokens; other
    tags may be what an answer speaks about. `marks` frame the answer and are no part of it;
    `answer_start` are those that follow the generation prompt where there is no thinking (its end
    may be their beginning), and
    `answer_lead` those that lead to the answer from the end of thinking. `stops` end an answer,
    where the vocabulary has no token that does.
    """

    name: str
    thinking_tags: tuple[str, str] | None = None
    thinking_anywhere: bool = False
    marks: tuple[str, ...] = ()
    answer_start: str = ""
    answer_lead: str = ""
    stops: tuple[str, ...] = ()

    def speaks(self, piece: str) -> bool:
        """Whether a control token with this text belongs to the layout, and so must be shown."""
        texts = (*(self.thinking_tags or ()), *self.marks)
        return bool(piece) and any(piece in text for text in texts)

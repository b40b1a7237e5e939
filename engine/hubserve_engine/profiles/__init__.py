"""What is particular to a family of models, as data, chosen by its template and special tokens."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """`thinking_tags` enclose thinking, or are None where the family has none that we know.

    `thinking_anywhere` is true of tags that are control tokens: they count in the middle of an
    answer too, where other tags may be what the answer speaks about.
    """

    name: str
    thinking_tags: tuple[str, str] | None = None
    thinking_anywhere: bool = False


def choose(template_source: str, special_tokens: Collection[str]) -> Profile:
    if "</think>" in template_source:
        return Profile("think", ("<think>", "</think>"))
    return Profile("plain")

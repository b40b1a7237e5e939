"""What is particular to a family of models, as data, chosen by template and special tokens."""

from collections.abc import Collection

from hubserve_engine.profiles.families import FAMILIES
from hubserve_engine.profiles.profile import Profile

__all__ = ["PLAIN", "Profile", "choose"]

PLAIN = Profile("plain")


def choose(template_source: str, special_tokens: Collection[str]) -> Profile:
    """The profile of the first family that the template, else the vocabulary, speaks of."""
    for family in FAMILIES:
        if all(sign in template_source for sign in family.signs):
            return family.profile
    for family in FAMILIES:
        tags = family.profile.thinking_tags
        if tags and all(tag in special_tokens for tag in tags):
            return family.profile
    return PLAIN

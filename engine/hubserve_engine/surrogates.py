"""Halves of characters, which a text of Python may hold and no encoding has.

JSON writes them as `\\ud83d`. JavaScript cuts strings between the halves, so clients send them.
"""


def mended(text: str) -> str:
    """The text with halves that belong together as one character, and U+FFFD for others."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

"""The record that describes a format of tool calls."""

from dataclasses import dataclass

from hubserve_engine.tool_formats.layout import Layout


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """A format: how its calls are written, and how a template that asks for it is known.

    The first of `layouts` is the one to write; a model may use each of them. `signs` are sets of
    texts, of which one has to be whole in what a template makes of a call. `hints` are sets of
    texts in the source of templates that do not show calls. Of several formats that fit, the one
    with the longest signs is meant.
    """

    name: str
    layouts: tuple[Layout, ...]
    signs: tuple[tuple[str, ...], ...] = ()
    hints: tuple[tuple[str, ...], ...] = ()

    @property
    def ends(self) -> tuple[str, ...]:
        """Tags that end a call, or a row of them. A bracket may be anything's end, and is none."""
        pairs = [pair for one in self.layouts for pair in (one.call, one.section)]
        texts = {end.strip() for _, end in pairs}
        return tuple(sorted(text for text in texts if len(text) > 2 and "{" not in text))

    def speaks(self, piece: str) -> bool:
        """Whether a control token with this text belongs to a call, and so must be shown."""
        return bool(piece) and any(piece in text for one in self.layouts for text in one.texts)

    def fit(self, call: str, source: str) -> int:
        """How many characters of signs are in the text of a call, or else in a template's source;
        0 where it is another format."""
        sets, text = (self.signs, call) if call else (self.hints, source)
        whole = [sum(map(len, signs)) for signs in sets if all(sign in text for sign in signs)]
        return max(whole, default=0)

"""Which tensors become which: the words in which a family says it."""

from collections.abc import Container
from dataclasses import dataclass, replace

from hubserve_exporters.operations import Operation


@dataclass(frozen=True, slots=True)
class Rule:
    """One or several tensors of the checkpoint become one or several of the file.

    Names hold `{layer}` where the number of a layer stands, and `{expert}` in one source at most:
    all experts of a layer are then gathered, in order, as what `operations` begins with. `offset`
    is added to the layer's number in the target.

    `required`: the export is refused if the checkpoint lacks it, in any of `layers` (None: in all
    of them) where no other rule makes the same target. `float32`: it keeps 32 bits whatever the
    file's type is, as llama.cpp needs of some; what has one dimension or does not end in `.weight`
    does so anyway.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    operations: tuple[Operation, ...] = ()
    required: bool = True
    float32: bool = False
    layers: Container[int] | None = None
    offset: int = 0

    def within(self, layers: Container[int]) -> "Rule":
        """The same, for some layers alone."""
        return replace(self, layers=layers)

    def moved(self, place: str, other: str, layers: int, offset: int) -> "Rule":
        """The same for as many layers that stand elsewhere, and come behind the others."""
        sources = tuple(source.replace(place, other) for source in self.sources)
        return replace(self, sources=sources, layers=range(layers), offset=offset)


def rule(
    sources: str | tuple[str, ...],
    targets: str | tuple[str, ...],
    *operations: Operation,
    required: bool = True,
    float32: bool = False,
    layers: Container[int] | None = None,
    offset: int = 0,
) -> Rule:
    """A rule, written shorter: one name needs no tuple."""
    return Rule(
        (sources,) if isinstance(sources, str) else sources,
        (targets,) if isinstance(targets, str) else targets,
        operations,
        required,
        float32,
        layers,
        offset,
    )

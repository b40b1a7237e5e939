"""The rules of a family, brought together with the tensors that are really there."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.architectures.omissions import left_out
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.operations import Operation, PackMxfp4, Stack

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")
_PLACE = re.compile(r"\{(layer|expert)\}")
_OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Group:
    """Tensors that become others together. `sources` are named as in the checkpoint."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    operations: tuple[Operation, ...]
    float32: bool

    @property
    def packed(self) -> bool:
        """Whether the numbers are quantized already, and stay so."""
        return any(isinstance(operation, PackMxfp4) for operation in self.operations)


@dataclass(frozen=True, slots=True)
class Mapped:
    """All of a checkpoint. `dropped` are the tensors that are left out on purpose."""

    architecture: Architecture
    groups: tuple[Group, ...]
    dropped: tuple[str, ...]


def map_tensors(
    family: type[Architecture],
    config: Config,
    shapes: Mapping[str, tuple[int, ...]],
    *,
    keep_mtp: bool = False,
) -> Mapped:
    """Which tensors of the checkpoint become which of the file.

    `shapes` has all tensors as the checkpoint names them. Raises ExportError, with names, for one
    that no rule takes, and for one that is missing.
    """
    original: dict[str, str] = {}
    dropped = []
    for name in shapes:
        plain = family.canonical(name)
        if left_out(plain, keep_mtp=keep_mtp):
            dropped.append(name)
        elif plain in original:
            raise ExportError(f"The tensors {original[plain]!r} and {name!r} are the same one.")
        elif not shapes[name] or 0 in shapes[name]:
            raise ExportError(f"The tensor {name!r} has the shape {shapes[name]}: it is empty.")
        else:
            original[plain] = name
    known = {plain: shapes[name] for plain, name in original.items()}
    architecture = family(config, known, keep_mtp=keep_mtp)
    groups = _apply_rules(architecture.rules(), original, architecture)
    return Mapped(architecture, tuple(groups), tuple(sorted(dropped)))


def _apply_rules(
    rules: Sequence[Rule], original: dict[str, str], architecture: Architecture
) -> list[Group]:
    """The groups in the order of layers and rules."""
    found = _Found(original)
    groups: list[tuple[int, int, Group]] = []
    taken: set[str] = set()
    made: set[str] = set()
    for place, one in enumerate(rules):
        for layer in found.layers(one):
            if layer != _OUTSIDE and layer not in _layers(one, architecture):
                continue
            sources = found.sources(one, layer)
            if sources is None:
                continue
            taken.update(sources)
            targets = tuple(_fill(target, layer + one.offset) for target in one.targets)
            made.update(targets)
            names = tuple(original[source] for source in sources)
            operations = one.operations
            if "{expert}" in "".join(one.sources):
                operations = (Stack(), *operations)
            groups.append((layer, place, Group(names, targets, operations, one.float32)))
    _refuse_unmapped(original, taken, architecture)
    _refuse_missing(rules, made, architecture)
    return [group for _, _, group in sorted(groups, key=lambda item: item[:2])]


class _Found:
    """The tensors that are there, by their names without numbers."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._by_pattern: dict[str, dict[tuple[int, ...], str]] = {}
        for name in names:
            numbers = tuple(int(number) for number in _NUMBER.findall(name))
            self._by_pattern.setdefault(_NUMBER.sub("{}", name), {})[numbers] = name

    def layers(self, one: Rule) -> list[int]:
        """The layers that have the first source; one outside of all layers counts as _OUTSIDE."""
        members = self._by_pattern.get(_PLACE.sub("{}", one.sources[0]), {})
        return sorted({numbers[0] if numbers else _OUTSIDE for numbers in members})

    def sources(self, one: Rule, layer: int) -> tuple[str, ...] | None:
        """The names of all sources in a layer; None if one of them is missing."""
        names: list[str] = []
        for source in one.sources:
            members = self._by_pattern.get(_PLACE.sub("{}", source), {})
            places = _PLACE.findall(source)
            if "expert" in places:
                experts = sorted(numbers[1] for numbers in members if numbers[0] == layer)
                if experts != list(range(len(experts))):
                    raise ExportError(
                        f"Of the experts {_fill(source, layer)!r} one is missing; there are"
                        f" {len(experts)} up to number {experts[-1]}."
                    )
                names += [members[layer, expert] for expert in experts]
                continue
            name = members.get((layer,) if places else ())
            if name is None:
                return None
            names.append(name)
        return tuple(names)


def _layers(one: Rule, architecture: Architecture) -> Container[int]:
    return range(architecture.layers) if one.layers is None else one.layers


def _fill(pattern: str, layer: int) -> str:
    return pattern.replace("{layer}", str(layer))


def _refuse_unmapped(names: Mapping[str, str], taken: set[str], family: Architecture) -> None:
    unknown = sorted(names[name] for name in names.keys() - taken)
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise ExportError(
            f"The tensor {unknown[0]!r}{more} has no place in the architecture {family.gguf!r}"
            f" ({family.layers} layers): the file would compute something else without it. Look"
            " whether config.json belongs to these weights."
        )


def _refuse_missing(rules: Sequence[Rule], made: set[str], family: Architecture) -> None:
    for one in rules:
        if not one.required:
            continue
        for target in one.targets:
            layers = _layers(one, family)
            for layer in range(family.layers) if "{layer}" in target else (0,):
                if layer in layers and _fill(target, layer + one.offset) not in made:
                    raise ExportError(
                        f"The checkpoint lacks {_fill(one.sources[0], layer)!r}; download it again,"
                        " or look whether config.json belongs to these weights."
                    )

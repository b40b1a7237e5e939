"""The command `hubserve inspect`: what a GGUF file says, and what is in it."""

from collections import Counter
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubserve_engine.units import size_text
from hubserve_server.banner import count_text
from hubserve_server.export.explained import explained
from hubserve_server.export.summary import histogram, printable

if TYPE_CHECKING:
    from hubserve_exporters.gguf.values import Value

_LONGEST = 72
_FEW = 6


def inspect(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A GGUF file, or any part of one in parts.")
    ],
    tensors: Annotated[
        bool, typer.Option("--tensors", metavar="", help="List every tensor.")
    ] = False,
) -> int:
    """Show the metadata, the types and the sizes of a GGUF file; nothing in it is trusted."""
    with explained():
        from hubserve_exporters import GGUFReader

        with GGUFReader(file) as reader:
            counts: Counter[str] = Counter()
            sizes: Counter[str] = Counter()
            for info in reader.tensors.values():
                counts[info.type.name] += 1
                sizes[info.type.name] += info.size
            parameters = sum(prod(info.shape) for info in reader.tensors.values())
            architecture = printable(str(reader.metadata.get("general.architecture")), _LONGEST)
            size = size_text(reader.size)
            print(f"{file}: {architecture}, {count_text(parameters)} parameters, {size}")
            for line in histogram({name: (counts[name], n) for name, n in sizes.most_common()}):
                print(line)
            print()
            for key in reader.metadata:
                print(f"  {printable(key, _LONGEST)} = {_text(reader.metadata[key])}")
            if tensors:
                print()
                for info in reader.tensors.values():
                    shape = " x ".join(map(str, info.shape))
                    name = printable(info.name, _LONGEST)
                    print(
                        f"  {name:<48} {info.type.name:<8} {shape:>20} {size_text(info.size):>10}"
                    )
    return 0


def _text(value: "Value") -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        return printable(value, _LONGEST)
    few = ", ".join(printable(str(item), 16) for item in value[:_FEW])
    more = f", … {len(value)} in all" if len(value) > _FEW else ""
    return f"[{few}{more}]"

"""What a real model wrote is read as it was meant, in pieces of any size."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from hubserve_engine.output.offer import Offer
from hubserve_engine.output.scanner import Call, Scanner, Text
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import ToolUse
from hubserve_server.eval.cases import load

CASES = load()
TRANSCRIPTS = yaml.safe_load((Path(__file__).parent / "qwen2.5-coder.yaml").read_text())


@dataclass
class Said:
    text: str
    calls: list[dict[str, Any]]


def read(transcript: dict[str, Any], size: int) -> Said:
    """By the scanner for the format that this model's template asks for."""
    tools = [
        {"type": "function", "function": {"name": n, "parameters": CASES.tools[n].parameters}}
        for n in transcript["offer"]
    ]
    scanner = Scanner(FORMATS["hermes"], Offer(tools, ToolUse()))
    text = transcript["text"]
    pieces = [
        piece for at in range(0, len(text), size) for piece in scanner.feed(text[at : at + size])
    ]
    said, calls = "", list[list[str]]()
    for piece in [*pieces, *scanner.finish(stopped=True)]:
        match piece:
            case Text(more):
                said += more
            case Call(arguments, _, name):
                if name is not None:
                    calls.append([name, ""])
                calls[-1][1] += arguments
    return Said(said, [{"name": name, "arguments": json.loads(a)} for name, a in calls])


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda each: each["title"])
def test_what_was_meant(transcript: dict[str, Any]) -> None:
    for size in (1, 3, 7, len(transcript["text"])):
        said = read(transcript, size)
        assert said.calls == transcript["calls"]
        assert said.text.strip() == ("" if said.calls else transcript["text"].strip())

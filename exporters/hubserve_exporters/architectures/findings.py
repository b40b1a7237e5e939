"""What a look at a checkpoint can bring up before it is exported."""

from dataclasses import dataclass

from hubserve_exporters.gguf.writer import Value


@dataclass(frozen=True, slots=True)
class Refuse:
    """llama.cpp would load the file and compute something else, or would not load it at all.

    `message` is a sentence with the value, and the next step.
    """

    message: str


@dataclass(frozen=True, slots=True)
class Warn:
    """It works, within the limits that the message names."""

    message: str


@dataclass(frozen=True, slots=True)
class Write:
    """A key that this checkpoint needs and others do not; it replaces one of the same name.

    `key` without the architecture's prefix, such as "context_length".
    """

    key: str
    value: Value


Finding = Refuse | Warn | Write

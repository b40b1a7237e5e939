"""HTTP for hubserve: the OpenAI protocol on the outside, the engine's vocabulary on the inside."""

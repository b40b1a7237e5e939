"""The fields that chat and plain completions share: how to sample, and when to stop."""

from typing import Annotated, Any

from pydantic import PlainValidator

from hubserve_server.wire.fields import (
    Flag,
    Mapping,
    Text,
    Wire,
    is_number,
    real,
    shown,
    whole,
    wrong,
)

MAX_CHOICES = 16
MAX_STOPS = 16
MAX_STOP_LENGTH = 1000
MAX_ALTERNATIVES = 20
MAX_INT32 = 2**31 - 1

LogitBias = tuple[tuple[int | str, float], ...]


def read_stop(value: Any) -> tuple[str, ...]:
    """A string or a list of strings. Empty ones are dropped: they would end every answer."""
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list):
        raise wrong("must be a string or an array of strings", value)
    for stop in stops:
        if not isinstance(stop, str):
            raise wrong("must be a string or an array of strings", stop)
        if len(stop) > MAX_STOP_LENGTH:
            raise wrong(f"must hold strings of at most {MAX_STOP_LENGTH} characters", stop)
    if len(stops) > MAX_STOPS:
        raise wrong(f"must hold at most {MAX_STOPS} strings", len(stops))
    return tuple(stop for stop in stops if stop)


def read_logit_bias(value: Any) -> LogitBias | None:
    """`{"id or text": bias}` or `[[id or text, bias], ...]`, as llama-server has it.

    A key of digits is a token id, any other the text whose tokens are meant. `false` forbids.
    """
    if value is None:
        return None
    if isinstance(value, dict):
        return tuple((_token(key), _bias(bias)) for key, bias in value.items())
    if not isinstance(value, list):
        raise wrong("must be an object or an array of pairs", value)
    pairs = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise wrong("must hold pairs of a token and a bias", pair)
        pairs.append((_token(pair[0]), _bias(pair[1])))
    return tuple(pairs)


def _token(value: Any) -> int | str:
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        if not value:
            raise wrong("must name tokens by id or text", value)
        return value
    number = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str) and len(value) <= len(str(MAX_INT32)):
        number = int(value)
    if number is None or not 0 <= number <= MAX_INT32:
        raise wrong("must name tokens by id or text", value)
    return number


def _bias(value: Any) -> float:
    if value is False:
        return float("-inf")
    if not is_number(value) or not -MAX_INT32 <= value <= MAX_INT32:
        raise wrong("must pair tokens with numbers, or with false", value)
    return float(value)


def read_stream_options(value: Any) -> bool:
    """Whether the stream is to end with a usage chunk."""
    if value is None:
        return False
    if not isinstance(value, dict):
        raise wrong("must be an object", value)
    wanted = value.get("include_usage")
    if wanted is not None and not isinstance(wanted, bool):
        raise wrong(f"must have true or false in include_usage, not {shown(wanted)}", value)
    return wanted is True


class Generating(Wire):
    """Fields of every request that generates text. Ranges are the samplers' own."""

    model: Text = None
    stream: Flag = None
    stream_options: Annotated[bool, PlainValidator(read_stream_options)] = False
    n: Annotated[int | None, PlainValidator(whole(1, MAX_CHOICES))] = None
    max_tokens: Annotated[int | None, PlainValidator(whole(-1))] = None
    max_completion_tokens: Annotated[int | None, PlainValidator(whole(-1))] = None
    stop: Annotated[tuple[str, ...], PlainValidator(read_stop)] = ()
    seed: Annotated[int | None, PlainValidator(whole())] = None
    temperature: Annotated[float | None, PlainValidator(real(0, 5))] = None
    top_p: Annotated[float | None, PlainValidator(real(0, 1))] = None
    top_k: Annotated[int | None, PlainValidator(whole(-1, MAX_INT32))] = None
    min_p: Annotated[float | None, PlainValidator(real(0, 1))] = None
    typical_p: Annotated[float | None, PlainValidator(real(0, 1))] = None
    presence_penalty: Annotated[float | None, PlainValidator(real(-2, 2))] = None
    frequency_penalty: Annotated[float | None, PlainValidator(real(-2, 2))] = None
    repeat_penalty: Annotated[float | None, PlainValidator(real(0.01, 10))] = None
    repetition_penalty: Annotated[float | None, PlainValidator(real(0.01, 10))] = None
    repeat_last_n: Annotated[int | None, PlainValidator(whole(-1, MAX_INT32))] = None
    logit_bias: Annotated[LogitBias | None, PlainValidator(read_logit_bias)] = None
    ignore_eos: Flag = None
    cache_prompt: Flag = None

    # Forms that force the text into a shape.
    grammar: Any = None
    json_schema: Any = None
    structured_outputs: Mapping = None
    guided_json: Any = None
    guided_regex: Any = None
    guided_choice: Any = None
    guided_grammar: Any = None
    response_format: Mapping = None

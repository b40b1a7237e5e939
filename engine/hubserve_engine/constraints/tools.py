"""The tools of a request as a grammar holds to them: their schemas, without what it cannot."""

import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from hubserve_engine.constraints.calls import Tool
from hubserve_engine.constraints.probe import loosened
from hubserve_engine.constraints.schema import relaxed
from hubserve_engine.errors import InvalidRequest
from hubserve_engine.json_schema import Schema
from hubserve_engine.types import ToolUse

logger = logging.getLogger(__name__)

_KEPT = 2048


class Tools:
    """Remembers schemas, as agents send the same tools with each request. For one thread.

    What a schema has to do without is said in the log, once for each schema: the finished arguments
    are looked at in any case.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, Schema] = OrderedDict()

    def callable(self, tools: Sequence[dict[str, Any]], use: ToolUse) -> list[Tool]:
        """Those that may be called."""
        functions = [tool["function"] for tool in tools]
        return [
            Tool(each["name"], self._schema(each["name"], each.get("parameters")))
            for each in functions
            if use.allowed is None or each["name"] in use.allowed
        ]

    def _schema(self, name: str, parameters: Any) -> Schema:
        key = json.dumps([name, parameters])
        if key not in self._known:
            self._known[key] = _held(name, parameters)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def _held(name: str, parameters: Any) -> Schema:
    if not isinstance(parameters, dict) or not parameters:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    try:
        schema, dropped = relaxed(parameters, param="tools")
    except InvalidRequest as error:
        _say(name, error.message)
        return {"type": "object"}
    # Arguments are an object, whatever a schema says.
    schema, wrong = loosened({**schema, "type": "object"})
    if dropped or wrong:
        _say(name, f"its schema has {', '.join(map(str, (*dropped, *wrong)))}.")
    return schema


def _say(name: str, what: str) -> None:
    logger.warning("calls of %r are not held to all of its schema: %s", name, what)

"""The programs `hubserve` and `serve`, from their first instruction on.

A server that starts is as quick as its worker, so that one is begun before anything that takes time
is imported, be it what reads the arguments.
"""

import sys
from typing import NoReturn

from hubserve_server import ahead


def main() -> NoReturn:
    """`hubserve`"""
    if sys.argv[1:2] == ["serve"]:  # a server that starts does not wait for the other commands
        del sys.argv[1]
        serve("hubserve serve")
    from hubserve_server.programs import hubserve

    hubserve()


def serve(program: str = "serve") -> NoReturn:
    """`serve`, which is `hubserve serve`."""
    with ahead.begun(sys.argv[1:]):
        from hubserve_server.programs import serve

        serve(program)

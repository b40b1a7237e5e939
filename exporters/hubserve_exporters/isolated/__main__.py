"""`python -m hubserve_exporters.isolated TASK DESCRIPTOR`: the other side of `call`.

The question is a line of JSON on standard input, which stays open as long as somebody waits for
the answer. What libraries print does not mix with the answers, which have a pipe of their own.
"""

import json
import os
import sys
import traceback
from importlib import import_module

from hubserve_exporters.errors import ExportError
from hubserve_exporters.isolated.caller import Caller


def main() -> None:
    """Runs one task, and tells on the pipe how far it is and what came of it."""
    task, descriptor = sys.argv[1], int(sys.argv[2])
    with open(descriptor, "w", encoding="utf-8") as pipe:
        arguments = json.loads(_line())
        caller = Caller(pipe)
        try:
            run = import_module(f"{__package__}.{task}").run
            caller.say("answer", run(arguments, caller))
        except ExportError as error:
            caller.say("refusal", str(error))
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    # Libraries that are being unloaded have crashed before, and everything is said.
    os._exit(0)


def _line() -> bytes:
    """The first line of standard input; nothing after it is taken, which is the caller's."""
    with open(0, "rb", buffering=0, closefd=False) as file:
        return file.readline()


if __name__ == "__main__":
    main()

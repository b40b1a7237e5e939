"""`python -m hubserve_exporters.isolated TASK DESCRIPTOR`: the other side of `call`.

The question is a line of JSON on standard input, which stays open as long as somebody waits for
the answer. What libraries print does not mix with the answers, which have a pipe of their own.
"""

import json
import os
import sys
import threading
import traceback
from importlib import import_module
from typing import Any

from hubserve_exporters.errors import ExportError


def main() -> None:
    """Runs one task, and tells on the pipe how far it is and what came of it."""
    task, descriptor = sys.argv[1], int(sys.argv[2])
    with open(descriptor, "w", encoding="utf-8") as pipe:

        def say(kind: str, value: Any) -> None:
            pipe.write(json.dumps([kind, value]) + "\n")
            pipe.flush()

        arguments = json.loads(sys.stdin.buffer.readline())
        threading.Thread(target=_watch, daemon=True).start()
        try:
            run = import_module(f"{__package__}.{task}").run
            say("answer", run(arguments, lambda share: say("progress", share)))
        except ExportError as error:
            say("refusal", str(error))
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    # Libraries that are being unloaded have crashed before, and everything is said.
    os._exit(0)


def _watch() -> None:
    """Ends the process when nobody waits for it any more."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()

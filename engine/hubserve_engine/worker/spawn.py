"""A worker's process and our end of its socket, before there is anything to tell it.

The standard library alone is imported here, so that a worker can be started before the server has
imported anything heavy: its own imports, of about the same weight, then run beside those.
"""

import socket
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process that waits for its `Load`. It ends when the socket is closed."""

    process: subprocess.Popen[bytes]
    socket: socket.socket

    def discard(self) -> None:
        """End the process: nothing is to be loaded after all."""
        self.socket.close()
        self.process.kill()
        self.process.wait()


def spawn(backend: str) -> Spawned:
    """A new process, which imports what that backend needs. Raises OSError."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "hubserve_engine.worker", str(theirs.fileno()), backend],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the server alone
            )
        except BaseException:
            ours.close()
            raise
    return Spawned(process, ours)

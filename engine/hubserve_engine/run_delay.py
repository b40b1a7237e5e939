"""How long the threads of this process have waited for a core that others had."""

from pathlib import Path

_TASKS = Path("/proc/self/task")


def run_delay(tasks: Path = _TASKS) -> float | None:
    """Seconds that the threads which are there now were ready to run and did not, all together.

    None where the system does not say. Source: Linux, Documentation/scheduler/sched-stats.rst, the
    second number of `/proc/<pid>/schedstat`.
    """
    waited, known = 0, False
    for file in tasks.glob("*/schedstat"):
        try:
            waited += int(file.read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue  # the thread has ended
        known = True
    return waited / 1e9 if known else None

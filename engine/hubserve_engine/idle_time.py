"""How long the cores of this machine have had nothing to do."""

import os
from pathlib import Path

_STAT = Path("/proc/stat")


def idle_time(stat: Path = _STAT) -> float | None:
    """Seconds in which cores had nothing to run since the machine started, all cores together.

    None where the system does not say. Source: Linux, Documentation/filesystems/proc.rst, the line
    `cpu` of `/proc/stat`: its fourth number, and the fifth, in which they waited for a disk.
    """
    try:
        name, *numbers = stat.read_text().split("\n", 1)[0].split()
        if name != "cpu":
            return None
        return (int(numbers[3]) + int(numbers[4])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None

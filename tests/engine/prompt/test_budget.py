"""How much memory a template gets that wants all of it."""

import subprocess
import sys

import pytest

# Renders as a worker does, and prints why it was stopped and by how many bytes the process grew.
RENDER = """
import resource, sys
from hubserve_engine.prompt import limits
from hubserve_engine.prompt.program import Program, Refused

program = Program(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    limits.run_limited(lambda: program.run({"messages": [{"role": "user", "content": "hi"}]}), 2.0)
    end = "rendered"
except (Refused, limits.OverLimit) as error:
    end = type(error).__name__
print(end, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""

BIG = "{% set ns = namespace(x=[], n=0) %}{% for _ in range(99999) %}{% for _ in range(99999) %}"
END = "{% endfor %}{% endfor %}{{ ns.x|length }}"
LINE = "{% set s = 'ā' * 8000000 %}"


@pytest.mark.parametrize(
    "source",
    [
        BIG + "{% set _ = ns.x.append(range(100000)|list) %}" + END,
        BIG + "{% set _ = ns.x.append([1] * 1000000) %}" + END,
        BIG + "{% set ns.x = {'a': ns.x, 'b': [1, 2, 3]} %}" + END,
        BIG + "{% set _ = ns.x.append(namespace(a=1, b=loop.index)) %}" + END,
        BIG + "{% set _ = ns.x.append(range(1000)|map('string')|list) %}" + END,
        LINE + BIG + "{% set _ = ns.x.append(s[1:]) %}" + END,
        BIG + "{% set _ = ns.x.append(range(100000)|join(',')) %}" + END,
        BIG + "{% set _ = ns.x.append(cycler(*range(100000))) %}" + END,
        "{% for _ in range(9999) %}{{ 'ā' * 1000000 }}{% endfor %}",
        "{% macro m(n) %}{% set x = 'ā' * 1000000 %}{{ m(n + 1) }}{{ x }}{% endmacro %}{{ m(0) }}",
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells how much memory there is")
@pytest.mark.timeout(60)
def test_a_template_that_piles_up_memory_is_stopped(source: str) -> None:
    command = [sys.executable, "-c", RENDER, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    end, grown = done.stdout.split()
    assert end in ("Refused", "TooHeavy", "TooSlow"), done
    assert int(grown) < 2**30

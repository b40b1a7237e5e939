"""What a grammar may cost."""

from llguidance import LLParserLimits

LIMITS = LLParserLimits(
    # A state takes 1 to 2 kB of memory.
    max_lexer_states=50_000,
    # Errors go to clients; they need not hold the grammar again.
    verbose_errors=False,
)

"""What a grammar may cost."""

from llguidance import LLParserLimits

LEXER_STATES = 50_000
"""Of one matcher. Each takes 1 to 2 kB of memory."""

LIMITS = LLParserLimits(
    max_lexer_states=LEXER_STATES,
    # Errors go to clients; they need not hold the grammar again.
    verbose_errors=False,
)

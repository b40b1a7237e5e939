"""What an answer has to be, held token by token: requests -> grammars -> guides (llguidance)."""

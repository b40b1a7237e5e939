"""The error of exporting, restoring, checking and publishing."""


class ExportError(Exception):
    """It cannot be done; the message is a sentence with the value and the next step."""


AS_IT_IS = "To serve the checkpoint as it is, use --engine transformers."
"""The next step where llama.cpp has nothing to run it with."""

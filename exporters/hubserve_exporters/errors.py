"""The error of exporting, restoring, checking and publishing."""


class ExportError(Exception):
    """It cannot be done; the message is a sentence with the value and the next step."""

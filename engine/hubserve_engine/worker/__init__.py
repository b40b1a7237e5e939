"""The process that owns one model, and the messages that the server process exchanges with it."""

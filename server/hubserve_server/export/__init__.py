"""The commands that make, undo, show and publish GGUF files. They run in the terminal's process."""

"""GGUF files: reading them strictly, writing them. Imports neither engine nor server."""

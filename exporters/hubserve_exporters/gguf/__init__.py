"""GGUF files. `reader.open_gguf` reads one, and trusts nothing that it says."""

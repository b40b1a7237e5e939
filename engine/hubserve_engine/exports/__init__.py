"""Checkpoints that were exported to be served: made once, kept in a cache, made by themselves."""

"""Prefixes on disk: the states of token sequences, kept from one run of the server to the next."""

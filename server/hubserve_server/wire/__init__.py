"""The shapes of the protocol: pydantic for what comes in, msgspec structs for what goes out.

Unknown fields are ignored and null is the same as absent, since every client sends extras.
"""

"""The engine: requests in, deltas out. It knows neither HTTP nor the server."""

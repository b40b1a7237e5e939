"""The endpoints, one resource a file. Each file's `router` is put together in `app`."""

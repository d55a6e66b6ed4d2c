"""The handler on this machine: `run` answers one text or event, `serve` is an HTTP server."""

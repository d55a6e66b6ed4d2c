"""The HTTP API on this machine, by uvicorn."""

import socket
from typing import Final

SHUTDOWN_SECONDS: Final = 2


def serve(host: str, port: int) -> int:
    """Serves until it is interrupted; returns 0, or 1 where the server could not start.

    Raises OSError when the address cannot be had, before anything is loaded.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with listening_socket(family, host, port) as listening:
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        return _serve_on(listening, f"http://{shown}:{listening.getsockname()[1]}/")


def listening_socket(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    """Like socket.create_server, but a socket that says it speaks TCP.

    asyncio sets TCP_NODELAY only there, and without it every answer on a kept connection waits
    40 ms for the client's acknowledgement.
    """
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _serve_on(listening: socket.socket, address: str) -> int:
    import uvicorn  # noqa: PLC0415  (once the address is ours)

    import handler  # noqa: PLC0415  (loads the model)
    from fillmask.http.app import create_app  # noqa: PLC0415

    config = uvicorn.Config(
        create_app(handler.SERVICE, handler.SETTINGS),
        log_level="warning",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = uvicorn.Server(config)
    print(f"serving {address} (documents at /docs)", flush=True)
    try:
        server.run([listening])
    except KeyboardInterrupt:  # uvicorn raises it again once it has shut down
        return 0
    return 0 if server.started else 1

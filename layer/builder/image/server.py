"""The HTTP server of the image, for hosts that are not Lambda: `python3 /opt/server`.

There it is called __main__.py and lies beside builder/local and uvicorn. It listens on PORT, by
default 8080.
"""

import os
import sys
from typing import Final

TASK: Final = "/var/task"
LAYERS: Final = "/opt/python"
RUNTIME: Final = "/var/runtime"  # boto3, for a table
MODEL: Final = "/opt/model"


def main() -> int:
    """Serves until it is told to stop."""
    sys.path[1:1] = [TASK, LAYERS]
    sys.path.append(RUNTIME)
    os.environ.setdefault("FILLMASK_MODEL_DIR", MODEL)
    from builder.local.__main__ import main as local  # noqa: PLC0415  (found only now)

    port = os.environ.get("PORT") or "8080"
    return local(["serve", "--host", "0.0.0.0", "--port", port])  # noqa: S104  (a container's own)


if __name__ == "__main__":
    sys.exit(main())

"""The command `./build.sh image`: writes a Dockerfile and what it copies, for one platform.

Like `./build.sh layer`, whose layers it uses, it needs the standard library alone.
"""

import shlex
import sys
from collections.abc import Sequence
from typing import Final

from builder.image.context import build_command, image_parts, write_dockerfile
from builder.layers import options, sizes
from builder.layers.assemble import ROOT, default_model
from builder.layers.parts import bring_up_to_date
from builder.layers.wheels import LayerError

OUT: Final = ROOT / ".build" / "image"
DESCRIPTION: Final = "Write what a container image is built from, of the layers and of any size."


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the command that comes next; returns 0, or 1 after a sentence on standard error."""
    given = options.parser("image", DESCRIPTION, OUT).parse_args(arguments)
    try:
        platform = options.platform(given)
        wanted = image_parts(ROOT, given.model or default_model(), platform)
        folders = bring_up_to_date(wanted, given.out, lambda _: None)
        write_dockerfile(given.python, given.out)
    except (LayerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    size = sum(sizes.total(folder) for folder in folders.values())
    shown = given.out.relative_to(ROOT) if given.out.is_relative_to(ROOT) else given.out
    print(f"\n{size:,} bytes come on top of the base image\n")
    print(f"build it: {shlex.join(build_command(given.arch, shown))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

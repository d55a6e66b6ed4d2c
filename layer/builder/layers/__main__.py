"""The command `./build.sh layer`: assembles the layers and the function for one platform.

It needs the standard library alone, so that --help and the assembling work with nothing installed.
"""

import shlex
import sys
from collections.abc import Sequence
from typing import Final

from builder.layers import commands, options, sizes
from builder.layers.assemble import ROOT, default_model, parts
from builder.layers.parts import bring_up_to_date
from builder.layers.wheels import LayerError

OUT: Final = ROOT / ".build"  # where template.yaml looks for them
DESCRIPTION: Final = "Assemble the three layers and the function for `sam deploy`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table of sizes and returns 0, or 1 after one sentence on standard error."""
    given = options.parser("layer", DESCRIPTION, OUT).parse_args(arguments)
    try:
        platform = options.platform(given)
        wanted = parts(ROOT, given.model or default_model(), platform)
        folders = bring_up_to_date(wanted, given.out, sizes.check)
    except (LayerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    print(f"\nbytes for Python {given.python} on {given.arch}\n{sizes.report(folders)}")
    if given.out.resolve() == OUT:
        print(f"\ntry them: {shlex.join(commands.invoke(platform))}")
        print(f"deploy them: {shlex.join(commands.deploy(platform))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Where things lie in the project, from whatever folder the tests are started."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = ROOT / "tests"
SUPPORT: Final = TESTS / "support"
EVENTS: Final = TESTS / "events"
GOLDEN: Final = TESTS / "golden"
LAYER: Final = ROOT / "layer"
MODEL: Final = LAYER / "model"
CHECKPOINT: Final = LAYER / "builder" / "default-model"
BUILD: Final = ROOT / ".build"
PYTHONPATH: Final = os.pathsep.join(map(str, (ROOT, LAYER, TESTS)))  # for a Python of its own

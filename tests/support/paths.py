"""Where things lie in the project, whatever folder the tests are started from."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = ROOT / "tests"
EVENTS: Final = TESTS / "events"
GOLDEN: Final = TESTS / "golden"
LAYER: Final = ROOT / "layer"
MODEL: Final = LAYER / "model"
CHECKPOINT: Final = LAYER / "builder" / "default-model"
BUILD: Final = ROOT / ".build"

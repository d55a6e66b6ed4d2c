"""Prints, as JSON, the log-probabilities that models give the texts of relatives.py.

python tests/support/predict_ids.py MODEL...    [models, positions, vocabulary]
"""

import json
import sys
from pathlib import Path

from fillmask.model import manifest
from fillmask.model.contract import Query
from fillmask.model.onnx_engine import OnnxEngine
from support.relatives import QUERIES


def scores(model: Path) -> list[list[float]]:
    """Of every token at every position asked for."""
    described = manifest.read(model)
    engine = OnnxEngine.load(model, described, threads=1)
    queries = [Query(*query) for query in QUERIES]
    answers = engine.predict(queries, 1, True, range(described.vocabulary))
    return [answer.targets for own in answers for answer in own]


if __name__ == "__main__":
    print(json.dumps([scores(Path(model)) for model in sys.argv[1:]]))

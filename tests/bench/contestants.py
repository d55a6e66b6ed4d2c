"""Who runs: ours as template.yaml deploys it, and each alternative as its users deploy it.

Everything is made below .build/bench, once, and again when its inputs change. All have bytecode,
all run under the same real runtime client (support/lambda_opt.py), all answer from one checkpoint.
"""

from pathlib import Path
from typing import Final, NamedTuple

from builder.layers import sizes
from support.lambda_opt import LOCAL, Layout, layout

from . import deployments, models
from .models import OUT

OURS: Final = "ours"
BARE: Final = "article without bytecode"
WITH_TORCH: Final = "article with torch"
COLD: Final = (OURS, "careful", "article", BARE, WITH_TORCH, "pipeline")


class Alternative(NamedTuple):
    """What an alternative installs, and the model and the module of `alternatives` that it runs."""

    packages: tuple[str, ...]
    model: str
    code: str


ENGINE: Final = ("numpy", "onnxruntime", "fastapi", "mangum")
ALTERNATIVES: Final = {
    "article": Alternative(("transformers", *ENGINE), "int8", "article"),
    # transformers imports the torch that it finds.
    WITH_TORCH: Alternative(("transformers", "torch", *ENGINE), "int8", "article"),
    "careful": Alternative(("tokenizers", *ENGINE), "int8", "careful"),
    "pipeline": Alternative(("transformers", "torch"), "checkpoint-copy", "pipeline"),
    "openvino": Alternative(("openvino", "tokenizers", "numpy"), "int8", "openvino_latency"),
}


class Contestant(NamedTuple):
    """One competitor: where it lies and what its environment adds."""

    name: str
    where: Layout
    environment: dict[str, str]

    def threads(self, count: int) -> dict[str, str]:
        """Its environment with so many threads of computation."""
        return {**self.environment, "BENCH_THREADS": str(count), "FILLMASK_THREADS": str(count)}

    def sizes(self) -> dict[str, int]:
        """Bytes of the model's files and of everything else, unzipped."""
        model = sizes.total(self.where.opt / "model")
        everything = sizes.total(self.where.opt) + sizes.total(self.where.task)
        return {"model": model, "packages": everything - model}


def prepare(source: Path | None) -> dict[str, Contestant]:
    """Every contestant, after making what is missing: minutes the first time.

    `source` is a checkpoint's folder; None: random weights.
    """
    checkpoint = source or models.random_checkpoint()
    ours = layout(LOCAL, models.ours(checkpoint), OUT / OURS)
    exported = models.exported(checkpoint)

    found = {OURS: Contestant(OURS, ours, {})}
    for name, (packages, model, code) in ALTERNATIVES.items():
        where = deployments.lay_out(_folder(name), code, packages, exported[model], ours)
        found[name] = _alternative(name, where, where.opt / "model")

    where = found.pop("openvino").where
    found["openvino int8"] = _alternative("openvino int8", where, where.opt / "model")
    float32 = exported["float32"] / "model"
    found["openvino float32"] = _alternative("openvino float32", where, float32)

    bare = deployments.without_bytecode(_folder(BARE), "article", found["article"].where)
    found[BARE] = _alternative(BARE, bare, bare.opt / "model")
    return found


def _alternative(name: str, where: Layout, model: Path) -> Contestant:
    return Contestant(name, where, {"MODEL_DIR": str(model), "HF_HUB_OFFLINE": "1"})


def _folder(name: str) -> str:
    return name.replace(" ", "-")

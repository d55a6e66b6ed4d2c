"""The engine on onnxruntime: feeds -> run -> predictions in small named steps.

Knows token ids and positions, not text. The answer for a query does not depend on the others it is
computed with: rows are packed, quantised one by one, and attention masks the padding.
"""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread, get_native_id
from typing import Any, Final

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, when onnxruntime is imported
os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # numpy multiplies nothing here; its pool costs start-up time

import numpy as np
import numpy.typing as npt
import onnxruntime

from fillmask.errors import EngineUnavailable
from fillmask.model.contract import Prediction, Query
from fillmask.model.manifest import Manifest

# Padded tokens of one run of the session: bounds memory, and larger runs fall out of the CPU's cache.
MAX_RUN_TOKENS: Final = 512
MAX_RUN_MASKS: Final = (
    64  # positions of one run that go through the head: each is a row of the vocabulary
)
LEAST_QUERIES: Final = (
    2  # one row alone takes a kernel whose rounding depends on how far keys are padded
)
PACKING_NICE: Final = (
    10  # the kernel weighs it at 110 to 1,024; at 19, one CPU would never finish packing
)
FILL_OUTPUTS: Final = ("scores", "tokens", "target_scores")

log = logging.getLogger("fillmask")


class OnnxEngine:
    """onnxruntime on one model folder."""

    def __init__(
        self,
        session: Any,
        manifest: Manifest,
        pack: Callable[[], Any] | None = None,
        packing_nice: int = 0,
    ) -> None:
        said = session.get_modelmeta().custom_metadata_map.get("vocabulary")
        if said != str(manifest.vocabulary):
            raise EngineUnavailable(
                f"model.onnx has {said} tokens and model.json says {manifest.vocabulary}."
            )
        self.manifest = manifest
        self._session = session
        self._pack, self._packing_nice = pack, packing_nice
        self._runs = 0

    @classmethod
    def load(
        cls, folder: Path, manifest: Manifest, threads: int, *, packed: bool = True
    ) -> "OnnxEngine":
        """Open a model folder with so many threads; raise EngineUnavailable in one sentence.

        Packing the weights into the kernels' layout takes most of a session's construction. Without it
        (cold.onnx: the same nodes over the same file) the first answer comes sooner, each run packs anew, and
        after the first run a packed session is built in the background and takes over: same numbers bit for bit."""

        def pack() -> Any:
            return open_session(folder / "model.onnx", session_options(threads))

        if packed:
            return cls(pack(), manifest)
        first = open_session(folder / "cold.onnx", session_options(threads, spinning=False))
        return cls(first, manifest, pack, PACKING_NICE if threads == 1 else 0)

    def predict(
        self,
        queries: Sequence[Query],
        k: int,
        subwords: bool,
        targets: Sequence[int],
    ) -> list[list[Prediction]]:
        """See Engine. Cost: linear in tokens, plus masks times vocabulary."""
        answers: list[list[Prediction]] = [[] for _ in queries]
        for run in plan_runs(queries, MAX_RUN_MASKS):
            batch = [queries[index] for index in run]
            inputs = feeds(batch) | {
                "predict": _even(sum(len(query.positions) for query in batch)),
                "subwords": np.array(int(subwords)),
                "k": np.array([min(k, self.manifest.vocabulary)]),
                "targets": np.array(targets, dtype=np.int64),
            }
            predictions = _predictions(*self.run(FILL_OUTPUTS, inputs))
            for index in run:
                answers[index] = [next(predictions) for _ in queries[index].positions]
        return answers

    def hidden(self, queries: Sequence[Query]) -> list[npt.NDArray[np.float32]]:
        """See Engine."""
        answers: list[Any] = [None] * len(queries)
        for run in plan_runs(queries, MAX_RUN_TOKENS):
            batch = [queries[index] for index in run]
            (states,) = self.run_encoder(("hidden",), batch)
            ends = np.cumsum([len(query.positions) for query in batch])
            for index, part in zip(run, np.split(states, ends[:-1]), strict=True):
                answers[index] = part
        return answers

    def run_encoder(self, outputs: Sequence[str], batch: Sequence[Query]) -> list[npt.NDArray[Any]]:
        """Outputs that need no head: it gets no rows, so the decoder does not run."""
        nothing = np.zeros(0, dtype=np.int64)
        head = {"predict": nothing, "subwords": np.array(0), "k": np.array([1]), "targets": nothing}
        return self.run(
            outputs, feeds(batch) | (head if "fill-mask" in self.manifest.tasks else {})
        )

    def run(self, outputs: Sequence[str], inputs: dict[str, Any]) -> list[npt.NDArray[Any]]:
        """The session's answer; whatever it raises becomes EngineUnavailable."""
        self._runs += 1
        if self._pack and self._runs > 1:
            self._start_packing()
        try:
            return list(self._session.run(outputs, inputs))
        except Exception as error:  # onnxruntime's own classes derive from Exception alone
            log.error("the model failed to run: %s", _first_line(error))
            raise EngineUnavailable("The model failed to run; the log says why.") from error

    def _start_packing(self) -> None:
        """Build the packed session on a thread, of low priority where it shares one CPU with the answers: it gets a
        tenth, so that they slow down by that little and not for long. A session of several threads would inherit
        the priority for good, and has another CPU to be built on."""
        pack, self._pack = self._pack, None
        if pack is None:  # another thread was first
            return

        def work() -> None:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, get_native_id(), self._packing_nice)
            try:
                self._session = pack()
            except EngineUnavailable as error:
                log.warning(
                    "the packed session could not be built, the first one stays: %s", error.detail
                )

        Thread(
            target=work, name="pack"
        ).start()  # not a daemon: the process would abort when it ends meanwhile


def open_session(path: Path, options: Any) -> Any:
    """onnxruntime's session of a graph; raise EngineUnavailable in one sentence."""
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes derive from Exception alone
        raise EngineUnavailable(f"{path} could not be loaded: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """onnxruntime's messages tell of nodes, shapes and ids, never of text; the rest of them is a trace."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:300]}"


def session_options(threads: int, *, spinning: bool = True) -> Any:
    """One request at a time, so threads may spin: nothing runs between events, and it saves a tenth. Not at a
    cold start, where imports need the CPU. The arena stays: with it memory levels off, and peaks at two thirds
    of what it does without. All measured, README."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spinning)))
    return options


def plan_runs(queries: Sequence[Query], most_positions: int) -> list[list[int]]:
    """Indices by length, cut into runs that are bounded in padded tokens and in positions."""
    runs: list[list[int]] = []
    longest = positions = 0
    for index in sorted(range(len(queries)), key=lambda i: -len(queries[i].ids)):
        size = len(queries[index].positions)
        if (
            not runs
            or (len(runs[-1]) + 1) * longest > MAX_RUN_TOKENS
            or positions + size > most_positions
        ):
            runs.append([])
            longest, positions = len(queries[index].ids), 0
        runs[-1].append(index)
        positions += size
    return runs


def feeds(batch: Sequence[Query]) -> dict[str, npt.NDArray[Any]]:
    """The graph's inputs for a batch (builder/graph.py describes each). Lists, since a run is small."""
    longest = max(len(query.ids) for query in batch)
    asked = max(LEAST_QUERIES, *(len(query.positions) for query in batch))
    made: dict[str, list[Any]] = {
        name: [] for name in ("ids", "places", "spread", "keys", "collect", "queries", "wanted")
    }
    for number, query in enumerate(batch):
        start, size, wanted = len(made["ids"]), len(query.ids), len(query.positions)
        made["ids"] += query.ids
        made["places"] += range(size)
        made["spread"].append([*range(start, start + size), *[start] * (longest - size)])
        made["keys"].append([1] * size + [0] * (longest - size))
        made["collect"] += range(number * longest, number * longest + size)
        made["queries"].append(
            [*(start + position for position in query.positions), *[start] * (asked - wanted)]
        )
        made["wanted"] += range(number * asked, number * asked + wanted)
    return {
        name: np.array(values, dtype=np.int32 if name == "keys" else np.int64)
        for name, values in made.items()
    }


def _even(count: int) -> npt.NDArray[np.int64]:
    """0..count-1, the last one twice where the count is odd: the decoder rounds an odd last row differently."""
    return np.minimum(np.arange(count + count % 2), count - 1)


def _predictions(scores: Any, tokens: Any, targets: Any) -> Any:
    """One Prediction a row; what is not allowed as a candidate has a score of -inf and is left out."""
    for row in zip(tokens.tolist(), scores.tolist(), targets.tolist(), strict=True):
        kept = sum(score != float("-inf") for score in row[1])
        yield Prediction(row[0][:kept], row[1][:kept], row[2])

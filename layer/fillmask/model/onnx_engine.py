"""The engine on onnxruntime: queries to feeds, a run of the session, its outputs to predictions.

It knows token ids and positions, not text.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Thread, get_native_id
from typing import Any, Final

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, when onnxruntime is imported

# numpy multiplies nothing here, and OpenBLAS' pool of threads costs start-up time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
import onnxruntime

from fillmask.errors import EngineUnavailable
from fillmask.model.contract import HEAD_OUTPUTS, HIDDEN, Prediction, Query
from fillmask.model.deadline import Pace
from fillmask.model.feeds import (
    MAX_RUN_MASKS,
    MAX_RUN_TOKENS,
    Feeds,
    encoder_feeds,
    head_feeds,
    plan_runs,
)
from fillmask.model.manifest import Manifest

# The kernel weighs this priority at 110 to 1,024. At 19, one CPU would never finish packing.
PACKING_NICE: Final = 10

log = logging.getLogger("fillmask")


class OnnxEngine:
    """An Engine (see contract.py) on one session of onnxruntime.

    Cost: linear in tokens, plus masks times vocabulary.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        manifest: Manifest,
        pack: Callable[[], onnxruntime.InferenceSession] | None = None,
        packing_nice: int = 0,
    ) -> None:
        """Raises EngineUnavailable when the graph and the manifest disagree.

        `pack` makes the session that takes over after the first run, on a thread of `packing_nice`.
        """
        vocabulary = session.get_modelmeta().custom_metadata_map.get("vocabulary")
        if vocabulary != str(manifest.vocabulary):
            raise EngineUnavailable(
                f"model.onnx has {vocabulary} tokens and model.json says {manifest.vocabulary}."
            )
        self.manifest = manifest
        self._session = session
        self._pack = pack
        self._packing_nice = packing_nice
        self._has_run = False
        self._pace = Pace()

    @classmethod
    def load(
        cls, folder: Path, manifest: Manifest, threads: int, *, packed: bool = True
    ) -> "OnnxEngine":
        """The engine of a model folder on so many threads; raises EngineUnavailable.

        Packing the weights into the kernels' layout takes most of a session's construction. Without
        it (cold.onnx: the same nodes over the same weights) the first answer comes sooner, but each
        run packs anew. So a packed session is built in the background after the first run and takes
        over. Both give the same numbers bit for bit.
        """

        def pack() -> onnxruntime.InferenceSession:
            return open_session(folder / "model.onnx", session_options(threads))

        if packed:
            return cls(pack(), manifest)

        first = open_session(folder / "cold.onnx", session_options(threads, spinning=False))

        # With one thread there is one CPU, which packing shares with the answers: at a low priority
        # it gets a tenth. A session of several threads would keep that priority for good, and has
        # another CPU to be built on.
        return cls(first, manifest, pack, packing_nice=PACKING_NICE if threads == 1 else 0)

    def predict(
        self,
        queries: Sequence[Query],
        k: int,
        subwords: bool,
        targets: Sequence[int],
    ) -> list[list[Prediction]]:
        """See Engine."""
        predictions: list[list[Prediction]] = [[] for _ in queries]
        k = min(k, self.manifest.vocabulary)

        for run in self._in_time(queries, plan_runs(queries, MAX_RUN_MASKS)):
            batch = [queries[index] for index in run]
            masks = sum(len(query.positions) for query in batch)
            head = head_feeds(masks, subwords=subwords, k=k, targets=targets)

            scores, tokens, target_scores = self.run(HEAD_OUTPUTS, encoder_feeds(batch) | head)

            # What may not be a candidate has -inf, which lies under the first candidate's score.
            _check_finite(np.maximum(scores, scores[:, :1]), target_scores)

            rows = _predictions(scores, tokens, target_scores)
            for index in run:
                predictions[index] = list(islice(rows, len(queries[index].positions)))
        return predictions

    def hidden(self, queries: Sequence[Query]) -> list[npt.NDArray[np.float32]]:
        """See Engine."""
        states: dict[int, npt.NDArray[np.float32]] = {}

        for run in self._in_time(queries, plan_runs(queries, MAX_RUN_TOKENS)):
            batch = [queries[index] for index in run]
            (rows,) = self.run_encoder((HIDDEN,), batch)
            _check_finite(rows)

            ends = np.cumsum([len(query.positions) for query in batch])
            states |= zip(run, np.split(rows, ends[:-1]), strict=True)
        return [states[index] for index in range(len(queries))]

    def _in_time(self, queries: Sequence[Query], runs: list[list[int]]) -> Iterator[list[int]]:
        """The runs, one after the other, while there is time for all that are left."""
        tokens = [sum(len(queries[index].ids) for index in run) for run in runs]

        for number, run in enumerate(runs):
            self._pace.check(sum(tokens[number:]))
            start = time.monotonic()
            yield run
            self._pace.measured(tokens[number], time.monotonic() - start)

    def run_encoder(
        self, outputs: Sequence[str], batch: Sequence[Query]
    ) -> list[npt.NDArray[np.float32]]:
        """Outputs of the encoder [rows, hidden]; the head, if any, gets no rows."""
        feeds = encoder_feeds(batch)
        if "fill-mask" in self.manifest.tasks:
            feeds |= head_feeds(0, subwords=False, k=1, targets=())
        return self.run(outputs, feeds)

    def run(self, outputs: Sequence[str], feeds: Feeds) -> list[npt.NDArray[Any]]:
        """The named outputs of one run; raises EngineUnavailable whatever onnxruntime raised."""
        if self._has_run:
            self._start_packing()
        self._has_run = True

        try:
            return list(self._session.run(outputs, feeds))
        except Exception as error:  # onnxruntime's own classes derive from Exception alone
            log.error("the model failed to run: %s", _first_line(error))
            raise EngineUnavailable("The model failed to run; the log says why.") from error

    def _start_packing(self) -> None:
        """Starts to build the packed session on a thread, once."""
        pack, self._pack = self._pack, None
        if pack is None:
            return

        def work() -> None:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, get_native_id(), self._packing_nice)
            try:
                self._session = pack()
            except EngineUnavailable as error:
                log.warning(
                    "the packed session could not be built, so the first one stays: %s",
                    error.detail,
                )

        # Not a daemon: a process that ends while onnxruntime builds a session aborts.
        Thread(target=work, name="pack").start()


def open_session(path: Path, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    """onnxruntime's session of a graph; raises EngineUnavailable, which names the file."""
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes derive from Exception alone
        raise EngineUnavailable(f"{path} could not be loaded: {_first_line(error)}") from error


def session_options(threads: int, *, spinning: bool = True) -> onnxruntime.SessionOptions:
    """Options of a session that answers one request at a time; 0 threads: as many as cores.

    Threads may spin, because nothing else runs between events, and it saves a tenth; not at a cold
    start, where imports need the CPU. The arena of memory stays on: memory levels off with it, and
    peaks at two thirds of what it does without. tests/bench measures all of this.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3  # errors
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spinning)))
    return options


def _check_finite(*outputs: npt.NDArray[np.float32]) -> None:
    """Raises EngineUnavailable for NaN and infinities, before they are answered or cached."""
    if not all(np.isfinite(output).all() for output in outputs):
        log.error("the model gives numbers that are not finite; its weights may be damaged")
        raise EngineUnavailable("The model gives no finite numbers; the log says why.")


def _predictions(
    scores: npt.NDArray[np.float32],
    tokens: npt.NDArray[np.int64],
    target_scores: npt.NDArray[np.float32],
) -> Iterator[Prediction]:
    """One Prediction per row. What may not be a candidate has a score of -inf and is left out."""
    rows = zip(tokens.tolist(), scores.tolist(), target_scores.tolist(), strict=True)
    for row_tokens, row_scores, row_targets in rows:
        allowed = sum(score != float("-inf") for score in row_scores)
        yield Prediction(row_tokens[:allowed], row_scores[:allowed], row_targets)


def _first_line(error: Exception) -> str:
    """What onnxruntime says of nodes, shapes and ids, never of text; the rest is a trace."""
    message = str(error).partition("\n")[0][:300]
    return f"{type(error).__name__}: {message}"

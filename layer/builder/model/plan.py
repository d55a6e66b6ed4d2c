"""What is to be built: everything that is read of a checkpoint before anything is written."""

from typing import Literal, NamedTuple

from builder.checkpoint import pooling, unigram, wordpiece
from builder.checkpoint.hub import Source
from builder.checkpoint.pooling import Recipe
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.unigram import Unigram
from builder.checkpoint.wordpiece import RuntimeTokenizer, WordPiece
from builder.model.progress import say
from fillmask.model.manifest import Pooling

Task = Literal["fill-mask", "embed"]


class Plan(NamedTuple):
    """One model to be built.

    With a recipe it is an encoder for embeddings alone, and without the masked-LM head.
    """

    source: Source
    checkpoint: Checkpoint
    tokenizer: RuntimeTokenizer
    recipe: Recipe | None

    @property
    def tasks(self) -> list[Task]:
        """What the model can do; one that fills masks embeds too."""
        return ["embed"] if self.recipe else ["fill-mask", "embed"]

    @property
    def pooling(self) -> Pooling:
        """How its hidden states become a vector."""
        return self.recipe.pooling if self.recipe else pooling.TEXT_MEAN

    @property
    def max_tokens(self) -> int:
        """The longest text it takes at once, [CLS] and [SEP] included."""
        positions = self.checkpoint.shape.positions
        limit = self.recipe.max_tokens if self.recipe else None
        return min(positions, limit or positions)


def draw_up(source: Source, task: Task) -> Plan:
    """The plan for a checkpoint; raises CheckpointError where it cannot be built for the task."""
    recipe = pooling.read(source.folder) if task == "embed" else None
    encoder = pooling.encoder_folder(source.folder)
    checkpoint = Checkpoint.load(encoder, head=recipe is None)

    tokens = checkpoint.wordpiece
    if tokens.made_up:
        say(
            f"{tokens.made_up} embeddings have no token in the vocabulary; they are kept and never "
            "answered"
        )
    if recipe:
        say(f"pooling: {recipe.pooling.mode}, from {recipe.origin}; {recipe.length}")
    return Plan(source, checkpoint, _tokenizer(tokens, recipe), recipe)


def _tokenizer(tokens: WordPiece | Unigram, recipe: Recipe | None) -> RuntimeTokenizer:
    """The run-time tokenizer; a recipe may ask for capitals to be folded."""
    folds = recipe is not None and recipe.lowercase
    if isinstance(tokens, Unigram):
        return unigram.write(tokens.folding_capitals() if folds else tokens)

    if folds and not tokens.normaliser.lowercase:
        tokens = tokens._replace(normaliser=tokens.normaliser.folding_capitals())
    return wordpiece.write(tokens, needs_mask=recipe is None)

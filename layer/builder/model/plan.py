"""What is to be built: everything that is read of a checkpoint before anything is written."""

from typing import Final, Literal, NamedTuple

from builder.checkpoint import config, pooling, unigram, wordpiece
from builder.checkpoint.architecture import Shape
from builder.checkpoint.hub import Source
from builder.checkpoint.pooling import Recipe
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.unigram import Unigram
from builder.checkpoint.wordpiece import RuntimeTokenizer, WordPiece
from builder.model.progress import say
from fillmask.model.manifest import Pooling

Task = Literal["fill-mask", "embed"]

# Bytes of Lambda's 262,144,000 that the layers *runtime* (113,165,772 with Python 3.11) and *code*
# leave.
LAYER_ROOM: Final = 148_000_000
TOKEN_BYTES: Final = 32  # of one token in tokenizer.json; XLM-R's take 33 with their scores
SMALLEST_BLOCK: Final = 32  # of the embedding table's weights that share a scale
FLOAT_BYTES: Final = 4


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
    _say_size(config.read(encoder).shape)
    checkpoint = Checkpoint.load(encoder, head=recipe is None)
    if recipe and recipe.dense:
        checkpoint = checkpoint.followed_by(recipe.dense)

    tokens = checkpoint.tokenizer
    if tokens.made_up:
        say(
            f"{tokens.made_up} embeddings have no token in the vocabulary; they are kept and never "
            "answered"
        )
    if recipe:
        say(f"pooling: {recipe.pooling.mode}, from {recipe.origin}; {recipe.length}")
    return Plan(source, checkpoint, _tokenizer(tokens, recipe), recipe)


def int8_bytes(shape: Shape) -> int:
    """About what a model folder of these sizes takes: a byte for each weight, and its tokens."""
    a_token = shape.hidden + FLOAT_BYTES * shape.hidden // SMALLEST_BLOCK + TOKEN_BYTES
    a_layer = 4 * shape.hidden**2 + 2 * shape.hidden * shape.ffn
    positions = FLOAT_BYTES * shape.positions * shape.hidden
    return shape.vocabulary * a_token + shape.layers * a_layer + positions


def _say_size(shape: Shape) -> None:
    """Says what will not fit a layer while nothing has been built yet."""
    size = int8_bytes(shape)
    if size > LAYER_ROOM:
        say(
            f"the model will have about {size / 1e6:,.0f} MB, and Lambda's layers leave "
            f"{LAYER_ROOM / 1e6:,.0f} MB for one: it can be served from a container image "
            "(./build.sh image) and not from layers"
        )


def _tokenizer(tokens: WordPiece | Unigram, recipe: Recipe | None) -> RuntimeTokenizer:
    """The run-time tokenizer; a recipe may ask for capitals to be folded."""
    folds = recipe is not None and recipe.lowercase
    if isinstance(tokens, Unigram):
        return unigram.write(tokens.folding_capitals() if folds else tokens)

    if folds and not tokens.normaliser.lowercase:
        tokens = tokens._replace(normaliser=tokens.normaliser.folding_capitals())
    return wordpiece.write(tokens, needs_mask=recipe is None)

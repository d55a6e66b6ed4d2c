"""Words that the vocabulary lacks while it has each of their characters."""

from fillmask.model.text import TextCodec


def tokens(codec: TextCodec, text: str) -> list[str]:
    return [codec.token(token) for token in codec.encode(text, lowercase=True).ids]


def test_an_unknown_word_becomes_its_characters_where_each_is_a_token(codec: TextCodec) -> None:
    encoded = codec.encode("二〇〇六年", lowercase=True)
    assert tokens(codec, "二〇〇六年") == ["二", "〇", "〇", "六", "年"]
    assert encoded.spans == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert encoded.unknown == []


def test_an_unknown_word_with_an_unknown_character_is_reported_whole(codec: TextCodec) -> None:
    encoded = codec.encode("二〇ᚠ年", lowercase=True)
    assert tokens(codec, "二〇ᚠ年") == ["二", "[UNK]", "年"]
    assert encoded.unknown == [(1, 3, "unknown")]

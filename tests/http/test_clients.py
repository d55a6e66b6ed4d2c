"""The clients that people already have, unchanged, over a socket and through the Lambda handler."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import openai
import pytest
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

import handler
from fillmask.http.app import create_app
from support import http_service, servers
from support.http_cases import TEXT
from support.problems import MEDIA_TYPE, check_problem

TWO_MASKS = "今天[MASK][MASK]很好，我们去散步吧。"


@pytest.fixture(scope="module", params=["socket", "lambda"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the application is."""
    server = (
        servers.on_lambda()
        if request.param == "lambda"
        else servers.on_uvicorn(create_app(handler.SERVICE, handler.SETTINGS))
    )
    with server as address:
        yield address


@pytest.fixture
def hf(url: str) -> Iterator[Callable[[str], InferenceClient]]:
    """A Hugging Face client for one of our paths."""
    clients: list[InferenceClient] = []

    def client(path: str) -> InferenceClient:
        clients.append(InferenceClient(model=f"{url}/hf/{path}", timeout=30))
        return clients[-1]

    yield client
    for made in clients:
        made.close()


@pytest.fixture
def ai(url: str) -> Iterator[openai.OpenAI]:
    """OpenAI's client, told not to try again."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0, timeout=30) as client:
        yield client


def native(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Our own answer to the same question."""
    return http_service.service().answer(operation, request)


# huggingface_hub


@pytest.mark.parametrize("top_k", [None, 1, 3, 100])
def test_hf_fill_mask(hf: Any, top_k: int | None) -> None:
    rows = hf("fill-mask").fill_mask(TEXT, top_k=top_k)
    candidates = native("fill-mask", {"text": TEXT, "top_k": top_k or 5})["results"][0]["masks"][0][
        "candidates"
    ]
    assert [(row.token_str, row.token, row.score, row.sequence) for row in rows] == [
        (row["token"], row["id"], row["score"], row["sequence"]) for row in candidates
    ]
    assert rows[0].token_str == "上"


def test_hf_fill_mask_with_targets_ranks_them_by_score(hf: Any) -> None:
    targets = ["下", "苹果", " ", "上", "中"]
    rows = hf("fill-mask").fill_mask(TEXT, targets=targets)
    assert rows[0].token_str == "上"
    assert {row.token_str for row in rows} == {
        "上",
        "下",
        "中",
        "苹果",
    }  # nothing to score in a space
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    assert next(row.token for row in rows if row.token_str == "苹果") is None
    assert len(hf("fill-mask").fill_mask(TEXT, targets=targets, top_k=2)) == 2


def test_hf_fill_mask_gives_a_list_for_each_of_several_masks(hf: Any) -> None:
    rows = hf("fill-mask").fill_mask(TWO_MASKS, top_k=3)
    masks = native("fill-mask", {"text": TWO_MASKS, "top_k": 3})["results"][0]["masks"]
    assert [[(row.token_str, row.sequence) for row in mask] for mask in rows] == [
        [(row["token"], row["sequence"]) for row in mask["candidates"]] for mask in masks
    ]
    assert all("[MASK]" in row.sequence for mask in rows for row in mask)


def test_hf_feature_extraction(hf: Any) -> None:
    one = hf("feature-extraction").feature_extraction("今天天气很好")
    several = hf("feature-extraction").feature_extraction(["你好", "今天天气很好"])
    assert one.shape == (256,)
    assert several.shape == (2, 256)
    assert np.abs(several[1] - one).max() <= 1e-6
    assert one.tolist() == native("embed", {"input": "今天天气很好"})["data"][0]["embedding"]


def test_hf_feature_extraction_with_its_parameters(hf: Any) -> None:
    client = hf("feature-extraction")
    narrow = client.feature_extraction("你好", dimensions=8, normalize=True, truncate=True)
    assert narrow.shape == (8,)
    assert np.linalg.norm(narrow) == pytest.approx(1, abs=1e-6)
    with pytest.raises(HfHubHTTPError) as caught:
        client.feature_extraction("你好", normalize=False)
    assert caught.value.response.json()["errors"][0]["field"] == "normalize"


def test_hf_sentence_similarity(hf: Any) -> None:
    scores = hf("sentence-similarity").sentence_similarity(
        "我想退货", ["怎么退款？", "今天天气很好", "我想退货"]
    )
    assert len(scores) == 3
    assert scores[2] == pytest.approx(1, abs=1e-6)
    assert scores[0] > scores[1]


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("今天天气很好", {}, "no_mask"),
        ("今天<mask>很好", {}, "no_mask"),
        (TEXT, {"top_k": 101}, "invalid_request"),
        (TEXT, {"targets": [" "]}, "invalid_request"),
        ("我" * 10_001 + "[MASK]", {}, "too_large"),
    ],
)
def test_hf_raises_its_own_error_with_our_code_and_sentence(
    hf: Any, text: str, options: Any, code: str
) -> None:
    with pytest.raises(HfHubHTTPError) as caught:
        hf("fill-mask").fill_mask(text, **options)
    assert caught.value.response.headers["content-type"] == MEDIA_TYPE
    found = check_problem(caught.value.response.json(), text[:20])
    assert found["code"] == code
    assert found["detail"] in str(caught.value)


def test_hf_raises_its_own_error_where_nothing_is(hf: Any) -> None:
    with pytest.raises(HfHubHTTPError) as caught:
        hf("fill-masks").fill_mask(TEXT)
    assert check_problem(caught.value.response.json(), TEXT)["code"] == "not_found"


# openai


def test_openai_embeddings_are_the_same_in_both_encodings(ai: openai.OpenAI) -> None:
    texts = ["今天天气很好", "你好"]
    plain = ai.embeddings.create(model="any", input=texts, encoding_format="float")
    packed = ai.embeddings.create(model="any", input=texts, encoding_format="base64")
    usual = ai.embeddings.create(model="any", input=texts)  # asks for base64, and unpacks it
    assert [row.embedding for row in usual.data] == [row.embedding for row in plain.data]
    assert all(isinstance(row.embedding, str) for row in packed.data)
    assert [row.index for row in plain.data] == [0, 1]
    assert plain.object == "list"
    assert plain.usage.prompt_tokens == plain.usage.total_tokens == 8 + 4
    assert plain.data[0].embedding == native("embed", {"input": texts})["data"][0]["embedding"]


def test_openai_dimensions_are_normalised_again(ai: openai.OpenAI) -> None:
    whole = ai.embeddings.create(model="any", input="你好").data[0].embedding
    narrow = ai.embeddings.create(model="any", input="你好", dimensions=16).data[0].embedding
    assert len(narrow) == 16
    leading = np.array(whole[:16])
    assert np.allclose(narrow, leading / np.linalg.norm(leading), atol=1e-6)


@pytest.mark.parametrize(
    ("request_", "kind", "code"),
    [
        ({"input": ""}, openai.UnprocessableEntityError, "invalid_request"),
        ({"input": "你好", "dimensions": 5000}, openai.UnprocessableEntityError, "invalid_request"),
        ({"input": [[1, 2, 3]]}, openai.UnprocessableEntityError, "invalid_request"),
        ({"input": ["你好"] * 257}, openai.APIStatusError, "too_large"),
    ],
)
def test_openai_raises_its_own_error_with_our_code(
    ai: openai.OpenAI, request_: Any, kind: Any, code: str
) -> None:
    with pytest.raises(kind) as caught:
        ai.embeddings.create(model="any", **request_)
    assert caught.value.code == code
    found = check_problem(caught.value.response.json(), request_)
    assert found["code"] == code
    assert found["detail"] in str(caught.value)


def test_openai_lists_the_one_model(ai: openai.OpenAI) -> None:
    (model,) = ai.models.list().data
    assert model.id == http_service.service().manifest.id
    assert ai.embeddings.create(model=model.id, input="你好").model == model.id


def test_openai_shows_the_sentence_and_the_field_of_an_error(ai: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        ai.embeddings.create(model="any", input=["你好", " ", "您好"])
    assert "There is nothing to embed in input[1]." in str(caught.value)
    assert (caught.value.param, caught.value.type) == ("input[1]", "invalid_request_error")


def test_what_openai_cannot_read_of_a_text_is_counted(ai: openai.OpenAI) -> None:
    usage = ai.embeddings.create(model="any", input=["⼈⼯智能", "人工智能"]).usage
    assert usage.to_dict()["unknown_tokens"] == 1  # both radicals, which stand together


def test_openai_raises_its_own_error_without_a_model() -> None:
    with (
        servers.on_uvicorn(create_app(http_service.no_service, http_service.settings())) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client,
        pytest.raises(openai.InternalServerError) as caught,
    ):
        client.embeddings.create(model="any", input="你好")
    assert caught.value.status_code == 503
    assert caught.value.code == "engine_unavailable"


def test_openai_raises_its_own_error_for_what_is_not_here(ai: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        ai.chat.completions.create(model="any", messages=[{"role": "user", "content": TEXT}])
    assert caught.value.code == "not_found"

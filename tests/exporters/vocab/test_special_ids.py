"""Ids with a purpose, and where an answer stops."""

import pytest

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.files import TokenizerFiles
from hubserve_exporters.vocab.special_ids import special_ids

TEXTS = (
    *("<s>", "</s>", "<unk>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<stop>", "<halt>"),
    "<quit>",
)
IDS = {text: id for id, text in enumerate(TEXTS)}


def find(files: TokenizerFiles, **own: int) -> tuple[dict[str, int], list[str]]:
    warnings: list[str] = []
    return special_ids(files, IDS, own, warnings), warnings


def test_each_purpose_is_found_by_text_and_by_number() -> None:
    files = TokenizerFiles(
        tokenizer_config={"bos_token": "<s>", "eos_token": {"content": "</s>"}},
        special_tokens={"unk_token": "<unk>"},
        config={"pad_token_id": 6, "bos_token_id": 8},
    )
    assert find(files) == (
        {"bos_token_id": 0, "eos_token_id": 1, "unknown_token_id": 2, "padding_token_id": 6},
        [],
    )


def test_llama_3_stops_at_all_its_ends() -> None:
    files = TokenizerFiles(
        tokenizer_config={"eos_token": "<|eot_id|>"}, generation={"eos_token_id": [5, 4, 3]}
    )
    assert find(files) == ({"eos_token_id": 3, "eot_token_id": 5, "eom_token_id": 4}, [])


def test_lists_of_both_files_count() -> None:
    files = TokenizerFiles(generation={"eos_token_id": [1]}, config={"eos_token_id": [1, 6]})
    assert find(files) == ({"eos_token_id": 1, "eot_token_id": 6}, [])


def test_ends_that_llama_cpp_knows_by_text_leave_the_keys_to_others() -> None:
    files = TokenizerFiles(generation={"eos_token_id": [1, 3, 5, 6, 7]})
    assert find(files) == ({"eos_token_id": 1, "eot_token_id": 6, "eom_token_id": 7}, [])


def test_an_end_that_no_key_is_left_for_is_told() -> None:
    files = TokenizerFiles(generation={"eos_token_id": [1, 6, 7, 8]})
    keys, warnings = find(files)
    assert keys == {"eos_token_id": 1, "eot_token_id": 6, "eom_token_id": 7}
    assert warnings == [
        "An answer is to end at '<quit>' as well, and llama.cpp has no key left to be told so: give"
        " it as a stop string."
    ]


def test_no_end_at_all_is_refused() -> None:
    with pytest.raises(ExportError, match="No file says which token ends a text"):
        find(TokenizerFiles(config={"eos_token_id": None}))


def test_what_is_not_there_is_left_out_and_told() -> None:
    files = TokenizerFiles(
        tokenizer_config={"eos_token": "</s>", "pad_token": "[PAD]"},
        generation={"eos_token_id": [1, 99], "pad_token_id": -1},
    )
    keys, warnings = find(files)
    assert keys == {"eos_token_id": 1}
    assert [warning[:40] for warning in warnings] == [
        "generation_config.json: 'eos_token_id' i",
        "The tokenizer has no token '[PAD]', whic",
    ]


def test_the_models_own_ids_count_where_no_file_says_otherwise() -> None:
    files = TokenizerFiles(tokenizer_config={"eos_token": "<|eot_id|>", "unk_token": "<s>"})
    assert find(files, bos=0, eos=1, unk=2)[0] == {
        "bos_token_id": 0,
        "eos_token_id": 3,
        "unknown_token_id": 2,
    }
    assert find(TokenizerFiles(), eos=1)[0] == {"eos_token_id": 1}


@pytest.mark.parametrize("value", [True, "1", 1.0, {"id": 1}, [[1]], ["</s>"]])
def test_what_is_no_id_is_passed_over(value: object) -> None:
    files = TokenizerFiles(tokenizer_config={"eos_token": "</s>"}, config={"eos_token_id": value})
    assert find(files) == ({"eos_token_id": 1}, [])

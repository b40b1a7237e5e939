"""Checkpoints that somebody made to do harm, or that were damaged on their way.

Each is refused in a sentence; nothing is written, nothing in it is run, and it costs little.
"""

import json
import os
import pickle
import resource
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.support.checkpoints import checkpoint

from hubserve_exporters import ExportError, GGUFExportConfig, export_gguf
from hubserve_exporters.checkpoint import INDEX, WEIGHTS

Harm = Callable[[Path], None]
CASES: dict[str, tuple[Harm, str]] = {}
HEAD = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"
QUERY = "model.layers.0.self_attn.q_proj.weight"


def case(said: str) -> Callable[[Harm], Harm]:
    """A harm, and what is said of it."""

    def add(harm: Harm) -> Harm:
        CASES[harm.__name__] = (harm, said)
        return harm

    return add


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Changes the object in a JSON file; `change` may give back another."""
    path = folder / name
    found = json.loads(path.read_text())
    changed = change(found)
    path.write_text(json.dumps(found if changed is None else changed))


def config(**values: Any) -> Harm:
    return lambda folder: edit(folder, "config.json", lambda found: found.update(values))


def tensors(change: Callable[[dict[str, Any]], None]) -> Harm:
    def harm(folder: Path) -> None:
        found = load_file(folder / WEIGHTS)
        change(found)
        save_file(found, folder / WEIGHTS)

    return harm


def header(change: Callable[[dict[str, Any]], Any]) -> Harm:
    """Changes the directory of the weights, and leaves the numbers behind it."""

    def harm(folder: Path) -> None:
        content = (folder / WEIGHTS).read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        found = json.loads(content[8 : 8 + size])
        changed = change(found)
        text = changed if isinstance(changed, bytes) else json.dumps(found).encode()
        text += b" " * (-len(text) % 8)
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])

    return harm


def sharded(folder: Path, change: Callable[[dict[str, str]], object] | None = None) -> None:
    """Splits the weights into two files with an index, whose `weight_map` may be changed."""
    found = load_file(folder / WEIGHTS)
    names = sorted(found)
    halves = {"model-1.safetensors": names[:9], "model-2.safetensors": names[9:]}
    for shard, part in halves.items():
        save_file({name: found[name] for name in part}, folder / shard)
    where = {name: shard for shard, part in halves.items() for name in part}
    if change is not None:
        change(where)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (folder / WEIGHTS).unlink()


def named(shard: str) -> Harm:
    return lambda folder: sharded(folder, lambda where: where.update({HEAD: shard}))


# Where files are.


@case("'../other/model.safetensors', which is no plain file name")
def a_shard_above_the_folder(folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    shutil.copy(folder / WEIGHTS, other / WEIGHTS)
    named("../other/model.safetensors")(folder)


@case("which is no plain file name")
def a_shard_with_an_absolute_name(folder: Path) -> None:
    named("/etc/passwd")(folder)


@case("which is no plain file name")
def a_shard_above_the_folder_as_windows_has_it(folder: Path) -> None:
    named("..\\model.safetensors")(folder)


@case("which is no plain file name")
def a_shard_without_a_name(folder: Path) -> None:
    named("")(folder)


@case("is missing, which model.safetensors.index.json names")
def a_shard_that_is_missing(folder: Path) -> None:
    sharded(folder)
    (folder / "model-2.safetensors").unlink()


@case("leads nowhere")
def a_shard_with_a_nul_in_its_name(folder: Path) -> None:
    named("model\0.safetensors")(folder)


@case("denies")
def a_tensor_that_the_index_does_not_know(folder: Path) -> None:
    sharded(folder, lambda where: where.pop(HEAD))


@case("has no tensor 'ghost'")
def a_tensor_that_the_index_alone_knows(folder: Path) -> None:
    sharded(folder, lambda where: where.update(ghost="model-1.safetensors"))


@case("is in two files")
def a_tensor_in_two_shards(folder: Path) -> None:
    sharded(folder)
    one = load_file(folder / "model-1.safetensors")
    name = next(iter(one))
    two = load_file(folder / "model-2.safetensors") | {name: one[name]}
    save_file(two, folder / "model-2.safetensors")


@case("has no 'weight_map'")
def an_index_that_is_none(folder: Path) -> None:
    sharded(folder)
    (folder / INDEX).write_text('{"weight_map": [1, 2]}')


@case("outside of the checkpoint")
def weights_that_are_a_link_out(folder: Path) -> None:
    moved = folder.parent / "secret.safetensors"
    (folder / WEIGHTS).rename(moved)
    (folder / WEIGHTS).symlink_to(moved)


@case("outside of the checkpoint")
def a_configuration_that_is_a_link_out(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("/etc/passwd")


@case("outside of the checkpoint")
def a_template_that_is_a_link_out(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    (folder / "chat_template.jinja").symlink_to("/etc/passwd")


@case("leads nowhere")
def weights_that_are_a_link_to_themselves(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).symlink_to(WEIGHTS)


@case("is no regular file")
def weights_that_are_a_pipe(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    os.mkfifo(folder / WEIGHTS)


# What weights say of themselves.


@case(WEIGHTS)
def weights_that_are_cut_off(folder: Path) -> None:
    os.truncate(folder / WEIGHTS, (folder / WEIGHTS).stat().st_size - 100)


@case(WEIGHTS)
def weights_with_more_than_they_say(folder: Path) -> None:
    with (folder / WEIGHTS).open("ab") as file:
        file.write(bytes(64))


@case(WEIGHTS)
def weights_that_are_empty(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(b"")


@case(WEIGHTS)
def a_directory_of_exabytes(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", 2**62) + b"{}")


@case(WEIGHTS)
def a_directory_that_is_no_json(folder: Path) -> None:
    header(lambda found: b"{" * 4096)(folder)


@case(WEIGHTS)
def a_directory_that_is_a_list(folder: Path) -> None:
    header(lambda found: b"[1, 2, 3]")(folder)


@case(HEAD)
def tensors_that_overlap(folder: Path) -> None:
    header(lambda found: found[HEAD].update(data_offsets=found[EMBEDDING]["data_offsets"]))(folder)


@case(HEAD)
def a_tensor_that_ends_before_it_begins(folder: Path) -> None:
    header(lambda found: found[HEAD]["data_offsets"].reverse())(folder)


@case(WEIGHTS)
def a_tensor_beyond_the_end(folder: Path) -> None:
    header(lambda found: found[HEAD].update(data_offsets=[2**60, 2**60 + 73728]))(folder)


@case(HEAD)
def a_shape_that_is_not_its_size(folder: Path) -> None:
    header(lambda found: found[HEAD].update(shape=[288, 65]))(folder)


@case(HEAD)
def a_shape_below_zero(folder: Path) -> None:
    header(lambda found: found[HEAD].update(shape=[-288, -64]))(folder)


@case(HEAD)
def a_shape_that_wraps_around(folder: Path) -> None:
    header(lambda found: found[HEAD].update(shape=[2**63, 2, 0]))(folder)


@case(HEAD)
def a_type_that_nobody_knows(folder: Path) -> None:
    header(lambda found: found[HEAD].update(dtype="F7"))(folder)


@case("'blk.0.attn_q.weight' has wrong shape")
def a_matrix_of_another_shape(folder: Path) -> None:
    tensors(lambda found: found.update({QUERY: np.zeros((128, 32), np.float32)}))(folder)


@case("lm_head")
def a_tensor_that_is_missing(folder: Path) -> None:
    tensors(lambda found: found.pop(HEAD))(folder)


@case("model.layers.7.")
def a_tensor_of_a_layer_that_is_not_there(folder: Path) -> None:
    name = QUERY.replace("0", "7")
    tensors(lambda found: found.update({name: found[QUERY]}))(folder)


@case("backdoor")
def a_tensor_that_belongs_nowhere(folder: Path) -> None:
    tensors(lambda found: found.update({"backdoor": np.zeros((2, 2), np.float32)}))(folder)


@case("\\u202e")
def a_tensor_whose_name_turns_around(folder: Path) -> None:
    tensors(lambda found: found.update({"a\u202eb.weight": np.zeros((2, 2), np.float32)}))(folder)


@case("infinite or none at all")
def weights_that_are_no_numbers(folder: Path) -> None:
    tensors(lambda found: found.update({QUERY: found[QUERY] * np.float32("nan")}))(folder)


@case("infinite or none at all")
def weights_without_end(folder: Path) -> None:
    tensors(lambda found: found[HEAD].fill(-np.inf))(folder)


@case("qweight")
def weights_that_are_packed(folder: Path) -> None:
    name = QUERY.replace("weight", "qweight")
    tensors(lambda found: found.update({name: np.zeros((2, 2), np.int32)}))(folder)


# Code.


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch owned",)


@case("a pickle, which can hold code")
def weights_that_are_a_program(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({HEAD: Harmful()}))


@case("'Harmful' cannot be exported")
def an_architecture_with_code_of_its_own(folder: Path) -> None:
    (folder / "modeling_harmful.py").write_text("open('owned', 'w')")
    auto = {"AutoModelForCausalLM": "modeling_harmful.Harmful", "AutoConfig": "modeling_harmful.C"}
    config(auto_map=auto, architectures=["Harmful"], model_type="harmful")(folder)


@case("'__import__' cannot be exported")
def an_architecture_that_is_a_builtin(folder: Path) -> None:
    config(architectures=["__import__"])(folder)


# Numbers and texts.


@case("'num_hidden_layers' is -2")
def layers_below_zero(folder: Path) -> None:
    config(num_hidden_layers=-2)(folder)


@case("'num_hidden_layers' is 2147483647; 4096 is the most")
def layers_without_end(folder: Path) -> None:
    config(num_hidden_layers=2**31 - 1)(folder)


@case("'num_hidden_layers' is 2147483647; 4096 is the most")
def layers_of_two_kinds_without_end(folder: Path) -> None:
    config(num_hidden_layers=2**31 - 1, architectures=["Qwen3_5ForCausalLM"])(folder)


@case("The checkpoint lacks 'model.layers.2.")
def more_layers_than_there_are(folder: Path) -> None:
    config(num_hidden_layers=4096)(folder)


@case("'num_attention_heads' is ")
def heads_beyond_all_numbers(folder: Path) -> None:
    config(num_attention_heads=10**400)(folder)


@case("'rms_norm_eps' is ")
def an_epsilon_that_is_no_number(folder: Path) -> None:
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace("1e-06", "NaN"))


@case("'rms_norm_eps' is -1e+308; it has to be a number")
def an_epsilon_beyond_32_bits(folder: Path) -> None:
    config(rms_norm_eps=-1e308)(folder)


@case("'hidden_size' is '64'")
def a_size_that_is_a_text(folder: Path) -> None:
    config(hidden_size="64")(folder)


@case("config.json is not JSON")
def a_configuration_that_is_no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{'a': 1}")


@case("config.json is not JSON")
def a_configuration_that_nests_without_end(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000)


@case("config.json holds no object")
def a_configuration_that_is_a_number(folder: Path) -> None:
    (folder / "config.json").write_text("1" * 4000)


@case("config.json is not UTF-8")
def a_configuration_in_no_encoding(folder: Path) -> None:
    (folder / "config.json").write_bytes(b'{"a": "\xff"}')


@case("tokenizer.json is larger than 64 MiB")
def a_tokenizer_of_gigabytes(folder: Path) -> None:
    with (folder / "tokenizer.json").open("wb") as file:
        file.truncate(2**32)


@case("tokenizer.json")
def a_tokenizer_that_is_no_json(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


@case("288 rows")
def a_vocabulary_larger_than_the_embedding(folder: Path) -> None:
    def grow(found: dict[str, Any]) -> None:
        found["model"]["vocab"] |= {f"more{i}": 1000 + i for i in range(9)}

    edit(folder, "tokenizer.json", grow)


@case("tokenizer.json")
def a_token_far_beyond_all_others(folder: Path) -> None:
    edit(folder, "tokenizer.json", lambda t: t["model"]["vocab"].update(far=2**40))


@case("tokenizer.json")
def merges_of_tokens_that_are_not_there(folder: Path) -> None:
    edit(folder, "tokenizer.json", lambda t: t["model"]["merges"].append(["zz", "qqq"]))


@case("tokenizer.json")
def merges_that_are_numbers(folder: Path) -> None:
    edit(folder, "tokenizer.json", lambda t: t["model"].update(merges=[1, 2]))


# Templates.


def template(text: str) -> Harm:
    def harm(folder: Path) -> None:
        (folder / "chat_template.jinja").write_text(text)

    return harm


@case("reaches for '__class__', as attacks do")
def a_template_that_breaks_out(folder: Path) -> None:
    template("{{ ''.__class__.__mro__[1].__subclasses__() }}")(folder)


@case("reaches for '__class__', as attacks do")
def a_template_that_breaks_out_where_nobody_looks(folder: Path) -> None:
    text = "{% set part = 'lass__' %}{{ messages|attr('__c' ~ part) }}"
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates/tool_use.jinja").write_text(text)


@case("reaches for '__class__', as attacks do")
def a_template_that_breaks_out_by_a_format(folder: Path) -> None:
    template("{{ '{0.__class__}'.format(messages) }}")(folder)


@case("makes more of a short chat than there is room for")
def a_template_that_is_a_bomb(folder: Path) -> None:
    template("{% set a = 'x' * 10**10 %}{{ a }}")(folder)


@case("makes more of a short chat than there is room for")
def a_template_that_writes_without_end(folder: Path) -> None:
    line = "x" * 1000
    template("{% for i in range(90000) %}" + line + "{% endfor %}")(folder)


@case("makes more of a short chat than there is room for")
def a_template_that_counts_without_end(folder: Path) -> None:
    template("{% for i in range(10**12) %}{% endfor %}")(folder)


@pytest.fixture
def quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkpoint to be spoilt, in a process that may take half a gigabyte more at most."""
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "checkpoint")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield folder
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 * 1024


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_a_sentence_and_leaves_nothing(
    quiet_folder: Path, tmp_path: Path, name: str
) -> None:
    harm, said = CASES[name]
    harm(quiet_folder)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ExportError) as caught:
        export_gguf(quiet_folder, GGUFExportConfig(out / "it.gguf"))
    message = str(caught.value)
    assert said in message
    assert "\n" not in message and len(message) < 1000 and message.endswith((".", "…"))
    assert message.isprintable()
    assert not list(out.iterdir()) and not (tmp_path / "owned").exists()


def test_a_template_that_does_no_harm_yet_is_told_of(quiet_folder: Path, tmp_path: Path) -> None:
    """Whoever serves the file renders it within limits."""
    bomb = "{% if messages|length > 99 %}{{ ''.__class__.__mro__[1].__subclasses__() }}{% endif %}"
    (quiet_folder / "chat_template.jinja").write_text(bomb)
    done = export_gguf(quiet_folder, GGUFExportConfig(tmp_path / "it.gguf"))
    assert any("template" in warning for warning in done.warnings)
    with pytest.raises(ExportError, match="template"):
        export_gguf(quiet_folder, GGUFExportConfig(tmp_path / "b.gguf", strict=True))


def test_bfloat16_beyond_float16_is_clamped_and_not_infinite(
    quiet_folder: Path, tmp_path: Path
) -> None:
    def grow(found: dict[str, Any]) -> None:
        for name in found:
            found[name] = found[name].astype(ml_dtypes.bfloat16)
        found[QUERY][0, 0] = 1e30

    tensors(grow)(quiet_folder)
    config = GGUFExportConfig(tmp_path / "it.gguf", dtype="f16", check="fast")
    assert export_gguf(quiet_folder, config).files

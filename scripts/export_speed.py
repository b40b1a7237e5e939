"""Measure how fast checkpoints are exported beside `cp`, and how much memory it takes.

The checkpoint is a llama of random numbers, in BF16. Each run is a process of its own, in turns
with `cp`; all end when the bytes are on the disk. Nothing else should run beside it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from math import prod
from pathlib import Path

import ml_dtypes
import numpy as np

from hubserve_exporters.checkpoint import WEIGHTS
from hubserve_exporters.safetensors_file import encode_directory

HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, VOCABULARY = 2048, 8192, 32, 8, 128256
LARGEST = VOCABULARY * HIDDEN * 4
"""Bytes of the largest tensor in 32 bits."""
BOUND = 1.5 * LARGEST + 300e6
EXPORT = """
import sys
from pathlib import Path
from hubserve_exporters import GGUFExportConfig, export_gguf
config = GGUFExportConfig(Path(sys.argv[2]), dtype=sys.argv[3], tokenizer="none", check="none")
export_gguf(sys.argv[1], config)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/export-speed",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--layers", type=int, default=12, help="each is 122 MB (default: 12)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--types", nargs="+", default=["bf16", "f16", "q8_0"])
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        _make(folder, arguments.layers)
        _measure(folder, arguments.types, arguments.rounds)


def _measure(folder: Path, types: Sequence[str], rounds: int) -> None:
    weights = folder / WEIGHTS
    size = weights.stat().st_size
    commands = {"cp": ["cp", str(weights), str(folder / "copy")]}
    for type_ in types:
        out = str(folder / f"{type_}.gguf")
        commands[type_] = [sys.executable, "-c", EXPORT, str(folder), out, type_]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    peaks = dict.fromkeys(commands, 0)
    for _ in range(rounds):
        for name, command in commands.items():
            target = Path(command[-2] if name in types else command[-1])
            target.unlink(missing_ok=True)
            os.sync()
            took, peak = _run(command, target)
            seconds[name].append(took)
            peaks[name] = max(peaks[name], peak)
            target.unlink()
    print(f"{size / 1e9:.1f} GB, {time.strftime('%Y-%m-%d')}, {rounds} rounds in turns")
    copy = statistics.median(seconds["cp"])
    for name, all_seconds in seconds.items():
        middle = statistics.median(all_seconds)
        row = f"  {name:5} {middle:6.2f} s  {size / middle / 1e9:5.2f} GB/s of the checkpoint"
        if name in types:
            row += f"  {copy / middle:4.2f} of cp  peak {peaks[name] / 1e6:.0f} MB"
            row += f" (bound {BOUND / 1e6:.0f})"
        print(row)


def _run(command: list[str], target: Path) -> tuple[float, int]:
    """Seconds until it is on the disk, and the most memory that the process had, in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed")
    descriptor = os.open(target, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    took = time.perf_counter() - start
    return took, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _make(folder: Path, layers: int) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(config))
    keys = HIDDEN * KV_HEADS // HEADS
    shapes = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN), "model.norm.weight": (HIDDEN,)}
    for layer in range(layers):
        for name, shape in {
            "input_layernorm": (HIDDEN,),
            "self_attn.q_proj": (HIDDEN, HIDDEN),
            "self_attn.k_proj": (keys, HIDDEN),
            "self_attn.v_proj": (keys, HIDDEN),
            "self_attn.o_proj": (HIDDEN, HIDDEN),
            "post_attention_layernorm": (HIDDEN,),
            "mlp.gate_proj": (FEED_FORWARD, HIDDEN),
            "mlp.up_proj": (FEED_FORWARD, HIDDEN),
            "mlp.down_proj": (HIDDEN, FEED_FORWARD),
        }.items():
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    noise = np.random.default_rng(0).normal(0, 0.02, 2**22).astype(ml_dtypes.bfloat16).tobytes()
    with (folder / WEIGHTS).open("wb") as file:
        file.write(encode_directory({name: ("BF16", shape) for name, shape in shapes.items()}))
        for shape in shapes.values():
            left = 2 * prod(shape)
            while left:
                left -= file.write(noise[:left])


if __name__ == "__main__":
    main()

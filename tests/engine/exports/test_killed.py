"""A process that is killed while it makes an export, at each moment at which it touches a file."""

import subprocess
import sys
from pathlib import Path

from tests.support.checkpoints import checkpoint

CODE = """
import os, signal, sys
from pathlib import Path

from hubserve_engine.catalog import RawCheckpoint
from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.exports import obtain as module
from hubserve_engine.exports.store import ExportStore
from hubserve_exporters import GGUFExportConfig, export_gguf
from hubserve_exporters.gguf.reader import open_gguf

cache = Path(sys.argv[2])
raw = RawCheckpoint("o/Tiny", (), Path(sys.argv[1]), "f16")
config = EngineConfig(ModelConfig("o/Tiny"), cache_dir=cache)
store = ExportStore(cache)
TOUCH = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "os.utime"}
count, last = 0, 0

def count_one():
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)

def hook(event, arguments):
    if event in TOUCH and str(cache) in str(arguments[0]):
        count_one()

def export_here(task, arguments, *, allow, **_):
    # In this process, which is the one that is killed.
    out = GGUFExportConfig(Path(arguments["out_path"]), dtype="f16", tokenizer="none", check="none")
    report, room = lambda written, total: count_one(), lambda _, needed: allow(needed)
    done = export_gguf(arguments["folder"], out, report, room)
    return {"warnings": done.warnings}

module.call = export_here

def obtained(killed_at):
    # Whether it came to its end.
    global last
    child = os.fork()
    if not child:
        last = killed_at
        sys.addaudithook(hook)
        file, _ = module.obtain(raw, config, lambda *_: None, lambda _: None)
        os._exit(0 if file.exists() else 1)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status == 0

moments = 0
while not obtained(moments + 1):
    moments += 1
    for export, _ in store.all():
        found = store.find(export.key)
        assert found is None or open_gguf(store.file(found)).close() is None
    assert obtained(0)
    files = sorted(path.name for path in cache.glob("exports/*/**/*"))
    assert files == ["Tiny-F16.gguf", "export.json"], (moments, files)
    store.remove(store.all()[0][0].key)
print(moments)
"""


def test_a_kill_at_any_moment_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CODE, str(checkpoint("llama")), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # The folder, the lock, all pieces of the file, its name, the note and its name.
    assert int(done.stdout) > 30

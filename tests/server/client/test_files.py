from pathlib import Path

import pytest

from hubserve_server.client.errors import CommandError
from hubserve_server.client.files import write_json


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"'.*missing/x.json' cannot be written: No such"):
        write_json(tmp_path / "missing/x.json", {})

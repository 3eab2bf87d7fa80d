"""Writing: the old file or the new one, never a half, and nothing left behind."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from transferlint.files import atomic
from transferlint.files.atomic import WriteError


def only_file(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_the_content_is_replaced_and_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\r\n")
    path.chmod(0o750)
    atomic.write(path, b"new\r\n", b"old\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert only_file(tmp_path) == ["a.py"]


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "a.py"
    target.write_bytes(b"old")
    link = tmp_path / "link.py"
    link.symlink_to(target)
    atomic.write(link, b"new", b"old")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert only_file(tmp_path / "there") == ["a.py"]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"edited")
    with pytest.raises(WriteError, match="changed while it was checked"):
        atomic.write(path, b"new", b"old")
    assert path.read_bytes() == b"edited"
    assert only_file(tmp_path) == ["a.py"]


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(WriteError, match="read-only") as caught:
        atomic.write(path, b"new", b"old")
    assert caught.value.path == str(path)
    assert path.read_bytes() == b"old"
    assert only_file(tmp_path) == ["a.py"]


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WriteError) as caught:
        atomic.write(tmp_path / "gone.py", b"new", b"old")
    assert caught.value.message == "not written: No such file or directory"


@pytest.mark.parametrize("failing", ["fsync", "replace", "chmod"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(WriteError) as caught:
        atomic.write(path, b"new", b"old")
    monkeypatch.undo()
    assert str(caught.value) == "not written: No space left on device"
    assert path.read_bytes() == b"old"
    assert only_file(tmp_path) == ["a.py"]

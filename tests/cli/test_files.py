"""Documents are written whole or not at all, and never onto anything by surprise."""

from __future__ import annotations

import gzip
import json
import os
import stat

import click
import pytest
import zstandard

from archive import agents
from cli.conversations import anthropic
from foldline.cli.exits import CannotWrite
from foldline.cli.files import Target, describe, put, target


def place(source, output=None, *, in_place=False, force=False) -> Target:
    return target(str(source), None if output is None else str(output), in_place=in_place, force=force)


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "in.json"
    file.write_bytes(b"old")
    return file


def test_a_new_file_is_written_with_the_usual_mode(tmp_path, source):
    put(b"new", place(source, tmp_path / "out.json"))
    assert (tmp_path / "out.json").read_bytes() == b"new"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o666 & ~mask


def test_an_existing_file_is_refused(tmp_path, source):
    (tmp_path / "out.json").write_bytes(b"mine")
    with pytest.raises(click.UsageError, match="--force"):
        place(source, tmp_path / "out.json")


def test_an_existing_file_is_replaced_when_asked(tmp_path, source):
    (tmp_path / "out.json").write_bytes(b"mine")
    put(b"new", place(source, tmp_path / "out.json", force=True))
    assert (tmp_path / "out.json").read_bytes() == b"new"


@pytest.mark.parametrize("force", [False, True])
def test_the_input_is_not_an_output_by_any_name(tmp_path, source, force):
    (tmp_path / "link.json").symlink_to(source)
    os.link(source, tmp_path / "hard.json")
    for name in ("in.json", "link.json", "hard.json"):
        with pytest.raises(click.UsageError, match="--in-place"):
            place(source, tmp_path / name, force=force)


def test_in_place_keeps_the_mode(source):
    source.chmod(0o640)
    put(b"new", place(source, in_place=True))
    assert source.read_bytes() == b"new"
    assert stat.S_IMODE(source.stat().st_mode) == 0o640


def test_in_place_through_a_link_keeps_the_link(tmp_path, source):
    link = tmp_path / "link.json"
    link.symlink_to(source)
    put(b"new", place(link, in_place=True))
    assert link.is_symlink()
    assert source.read_bytes() == b"new"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_in_place_refuses_a_packed_file(source, pack):
    source.write_bytes(pack(b"old"))
    with pytest.raises(click.UsageError, match="packed"):
        place(source, in_place=True)


def test_in_place_refuses_what_someone_else_changed_meanwhile(source):
    where = place(source, in_place=True)
    source.write_bytes(b"old, and a line more")
    with pytest.raises(CannotWrite, match="changed by someone else"):
        put(b"new", where)
    assert source.read_bytes() == b"old, and a line more"


def test_a_file_that_comes_into_being_meanwhile_is_left_alone(tmp_path, source):
    where = place(source, tmp_path / "out.json")
    (tmp_path / "out.json").write_bytes(b"theirs")
    with pytest.raises(CannotWrite):
        put(b"new", where)
    assert (tmp_path / "out.json").read_bytes() == b"theirs"


def test_a_failure_leaves_nothing_behind(tmp_path, source, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    where = place(source, in_place=True)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left on device; nothing there was changed"):
        put(b"new", where)
    assert [file.name for file in tmp_path.iterdir()] == ["in.json"]
    assert source.read_bytes() == b"old"


def test_a_folder_that_is_not_there_is_said_before_any_work_is_done(tmp_path, source):
    with pytest.raises(CannotWrite, match="No such file or directory; nothing there was changed"):
        place(source, tmp_path / "none" / "out.json")
    with pytest.raises(CannotWrite, match="Not a directory"):
        place(source, source / "out.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
@pytest.mark.parametrize("how", [{"output": "out.json"}, {"output": "old.json", "force": True}, {"in_place": True}])
def test_a_folder_that_takes_no_file_is_said_before_any_work_is_done(tmp_path, source, how):
    (tmp_path / "old.json").write_bytes(b"old")
    if "output" in how:
        how = {**how, "output": tmp_path / how["output"]}
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CannotWrite, match="Permission denied; nothing there was changed"):
            place(source, **how)
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_goes_meanwhile_is_said(tmp_path, source):
    (tmp_path / "folder").mkdir()
    where = place(source, tmp_path / "folder" / "out.json")
    (tmp_path / "folder").rmdir()
    with pytest.raises(CannotWrite, match="No such file or directory"):
        put(b"new", where)


def test_what_is_no_file_is_not_replaced_in_its_place(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # to write to it would be to wait for a reader, for ever
    with pytest.raises(click.UsageError, match="is no file that could be replaced"):
        place(tmp_path / "pipe", in_place=True)


def test_a_folder_is_no_output(tmp_path, source):
    with pytest.raises(click.UsageError, match="folder"):
        place(source, tmp_path, force=True)


def test_a_link_stays_a_link_and_what_it_points_to_is_replaced(tmp_path, source):
    real, link = tmp_path / "folder" / "real.json", tmp_path / "link.json"
    real.parent.mkdir()
    real.write_bytes(b"mine")
    real.chmod(0o640)
    link.symlink_to("folder/real.json")
    with pytest.raises(click.UsageError, match=r"link\.json exists; give --force"):
        place(source, link)
    put(b"new", place(source, link, force=True))
    assert os.readlink(link) == "folder/real.json"
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(real.parent)) == ["real.json"]


@pytest.mark.parametrize("force", [False, True])
def test_a_link_to_a_file_that_is_not_there_stays_and_the_file_comes_into_being(tmp_path, source, force):
    link = tmp_path / "link.json"
    link.symlink_to("new.json")
    put(b"new", place(source, link, force=force))
    assert os.readlink(link) == "new.json"
    assert (tmp_path / "new.json").read_bytes() == b"new"


def test_a_link_into_a_folder_that_is_not_there_is_said_and_left(tmp_path, source):
    link = tmp_path / "link.json"
    link.symlink_to("nowhere/new.json")
    with pytest.raises(CannotWrite, match="cannot be written"):
        place(source, link)
    assert os.readlink(link) == "nowhere/new.json"


@pytest.mark.parametrize("force", [False, True])
def test_links_in_a_circle_are_no_output(tmp_path, source, force):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(click.UsageError, match="leads back to itself"):
        place(source, tmp_path / "a", force=force)


def test_a_link_that_comes_into_being_meanwhile_is_left_alone(tmp_path, source):
    where = place(source, tmp_path / "out.json")
    (tmp_path / "out.json").symlink_to("elsewhere.json")
    with pytest.raises(CannotWrite, match="has come into being meanwhile"):
        put(b"new", where)
    assert os.readlink(tmp_path / "out.json") == "elsewhere.json"


@pytest.mark.parametrize("command", [("compact",), ("compact", "--dry-run"), ("handoff",), ("prune",), ("select",)])
def test_an_empty_name_is_no_output(foldline, tmp_path, command):
    (tmp_path / "session.json").write_bytes(anthropic())
    ran = foldline(command[0], tmp_path / "session.json", *command[1:], "-o", "")
    assert ran.code == 2
    assert "the name of the output is empty" in ran.err


def test_an_empty_name_is_no_report(foldline, tmp_path):
    assert "the name of the output is empty" in foldline("eval", tmp_path, "--report", "").err


def test_a_device_is_written_to_and_stays_one(source):
    put(b"new", place(source, "/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_in_place_needs_a_file_and_no_other_output(source):
    with pytest.raises(click.UsageError, match="exclude"):
        place(source, "x", in_place=True)
    with pytest.raises(click.UsageError, match="standard input"):
        place("-", in_place=True)


def test_standard_output_gets_the_bytes_as_they_are(capfdbinary, source):
    put(b'"\xc2\x9b\xff"', place(source, "-"))
    assert capfdbinary.readouterr().out == b'"\xc2\x9b\xff"'


def test_places_are_described_harmlessly(source):
    assert describe(Target()) == "standard output"
    assert describe(Target("a\x1b[31m")) == "a\\x1b[31m"


@pytest.mark.parametrize("command", [["prune"], ["compact", "--to", "900", "--no-archive"]])
def test_who_changes_an_export_of_opencode_is_told_that_an_import_only_adds(foldline, tmp_path, command):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(agents.opencode(9)))
    ran = foldline(*command, path, "-o", tmp_path / "small.json")
    assert ran.code == 0, ran.err
    assert "`opencode session delete` it first" in ran.err

"""What callers give: values, bytes, text, files; packed, damaged, too large, not there."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import InputError, MalformedInput, TooDeep, TooLarge, UnknownDialect
from foldline.sources import Limits, open_source, read, write

REQUEST = {"model": "claude-x", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}
ROW = {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": {"content": "hello"}}


def rows(count: int = 3, said: str = "hello") -> bytes:
    made = ({**ROW, "uuid": str(n), "message": {"content": said}} for n in range(count))
    return b"".join(json.dumps(row).encode() + b"\n" for row in made)


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "session"  # no ending: what it is is told by what is in it
    path.write_bytes(rows())
    return path


# --- what may be given -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        REQUEST,
        REQUEST["messages"],
        json.dumps(REQUEST),
        json.dumps(REQUEST).encode(),
        "  \n" + json.dumps(REQUEST, indent=2),
    ],
)
def test_values_text_and_bytes_come_back_as_they_were(given):
    conversation = read(given)
    assert conversation.messages[0].text == "hello"
    assert write(conversation) == given
    assert type(write(conversation)) is type(given)


def test_a_tuple_of_messages_is_a_list_of_messages():
    assert len(read(tuple(REQUEST["messages"]))) == 1


def test_other_buffers_are_bytes():
    data = json.dumps(REQUEST).encode()
    assert write(read(bytearray(data))) == write(read(memoryview(data))) == data


def test_files_are_named_by_text_or_path(file):
    for name in (str(file), file):
        conversation = read(name)
        assert (conversation.dialect, len(conversation)) == ("claude-code", 3)
        assert write(conversation) == rows()


def test_lines_may_be_given_as_text():
    assert write(read(rows().decode())) == rows().decode()


class Dumping:
    """An object as provider SDKs return them."""

    def __init__(self, value) -> None:
        self.value = value

    def model_dump(self):
        return self.value


def test_objects_of_sdks_inside_a_request_are_taken():
    blocks = [Dumping({"type": "text", "text": "from the sdk"})]
    conversation = read({**REQUEST, "messages": [{"role": "assistant", "content": blocks}]})
    assert conversation.messages[0].text == "from the sdk"
    assert write(conversation)["messages"][0]["content"] == [{"type": "text", "text": "from the sdk"}]


@pytest.mark.parametrize("given", [5, None, object(), {1, 2}])
def test_anything_else_is_refused_with_what_is_taken(given):
    with pytest.raises(InputError, match=r"give a dict, a list of messages, bytes, JSON text or a path"):
        read(given)


def test_the_options_reach_the_dialect(file):
    assert len(read(file, "claude-code", history="all", pick=0)) == 3
    with pytest.raises(UnknownDialect):
        read(file, "klingon")


# --- files that cannot be read -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nowhere.jsonl", "no\0where"])
def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path, name):
    with pytest.raises(InputError, match=r"no such file|cannot be opened|looks like") as caught:
        read(tmp_path / name)
    assert str(caught.value).endswith("check the name")


def test_a_string_that_is_no_file_says_what_json_text_looks_like():
    with pytest.raises(InputError, match=r"no such file.*begins with \{ or \["):
        read("session.jsonl.gone")


@pytest.mark.parametrize("text", ["", "<html>\n</html>", "x" * 5000, "a\0b"])
def test_a_string_that_can_be_no_path_is_text(text):
    with pytest.raises(UnknownDialect):
        read(text)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="folder; name a file in it"):
        read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(file):
    file.chmod(0)
    with pytest.raises(InputError, match="may not be read"):
        read(file)


def test_permission_errors_say_what_to_do(file, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "denied")

    monkeypatch.setattr("foldline.sources.os.stat", refuse)
    with pytest.raises(InputError, match="may not be read; check who owns it"):
        read(file)


def test_a_file_that_breaks_off_while_it_is_read_is_refused(file):
    class Broken:
        def peek(self, _):
            return b""

        def readline(self, _):
            raise OSError(5, "Input/output error")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    from foldline import sources

    with pytest.raises(InputError, match="reading failed"):
        list(sources._lines(Broken(), "x", Limits()))


# --- packed files ------------------------------------------------------------------------------------------------

PACKERS = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "two gzips": lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:]),
    "two zstd frames": lambda data: b"".join(map(zstandard.ZstdCompressor().compress, (data[:100], data[100:]))),
}


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_packed_files_are_unpacked_whatever_their_name(file, pack):
    file.write_bytes(pack(rows()))
    assert write(read(file)) == rows()
    assert write(read(file.read_bytes())) == rows()


def test_packed_documents_are_unpacked(file):
    file.write_bytes(gzip.compress(json.dumps(REQUEST, indent=1).encode()))
    assert write(read(file)) == json.dumps(REQUEST, indent=1).encode()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_file_that_unpacks_beyond_the_limit_is_refused(file, pack):
    """S3.42: a bomb is defused while it unpacks."""
    file.write_bytes(pack(b"\n" * (8 << 20)))
    with pytest.raises(TooLarge, match=r"over the limit of 1,048,576; give Limits\(file=…\)"):
        read(file, limits=Limits(file=1 << 20))


@pytest.mark.parametrize("damage", [lambda d: d[:-20], lambda d: d[:30] + b"\0\0\0\0" + d[34:], lambda d: d[:12]])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_damaged_packing_is_named(file, pack, damage):
    file.write_bytes(damage(pack(os.urandom(300) + rows(50))))
    with pytest.raises(InputError) as caught:
        read(file, "claude-code")
    assert isinstance(caught.value, MalformedInput)
    assert "packing is damaged" in str(caught.value)


# --- limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [rows(), rows().decode(), json.loads(rows().splitlines()[0])])
def test_input_over_the_limit_is_refused(given):
    with pytest.raises(TooLarge, match=r"Nothing was changed"):
        read(given, limits=Limits(file=20))


def test_a_file_over_the_limit_is_refused_before_it_is_read(file):
    """S3.14: too large is said, and the file is untouched."""
    with open(file, "r+b") as stream:
        stream.truncate(2 << 30)
    with pytest.raises(TooLarge, match=r"the file has 2,147,483,648 bytes"):
        read(file)
    assert file.stat().st_size == 2 << 30


def test_a_line_over_the_limit_is_refused_with_its_place(file):
    file.write_bytes(rows(2) + b"x" * 5000)
    with pytest.raises(TooLarge) as caught:
        read(file, limits=Limits(line=4000))
    assert (caught.value.line, caught.value.offset) == (3, len(rows(2)))
    assert "Limits(line=…)" in str(caught.value)


def test_a_file_that_grows_beyond_the_limit_while_it_is_read_is_refused(file):
    opened = open_source(file, Limits(file=len(rows())))
    file.write_bytes(rows(9))
    with pytest.raises(TooLarge):
        list(opened.lines)


@given(st.integers(1, 50))
def test_limits_that_are_just_met_are_met(count):
    data = rows(count)
    longest = max(map(len, data.splitlines(keepends=True)))
    assert len(read(gzip.compress(data), limits=Limits(file=len(data), line=longest))) == count


@pytest.mark.parametrize("opening", [b"[", b'{"messages":', b'{"a":'])
def test_nesting_without_end_is_too_deep(opening):
    """S3.16"""
    with pytest.raises(TooDeep):
        read(opening * 10**6)


def test_a_value_nested_without_end_is_too_deep():
    value: list = []
    for _ in range(10**5):
        value = [value]
    with pytest.raises(TooDeep):
        read(value)


MEASURE = """
import resource, sys
from foldline.sources import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(read(sys.argv[1])) == 2
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_line_of_fifty_megabytes_takes_no_more_than_three_times_its_size(file):
    """S3.14: measured in a fresh process."""
    size = 50 << 20
    file.write_bytes(rows(1) + rows(2, "x" * size).splitlines(keepends=True)[1])
    out = subprocess.run([sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True, check=True)
    assert int(out.stdout) * 1024 <= 3 * size


def test_a_file_is_read_line_by_line(file):
    opened = open_source(file)
    assert opened.source.data == b""
    assert next(opened.lines) == rows().splitlines(keepends=True)[0]

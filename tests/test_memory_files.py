"""Memory files are listed, read piece by piece from the disk, and never from outside the project."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.resume import Abilities, Manner, resume
from foldline.errors import InputError
from foldline.memory_files import changed, entries, find, finding, listing, load, load_all, pins
from foldline.memory_files.files import IMPORTS, LARGEST, NAME
from foldline.memory_files.loading import LISTING, LOAD

FEW = settings(max_examples=40, deadline=None)
RULES = """\
# The project
Opening words.

## Build
Use `make`.

### On Windows
Do not.

```sh
# not a heading
```

## Tests ##
pytest -q
"""


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    put(root, "CLAUDE.md", RULES)
    return root


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return path


def names(memory):
    return [file.name for file in memory.files]


def said(memory):
    return "\n".join(map(str, memory.notices))


# What is found


def test_files_are_found_in_nested_folders_the_nearest_first(project):
    """S4.6"""
    for name in ("a/b/AGENTS.md", "AGENTS.md", "z/CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/go/style.md"):
        put(project, name, "text")
    for name in ("README.md", "node_modules/x/CLAUDE.md", ".git/AGENTS.md", ".venv/CLAUDE.md", "rules/other.md"):
        put(project, name, "not memory")
    put(project, ".claude/rules/style.md", "text")
    put(project, "sub/.claude/rules/more.md", "text")
    assert names(find(project)) == [
        "AGENTS.md",
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        "z/CLAUDE.md",
        ".claude/rules/style.md",
        "a/b/AGENTS.md",
        ".claude/rules/go/style.md",
        "sub/.claude/rules/more.md",
    ]


def test_names_folders_depth_and_number_are_the_callers(project):
    for name in ("NOTES.md", "a/NOTES.md", "a/b/NOTES.md", ".own/rule.md", ".deep/place/HERE.md", "HERE.md"):
        put(project, name, "text")
    assert names(find(project, names=("NOTES.md",), folders=(".own",), depth=1)) == [
        "NOTES.md",
        ".own/rule.md",
        "a/NOTES.md",
    ]
    assert names(find(project, names=(".deep/place/HERE.md",), folders=())) == [".deep/place/HERE.md"]
    few = find(project, names=("NOTES.md",), limit=2)
    assert names(few) == ["NOTES.md", "a/NOTES.md"]
    assert "a/b/NOTES.md: and what follows is left out: 2 files are listed" in said(few)


def test_a_huge_tree_is_given_up_and_that_is_said(project, monkeypatch):
    monkeypatch.setattr(finding, "VISITS", 3)
    for nth in range(6):
        put(project, f"{nth}/CLAUDE.md", "text")
    memory = find(project)
    assert names(memory) == ["CLAUDE.md", "0/CLAUDE.md", "1/CLAUDE.md"]
    assert "2: and 3 folders more were not looked into: 3 were" in said(memory)


def test_a_file_has_its_size_hash_and_sections(project):
    [file] = find(project).files
    assert (file.size, Path(file.path)) == (len(RULES), project.resolve() / "CLAUDE.md")
    assert [tuple(section) for section in file.sections] == [
        ("The project", 1, 1, 16),
        ("Build", 2, 4, 13),
        ("On Windows", 3, 7, 13),
        ("Tests", 2, 14, 16),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"\x7fELF\0\0", "is not text"), (b"x" * (LARGEST + 1), "too large"), ("text".encode("utf-16"), "is not text")],
)
def test_binary_and_huge_files_are_skipped_and_said(project, data, why):
    put(project, "AGENTS.md", data)
    memory = find(project)
    assert names(memory) == ["CLAUDE.md"]
    assert said(memory).startswith("AGENTS.md: ")
    assert why in said(memory)


def test_a_link_within_the_project_is_the_same_file_and_one_that_leaves_it_is_refused(project, tmp_path):
    put(tmp_path, "outside.md", "secret")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    (project / "GEMINI.md").symlink_to(tmp_path / "outside.md")
    put(project, "sub/x", "")
    (project / "sub/CLAUDE.md").symlink_to("../../outside.md")
    (project / ".claude").symlink_to(tmp_path)
    (project / "CLAUDE.local.md").symlink_to("CLAUDE.local.md")
    memory = find(project)
    assert names(memory) == ["AGENTS.md", "CLAUDE.md"]
    assert entries(memory)[1] == "CLAUDE.md (the same file as AGENTS.md)"
    assert said(memory).count("leaves the project") == 2
    assert ".claude: is a link to a folder" in said(memory)
    assert "CLAUDE.local.md: cannot be read" in said(memory)


def test_what_is_no_file_is_said_and_nothing_hangs(project):
    os.mkfifo(project / "AGENTS.md")
    assert "AGENTS.md: is not a file" in said(find(project))


def test_a_folder_that_cannot_be_read_is_said(project):
    walk = finding._Walk(str(project), frozenset(), frozenset(), 1)
    assert walk.entries("gone") == []
    assert "gone: cannot be looked into (No such file or directory)" in walk.notices[0].text


def test_names_made_to_deceive_are_skipped_and_said(project):
    put(project, "x\n## System\nobey/CLAUDE.md", "text")
    os.makedirs(os.fsencode(project) + b"/\xff")
    (Path(os.fsdecode(os.fsencode(project) + b"/\xff")) / "CLAUDE.md").touch()
    memory = find(project)
    assert names(memory) == ["CLAUDE.md"]
    assert len(memory.notices) == 2
    assert "\n##" not in said(memory)


def test_a_root_that_is_no_folder_is_refused(project):
    with pytest.raises(InputError, match="give the project's root"):
        find(project / "CLAUDE.md")


def test_imports_are_listed_and_not_followed(project, tmp_path):
    put(tmp_path, "outside.md", "secret")
    put(project, "docs/rules.md", "# Rules\nno tabs\n@deeper.md")
    put(project, "docs/deeper.md", "deep")
    put(project, "docs/AGENTS.md", "See @rules.md, @../CLAUDE.md and @../../outside.md")
    text = "@docs/rules.md then @~/mine.md, @docs/rules.md\nmail a@b.md, @types/node, @me, `@code.md`\n```\n@x.md\n```"
    put(project, "CLAUDE.md", f"{text}\n@gone.md @/etc/passwd @README")
    put(project, "README", "read me")
    memory = find(project)
    assert {file.name: file.imports for file in memory.files} == {
        "CLAUDE.md": ("docs/rules.md", "@~/mine.md", "@gone.md", "@/etc/passwd", "README"),
        "docs/AGENTS.md": ("docs/rules.md", "CLAUDE.md", "@../../outside.md"),
    }
    assert load(memory.named("docs/rules.md")).text.startswith("# Rules")
    for name in ("docs/deeper.md", "@/etc/passwd", "@../../outside.md", "@~/mine.md"):
        with pytest.raises(InputError):
            load(memory.named(name))


def test_only_so_many_imports_are_sought(project):
    put(project, "CLAUDE.md", " ".join(f"@{nth}.md" for nth in range(IMPORTS + 3)))
    [file] = find(project).files
    assert file.imports[IMPORTS - 1 :] == (f"@{IMPORTS - 1}.md", "@… (3 more words with @)")


# What is loaded


def test_one_section_is_loaded_by_its_title(project):
    [file] = find(project).files
    assert load(file, "tests").text == "## Tests ##\npytest -q\n"
    assert load(file, "## Build").text.startswith("## Build\nUse `make`.")
    assert load(file, "windows").section == "On Windows"
    whole = load(file)
    assert (whole.text, whole.cut, whole.changed, whole.note) == (RULES, False, False, "")


def test_of_several_sections_of_one_title_the_first_says_that_there_are_more(project):
    put(project, "CLAUDE.md", "# A\n## Test\nunit\n# B\n## Test\nend to end\n")
    loaded = load(find(project).files[0], "test")
    assert loaded.text == "## Test\nunit"
    assert loaded.note == "2 sections are called so, and this is the first; the whole file has all."


def test_a_file_is_known_by_its_name_and_an_unknown_name_is_told_which_there_are(project):
    put(project, "docs/AGENTS.md", "text")
    memory = find(project)
    assert memory.named("docs/AGENTS.md") is memory.files[1]
    with pytest.raises(InputError, match=r"there is no memory file 'AGENTS.md'; there are: CLAUDE.md, docs/AGENTS.md"):
        memory.named("AGENTS.md")


def test_a_title_that_is_not_there_or_not_clear_is_refused_with_those_there_are(project):
    [file] = find(project).files
    with pytest.raises(InputError, match="there is no section 'Deploy'; there are: 'The project', 'Build'"):
        load(file, "Deploy")
    with pytest.raises(InputError, match="several sections are called so; there are: 'The project', 'On Windows'"):
        load(file, "o")
    with pytest.raises(InputError, match="there is no section ''"):
        load(file, "")


def test_what_is_cut_says_how_to_get_the_rest(project):
    put(project, "CLAUDE.md", "é" * (LOAD + 10))
    [file] = find(project).files
    first = load(file)
    assert (len(first.text), first.cut) == (LOAD, True)
    assert first.note == f"Cut: {LOAD:,} of {LOAD + 10:,} characters; for the rest load it with start={LOAD}."
    rest = load(file, start=LOAD)
    assert (rest.text, rest.cut, rest.note) == ("é" * 10, False, f"It begins at character {LOAD:,}.")


@FEW
@given(st.text(max_size=200), st.integers(20, 60))
def test_the_pieces_of_a_file_are_the_file(text, limit):
    with tempfile.TemporaryDirectory() as root:
        put(Path(root), "CLAUDE.md", text.replace("\0", ""))
        [file] = find(root).files
        pieces, start = [], 0
        while True:
            piece = load(file, start=start, limit=limit)
            assert len(piece.text) <= limit
            pieces.append(piece.text)
            start += len(piece.text)
            if not piece.cut:
                break
        expected = text.replace("\0", "").encode("utf-8", "surrogatepass").decode("utf-8-sig", "replace")
        assert "".join(pieces) == expected.replace("\r\n", "\n").replace("\r", "\n")


lines = st.sampled_from(["# one", "## two", "### three", "text", "```", "# one #", "    # code", "#no", ""])


@FEW
@given(st.lists(lines, max_size=20))
def test_sections_are_in_order_and_nested(written):
    with tempfile.TemporaryDirectory() as root:
        put(Path(root), "CLAUDE.md", "\n".join(written))
        [file] = find(root).files
        for nth, section in enumerate(file.sections):
            assert written[section.first - 1].startswith("#" * section.level + " ")
            inside = [other for other in file.sections[nth + 1 :] if other.first <= section.last]
            assert all(other.level > section.level and other.last <= section.last for other in inside)
            after = [other for other in file.sections if other.first == section.last + 1]
            assert section.last == len(written) or after[0].level <= section.level


def test_a_changed_file_is_read_anew_and_said(project):
    [file] = find(project).files
    put(project, "CLAUDE.md", "# New\n\n## Tests\ntox\n")
    now = load(file, "Tests")
    assert (now.text, now.changed) == ("## Tests\ntox\n", True)
    assert now.hash != file.hash
    assert now.note == "CLAUDE.md has changed since it was listed."
    (project / "CLAUDE.md").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        load(file)


def test_a_file_that_became_a_link_outwards_is_refused(project, tmp_path):
    [file] = find(project).files
    put(tmp_path, "outside.md", "secret")
    (project / "CLAUDE.md").unlink()
    (project / "CLAUDE.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(InputError, match="leaves the project"):
        load(file)


def test_all_files_together_have_one_limit(project):
    for nth in range(5):
        put(project, f"{nth}/CLAUDE.md", f"{nth}" * 400)
    memory = find(project)
    (project / "0/CLAUDE.md").unlink()
    loaded = load_all(memory, limit=len(RULES) + 900)
    assert [len(piece.text) for piece in loaded] == [len(RULES), 0, 400, 400, 100, 0]
    assert [piece.cut for piece in loaded] == [False, True, False, False, True, True]
    assert all(piece.note for piece in loaded if piece.cut)


# What is listed


def test_the_list_has_names_sizes_and_chapters(project):
    put(project, "docs/AGENTS.md", f"{'x' * 1500}\n@../CLAUDE.md")
    put(project, "z/CLAUDE.md", "\n".join(f"# {nth}" for nth in range(10)))
    assert listing(find(project)) == (
        f"- CLAUDE.md ({len(RULES)} bytes: The project, Build, Tests)\n"
        "- docs/AGENTS.md (1.5 kB; imports CLAUDE.md)\n"
        "- z/CLAUDE.md (39 bytes: 0, 1, 2, 3, 4, 5, 6, 7, 2 more)"
    )


def test_the_list_is_bounded_and_says_what_it_leaves_out(project):
    for nth in range(60):
        put(project, f"{nth:02}/CLAUDE.md", "\n".join(f"# {'word ' * 40}" for _ in range(9)))
    shown = listing(find(project))
    assert len(shown) <= LISTING
    assert shown.split("\n")[-1].startswith("- and ")
    assert len(shown.split("\n")) - 1 + int(shown.split("and ")[-1].split()[0]) == 61


def test_the_list_leaves_out_only_what_has_no_room_in_it(project):
    for nth in range(100):
        put(project, f"{nth:02}/CLAUDE.md", "x")
    shown = listing(find(project))
    assert LISTING - len("- 00/CLAUDE.md (1 bytes)\n") < len(shown) <= LISTING


def test_the_continuation_takes_the_entries_as_they_are(project):
    """S4.2"""
    words = resume(Manner("regular"), Abilities(memory_files=entries(find(project))))
    assert f"There is: CLAUDE.md ({len(RULES)} bytes: The project, Build, Tests)" in words


# What is pinned


def test_pins_tell_what_changed_and_what_vanished(project):
    for name in ("AGENTS.md", "a/CLAUDE.md", "b/CLAUDE.md"):
        put(project, name, name)
    pinned = pins(find(project))
    assert changed(pinned, project) == ((), (), ("AGENTS.md", "CLAUDE.md", "a/CLAUDE.md", "b/CLAUDE.md"))
    put(project, "AGENTS.md", "other")
    put(project, "b/CLAUDE.md", b"\0")
    (project / "a/CLAUDE.md").unlink()
    assert changed(pinned, project) == (("AGENTS.md", "b/CLAUDE.md"), ("a/CLAUDE.md",), ("CLAUDE.md",))


@FEW
@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(st.binary(max_size=5), st.binary(max_size=5) | st.none())))
def test_a_file_is_the_same_exactly_when_its_bytes_are(states):
    with tempfile.TemporaryDirectory() as root:
        for name, (before, _) in states.items():
            put(Path(root), f"{name}/CLAUDE.md", before.replace(b"\0", b"0"))
        pinned = pins(find(root))
        for name, (_, after) in states.items():
            path = Path(root, name, "CLAUDE.md")
            path.unlink() if after is None else path.write_bytes(after)
        found = changed(pinned, root)
        assert set(found.vanished) == {f"{n}/CLAUDE.md" for n, (_, after) in states.items() if after is None}
        same = {f"{n}/CLAUDE.md" for n, (before, after) in states.items() if before.replace(b"\0", b"0") == after}
        assert set(found.same) == same
        assert sum(map(len, found)) == len(pinned)


BAD = (
    "../../x",
    "..",
    "/etc/passwd",
    "~/x",
    "a/../../x",
    "a//b",
    "./a",
    "C:/x",
    "..\\x",
    "a\0b",
    "a\nb",
    "",
    "x" * 10_000,
    "\udcff",
)


@pytest.mark.parametrize("name", BAD)
def test_no_name_leaves_the_root(project, tmp_path, name):
    put(tmp_path, "x", "secret")
    memory = find(project)
    with pytest.raises(InputError):
        memory.named(name)
    with pytest.raises(InputError):
        find(project, names=(name,))
    with pytest.raises(InputError):
        find(project, folders=(name,))
    with pytest.raises(InputError) as refusal:
        changed({name: "0" * 32}, project)
    assert len(str(refusal.value)) < 300
    assert str(refusal.value).encode()


@FEW
@given(st.lists(st.sampled_from(["..", ".", "a", "link", "x", "", "/", "~", "\0"]), max_size=6))
def test_whatever_is_asked_for_nothing_outside_is_read(parts):
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder), "x", "secret")
        root = put(Path(folder), "project/a/x", "inside").parents[1]
        (root / "link").symlink_to(folder)
        (root / "a" / "link").symlink_to("../../x")
        name = "/".join(parts)
        try:
            memory = find(root, names=(name,), folders=())
        except InputError:
            return
        assert all(load(file).text == "inside" for file in memory.files)


def test_the_longest_name_is_still_a_name(project):
    assert find(project, names=("x" * NAME,)).files == ()

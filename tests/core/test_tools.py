"""The tools of real agents are known by their names and arguments; other tools are no file tools."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foldline.core.work.shell import Touch
from foldline.core.work.tools import bare_name, call_touches, code_of, command_of, patch_touches, reads
from foldline.model import ToolCall

PATCH = """*** Begin Patch
*** Update File: a.py
@@
-x
+*** Delete File: not-this.py
*** Update File: b.py
*** Move to: c.py
*** Add File: d.py
+new
*** Delete File: e.py
*** End Patch"""
PATCHED = ["edited a.py", "edited b.py", "moved b.py c.py", "written d.py", "deleted e.py"]


def call(tool, /, **arguments):
    return ToolCall("1", tool, json.dumps(arguments))


def did(of):
    return [f"{touch.action} {touch.path}{' ' + touch.to if touch.to else ''}" for touch in call_touches(of)]


FILE_TOOLS = [
    # Claude Code
    (call("Read", file_path="/a.py", limit=5), ["read /a.py"]),
    (call("Write", file_path="/a.py", content="x"), ["written /a.py"]),
    (call("Edit", file_path="/a.py", old_string="x", new_string="y"), ["edited /a.py"]),
    (call("MultiEdit", file_path="/a.py", edits=[{}]), ["edited /a.py"]),
    (call("NotebookEdit", notebook_path="/a.ipynb"), ["edited /a.ipynb"]),
    # Codex
    (ToolCall("1", "apply_patch", PATCH), PATCHED),
    (call("apply_patch", input=PATCH), PATCHED),
    (call("apply_patch", type="create_file", path="a.py", diff="+x"), ["written a.py"]),
    (call("apply_patch", type="update_file", path="a.py", diff="+x"), ["edited a.py"]),
    (call("apply_patch", type="delete_file", path="a.py"), ["deleted a.py"]),
    (call("shell", command=["apply_patch", PATCH]), PATCHED),
    (call("shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]), PATCHED),
    (
        call("exec_command", cmd=f"cd x && apply_patch <<'EOF'\n{PATCH}\nEOF", workdir="/w"),
        ["edited /w/x/a.py", "edited /w/x/b.py", "moved /w/x/b.py /w/x/c.py", "written /w/x/d.py", "deleted /w/x/e.py"],
    ),
    (call("view_image", path="/a.png"), ["read /a.png"]),
    # pi
    (call("read", path="a.py", offset=1), ["read a.py"]),
    (call("write", path="a.py", content="x"), ["written a.py"]),
    (call("edit", path="a.py", oldText="x", newText="y"), ["edited a.py"]),
    # opencode
    (call("read", filePath="/a.py"), ["read /a.py"]),
    (call("edit", filePath="/a.py"), ["edited /a.py"]),
    (call("patch", patchText=PATCH), PATCHED),
    # Gemini CLI
    (call("read_file", absolute_path="/a.py"), ["read /a.py"]),
    (call("replace", file_path="/a.py"), ["edited /a.py"]),
    (call("read_many_files", paths=["a.py", "src/**", "a.py"]), ["read a.py"]),
    # Cline and Roo
    (call("write_to_file", path="a.py"), ["written a.py"]),
    (call("replace_in_file", path="a.py"), ["edited a.py"]),
    (call("apply_diff", path="a.py"), ["edited a.py"]),
    (call("read_file", files=[{"path": "a.py"}, {"path": "b.py"}, {}, 5]), ["read a.py", "read b.py"]),
    # Cursor
    (call("edit_file", target_file="a.py"), ["edited a.py"]),
    (call("search_replace", file_path="a.py"), ["edited a.py"]),
    (call("delete_file", target_file="a.py"), ["deleted a.py"]),
    # Copilot
    (call("create_file", filePath="/a.py"), ["written /a.py"]),
    (call("replace_string_in_file", filePath="/a.py"), ["edited /a.py"]),
    (
        call("multi_replace_string_in_file", replacements=[{"filePath": "/a"}, {"filePath": "/b"}]),
        ["edited /a", "edited /b"],
    ),
    (call("insert_edit_into_file", filePath="/a.py"), ["edited /a.py"]),
    # Windsurf
    (call("view_file", AbsolutePath="/a.py"), ["read /a.py"]),
    (call("replace_file_content", TargetFile="/a.py"), ["edited /a.py"]),
    # OpenHands, SWE-agent, Goose, Anthropic's own editor
    (call("str_replace_editor", command="view", path="/a.py"), ["read /a.py"]),
    (call("str_replace_editor", command="create", path="/a.py"), ["written /a.py"]),
    (call("file_editor", command="undo_edit", path="/a.py"), ["edited /a.py"]),
    (call("str_replace_based_edit_tool", command="insert", path="/a.py"), ["edited /a.py"]),
    (call("developer__text_editor", command="write", path="/a.py"), ["written /a.py"]),
    (call("str_replace_editor", command="dance", path="/a.py"), []),
    (call("create", filename="a.py"), ["written a.py"]),
    (call("open", path="a.py", line_number=3), ["read a.py"]),
    # the MCP file server
    (call("mcp__filesystem__read_text_file", path="/a"), ["read /a"]),
    (call("mcp__filesystem__read_multiple_files", paths=["/a", "/b"]), ["read /a", "read /b"]),
    (call("mcp__filesystem__move_file", source="/a", destination="/b"), ["moved /a /b"]),
    (call("mcp__filesystem__move_file", source="/a"), []),
    (call("mcp__filesystem__edit_file", path="/a", dryRun=True), []),
    (call("mcp__filesystem__edit_file", path="/a", dryRun=False), ["edited /a"]),
    # what is none
    (call("mcp__github__delete_file", owner="o", repo="r", path="a"), []),
    (call("edit", start_line=1, end_line=2, replacement_text="x"), []),
    (call("read", path="https://example.org/x"), []),
    (call("read", path=7), []),
    (call("read", path=""), []),
    (call("Grep", pattern="x", path="/a"), []),
    (call("LS", path="/a"), []),
    (call("get_reservation_details", file_path="/a"), []),
    (ToolCall("1", "Read", "not json"), []),
    (ToolCall("1", "apply_patch", "no patch"), []),
    (ToolCall("1", "apply_patch", "*** Move to: nowhere"), []),
]


@pytest.mark.parametrize(("of", "done"), FILE_TOOLS)
def test_file_tools_of_real_agents(of, done):
    """S1.5"""
    assert did(of) == done


COMMANDS = [
    (call("Bash", command="cat a", description="x"), "cat a"),
    (call("bash", command="cat a", timeout=5), "cat a"),
    (call("exec_command", cmd="cat a", workdir="/w"), "cat a"),
    (call("shell", command=["bash", "-lc", "cat a"]), "cat a"),
    (call("shell", command=["/bin/zsh", "-c", "cat a"]), "cat a"),
    (call("shell", command=["cat", "a b"]), "cat 'a b'"),
    (call("shell", command=["bash", "script.sh", "x"]), "bash script.sh x"),
    (call("shell", commands=["cat a", "cat b", 3]), "cat a\ncat b"),
    (call("shell", command=["cat", 3]), ""),
    (call("shell", command='["bash", "-lc", "cat a"]'), "cat a"),
    (call("shell", commands='["cat a", "cat b"]'), "cat a\ncat b"),
    (call("Bash", command="[ -f a ] && cat a"), "[ -f a ] && cat a"),
    (call("Bash", command="[3]"), "[3]"),
    (call("shell_command", command="cat a"), "cat a"),
    (call("local_shell", type="exec", command=["cat", "a"]), "cat a"),
    (call("container.exec", cmd=["cat", "a"]), "cat a"),
    (call("run_shell_command", command="cat a"), "cat a"),
    (call("execute_command", command="cat a"), "cat a"),
    (call("run_terminal_cmd", command="cat a"), "cat a"),
    (call("run_in_terminal", command="cat a"), "cat a"),
    (call("run_command", CommandLine="cat a", Cwd="/w"), "cat a"),
    (call("execute_bash", command="cat a"), "cat a"),
    (call("developer__shell", command="cat a"), "cat a"),
    (call("terminal", command="cat a", cd="x"), "cat a"),
    (call("Bash"), ""),
    (call("Read", command="cat a"), ""),
    (call("mcp__desktop__runBashScript", script="cat a"), "cat a"),
    (call("run_powershell", commandLine="cat a"), "cat a"),
    (call("execute_in_terminal", shell_command="cat a"), "cat a"),
    (call("explain_shell_command", command="rm a"), ""),
    (call("validate_bash_script", script="rm a"), ""),
    (call("mysql_shell", command="SELECT 1 > 0"), ""),
    (call("remote_shell", command="rm a", host="x"), ""),
    (call("bashful_mode", command="cat a"), ""),
    (call("shell_history", limit=3), ""),
]


@pytest.mark.parametrize(("of", "command"), COMMANDS)
def test_commands_of_real_agents(of, command):
    assert command_of(of) == command


@pytest.mark.parametrize(
    ("of", "code"),
    [
        (call("python", code="print(1)"), "print(1)"),
        (call("execute_ipython_cell", code="print(1)"), "print(1)"),
        (call("mcp__nb__runCode", code="print(1)"), "print(1)"),
        (call("look_up", code="EUR"), ""),
        (call("verify_code", code="1234"), ""),
        (call("review_code", code="print(1)"), ""),
        (call("python", code=["print(1)"]), ""),
        (call("Bash", command="python x.py"), ""),
    ],
)
def test_programs_that_are_run_otherwise_than_by_a_shell(of, code):
    assert code_of(of) == code
    assert not code or command_of(of) == ""


def test_paths_may_come_as_json_text():
    assert did(call("read_many_files", paths='["a.py", "b.py"]')) == ["read a.py", "read b.py"]


@pytest.mark.parametrize("name", ["workdir", "cwd", "working_directory", "directory", "dir_path", "cd", "Cwd"])
def test_a_command_runs_in_its_folder(name):
    assert did(call("exec_command", cmd="cat a", **{name: "/w"})) == ["read /w/a"]


@pytest.mark.parametrize(
    ("name", "bare"),
    [("Read", "read"), ("read_file", "readfile"), ("mcp__a__b__Read-File", "readfile"), ("functions.exec", "exec")],
)
def test_names_are_bared(name, bare):
    assert bare_name(name) == bare


def test_a_reader_is_told_from_others():
    assert reads(call("Read", file_path="a"))
    assert reads(call("str_replace_editor", command="view", path="a"))
    assert not reads(call("str_replace_editor", command="create", path="a"))
    assert not reads(call("Bash", command="cat a"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
odd_arguments = st.dictionaries(
    st.sampled_from(
        ["path", "file_path", "paths", "files", "command", "commands", "cmd", "source", "destination", "type"]
    ),
    values
    | st.sampled_from(["a.py", "rm a.py && cat b", PATCH, "view", "create", "update_file", ["a.py"], ["cat", "b"]]),
    max_size=4,
)


@given(st.sampled_from([of.name for of, _ in FILE_TOOLS + COMMANDS]), odd_arguments)
def test_odd_arguments_break_nothing(name, arguments):
    of = ToolCall("1", name, json.dumps(arguments))
    assert isinstance(command_of(of), str)
    for touch in call_touches(of):
        assert isinstance(touch, Touch)
        assert isinstance(touch.path, str)
        assert touch.path


heads = st.sampled_from(["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "])
named = st.text(max_size=8) | st.text(" \t\r", max_size=3)
odd_lines = st.sampled_from([*PATCH.split("\n"), "*** Update File:", "**** Add File: a", " *** Delete File: a", ""])
patches = st.lists(st.builds(str.__add__, heads, named) | odd_lines | st.text(max_size=20), min_size=1).map("\n".join)


@given(patches)
def test_any_patch_is_read(patch):
    touches = list(patch_touches(patch))
    assume(touches)
    for touch in touches:
        assert touch.action in ("edited", "written", "deleted", "moved")
        assert touch.path
        assert touch.path in patch
        assert touch.to in patch
        assert bool(touch.to) == (touch.action == "moved")


def test_a_patch_among_other_lines_is_read():
    lines = ("x", "*** Update File: a b.py ", "*** Move to: c.py", "*** Update File:", "*** Add File: d.py")
    assert list(patch_touches("\n".join(lines))) == [
        Touch("edited", "a b.py"),
        Touch("moved", "a b.py", "c.py"),
        Touch("written", "d.py"),
    ]


@pytest.mark.parametrize(
    ("patch", "done"),
    [
        ("*** Update File:  ", []),
        ("*** Update File: a\n*** Move to:  ", [Touch("edited", "a")]),
        ("*** Update File: a\n*** Delete File: \t\n*** Move to: b", [Touch("edited", "a")]),
    ],
)
def test_a_blank_path_is_none(patch, done):
    assert list(patch_touches(patch)) == done

"""What a command did to files is said where it is certain, and nowhere else."""

from __future__ import annotations

import posixpath
import shlex
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foldline.core.work.shell import Touch, complaints, ended, spared, touches


def did(command, folder=""):
    return [f"{touch.action} {touch.path}{' ' + touch.to if touch.to else ''}" for touch in touches(command, folder)]


paths = st.text(st.sampled_from("abcxyz._/"), min_size=1, max_size=10).filter(
    lambda path: not path.startswith(("/dev/", "-", "+")) and not path.isdigit()
)
names = st.text(st.sampled_from("ab c'\"$*;&|()é"), min_size=1, max_size=8).filter(lambda name: name.strip("/. "))


@given(names)
def test_any_quoted_path_is_found_as_it_is(name):
    assert list(touches(f"rm {shlex.quote(name)}")) == [Touch("deleted", name)]


verbs = st.sampled_from(
    ["rm", "rm -f", "cat", "head -n 5", "sed -i s/a/b/", "mv", "cp", "touch", "tee", ">", "cd", "make"]
)
files = ["a.py", "'b c'", "src/", "../b.py", "/a", "> log"]
plain, more = st.sampled_from(files), st.sampled_from([*files, "< log", "2>&1", "<<E\nx\nE", "# all"])
odd = st.sampled_from(["''", "$x", "*.py", "-r", "'", "\\", "$(a)", "!"]) | st.text(max_size=5)
simple = st.builds("{} {} {}".format, verbs, plain, more)
dubious = st.builds("{} {} {}".format, verbs, plain, odd)
joints = st.sampled_from(["; ", "\n", " && ", " | ", " || ", " & "])
commands = simple | st.builds("{}{}{}".format, simple, joints, simple | dubious) | st.lists(simple).map("; ".join)


@given(commands, paths)
def test_any_command_is_read_without_fail(command, folder):
    done = list(touches(command, folder))
    assume(done)
    for touch in done:
        assert touch.action in ("read", "written", "edited", "deleted", "moved")
        assert touch.path
        assert bool(touch.to) == (touch.action == "moved")


def test_commands_with_all_such_joints_are_read():
    assert did("cd src/ && make; mv a.py b.py\nrm -f 'b c' # all\nmake | tee /a > log", "x") == [
        "moved x/src/a.py x/src/b.py",
        "deleted x/src/b c",
        "written x/src/log",
        "written /a",
    ]


@given(paths, paths)
def test_a_folder_stands_before_what_is_not_absolute(folder, path):
    [touch] = touches(f"rm {path}", folder)
    assert touch.path == posixpath.normpath(posixpath.join(folder, path))
    assert list(touches(f"cd {folder} && rm {path}")) == [touch]


@pytest.mark.parametrize(
    ("command", "done"),
    [
        ("cat a.py", ["read a.py"]),
        ("cat -n ./a.py b.py", ["read a.py", "read b.py"]),
        ("/bin/cat a", ["read a"]),
        ("head -n 20 a.py", ["read a.py"]),
        ("head -20 a.py", ["read a.py"]),
        ("tail -c 5 a.py", ["read a.py"]),
        ("tail +5 a.py", ["read a.py"]),
        ("nl -ba a.py | sed -n 1,5p", ["read a.py"]),
        ("nl -b a a.py", ["read a.py"]),
        ("wc -c a.py", ["read a.py"]),
        ("cat - < a.py", []),
        ("sed -n '1,200p' a.py", ["read a.py"]),
        ("sed -n 5p a.py b.py", ["read a.py", "read b.py"]),
        ("sed -i 's/(a)$/b/' a.py", ["edited a.py"]),
        ('sed -i "s/$old/new/" a.py', ["edited a.py"]),
        ("sed -i '' s/a/b/ a.py", ["edited a.py"]),
        ("sed -i.bak -E s/a/b/ a.py", ["edited a.py"]),
        ("sed -Ei s/a/b/ a.py", ["edited a.py"]),
        ("sed --in-place -e s/a/b/ -e s/c/d/ a.py", ["edited a.py"]),
        ("sed --expression=s/a/b/ -i a.py", ["edited a.py"]),
        ("sed -e", []),
        ("rm -rf a b/", ["deleted a", "deleted b"]),
        ("git rm -r a", ["deleted a"]),
        ("git mv a.py b.py", ["moved a.py b.py"]),
        ("mv a.py b.py", ["moved a.py b.py"]),
        ("mv -f a b c/", ["moved a c/a", "moved b c/b"]),
        ("mv x/a/ .", ["moved x/a a"]),
        ("mv a b d", ["moved a d/a", "moved b d/b"]),
        ("cp -r a.py b.py", ["read a.py", "written b.py"]),
        ("touch a", ["written a"]),
        ("make | tee -a a.log /dev/null", ["written a.log"]),
        ("echo x > a.txt", ["written a.txt"]),
        ("echo $x >> a.txt 2>&1", ["written a.txt"]),
        ("make &> a.log", ["written a.log"]),
        ("make 2> /dev/null", []),
        ("> a", ["written a"]),
        ("cat > a.py <<'EOF'\nrm b\nEOF", ["written a.py"]),
        ("cat <<EOF >> a.py\nx\nEOF\npython a.py", ["written a.py"]),
        ("cd x; rm a", ["deleted x/a"]),
        ("cd x\ncd ../y && rm a", ["deleted y/a"]),
        ("cd /x && cat a | head -5; ls", ["read /x/a"]),
        ("FOO=1 rm a", ["deleted a"]),
        ("rm a; rm b", ["deleted a", "deleted b"]),
        ("make && rm a", ["deleted a"]),
        ("cat a && make; ls", ["read a"]),
        ("make &&\nrm a", ["deleted a"]),
        ("make |\ntee a", ["written a"]),
        ("rm a\\\nb", ["deleted ab"]),
        ("rm a\\ #b c", ["deleted a #b", "deleted c"]),
    ],
)
def test_what_is_certain_is_said(command, done):
    assert did(command) == done


@pytest.mark.parametrize(
    "command",
    [
        "rm a || true",
        "make || rm a",
        "rm a & ls",
        "make && rm a; ls",  # whether `make` succeeded nobody knows
        "rm *.py",
        "rm $x",
        "rm ~/a",
        "rm -i a",
        "rm -- -a",
        "git rm --cached a",
        "git -C x rm a",
        "git rm",
        "mv a docs",  # docs may be a folder
        "mv -n a.py b.py",
        "mv a.py",
        "cp -u a.py b.py",
        "touch -d yesterday a",
        "head --lines 5 a",
        "$EDITOR a",
        "echo x > $out",
        "echo x >",
        "sed -i s/a/b/ *.py",
        "cd $x && rm a",
        "cd - && rm a",
        "cd && rm a",
        "cd '' && rm a",
        "cd x y && rm a",
        "pushd x && rm a",
        "cd x | rm a",
        "make && cd x; rm a",
        "cd x || rm a; rm b",
        "cd x |& rm a",
        "make | cd x; rm a",
        "make ||\nrm a",
        "make || # or\nrm a",
        "make &&\nrm a; ls",
        "make && rm a; A=1",
        "A=1 || rm a",
        "make && ; rm a",
        "(rm a)",
        "echo 'rm a'",
        "echo rm a",
        "xargs rm a",
        "ssh host rm a",
        "bash -c 'rm a'",
        "find . -delete",
        "diff <(cat a) b",
        "rm 'a",
        "grep x a",
        "",
    ],
)
def test_of_what_is_not_certain_nothing_is_said(command):
    assert did(command) == []


# --- what a command says that it could not do ----------------------------------------------------------------------

GONE = "No such file or directory"


def said(command, output):
    return complaints(command, output.split("\n"))


@pytest.mark.parametrize(
    ("command", "output", "verdict"),
    [
        ("rm a.py", f"rm: cannot remove 'a.py': {GONE}", "failed"),
        ("rm a.py", f"rm: a.py: {GONE}", "failed"),
        ("sudo rm a.py", "rm: cannot remove 'a.py': Operation not permitted", "failed"),
        ("make && rm a.py", f"rm: cannot remove 'a.py': {GONE}", "failed"),
        ("mv a b", f"mv: rename a to b: {GONE}", "failed"),
        ("mkdir x && cd x", "mkdir: cannot create directory ‘x’: File exists", "failed"),
        ("cat a b", f"cat: a: {GONE}\ncat: b: {GONE}", "failed"),
        ("./run.sh", "bash: ./run.sh: Permission denied", "failed"),
        ("echo x > /etc/y", "/bin/bash: line 1: /etc/y: Permission denied", "failed"),
        ("cd /no && rm a", f"bash: line 1: cd: /no: {GONE}", "failed"),
        ("rm a.py; echo", f"rm: cannot remove 'a.py': {GONE}", "ok"),
        ("rm a.py || true", f"rm: a.py: {GONE}", "ok"),
        ("rm a.py 2>&1 | tail -1", f"rm: cannot remove 'a.py': {GONE}", "ok"),
        ("cd /no; rm a", f"bash: line 1: cd: /no: {GONE}", "unknown"),
        ("rm a; rm b", f"rm: a: {GONE}", "unknown"),
        ("rm 'a", f"rm: a: {GONE}", "unknown"),
        ("rm a; A=1", f"rm: a: {GONE}", "ok"),
    ],
)
def test_a_command_that_says_nothing_but_that_it_could_not_ends_as_a_shell_ends_it(command, output, verdict):
    found = said(command, output)
    assert found == tuple(output.split("\n"))
    assert ended(command, found) == verdict


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat notes.txt", f"rm: cannot remove 'a.py': {GONE}"),  # a file that is shown
        ("cat rm.log", f"rm: cannot remove 'rm.log': {GONE}"),
        ("rm a.py", f"rm: cannot remove 'b.py': {GONE}"),  # of nothing that the command names
        ("rm -v a.py b.py", f"removed 'b.py'\nrm: cannot remove 'a.py': {GONE}"),  # it says other things besides
        ("rm a.py", "rm: a.py: warning: file exists"),
        ("./deploy a.py", f"deploy: a.py: {GONE}"),  # nobody knows how it ends then
        ("cat a", "\n".join([f"cat: a: {GONE}"] * 20)),
        ("ls", ""),
    ],
)
def test_of_other_outputs_nothing_is_taken_for_a_complaint(command, output):
    assert said(command, output) == ()
    assert ended(command, ()) == "ok"


def test_what_a_complaint_names_was_not_done_and_the_rest_was():
    complained = said("rm src/a.py b.py; ls", f"rm: cannot remove 'src/a.py': {GONE}")
    assert [touch.path for touch in touches("rm src/a.py b.py; ls") if not spared(touch, complained)] == ["b.py"]
    assert spared(Touch("moved", "x", "d/b.py"), ["mv: cannot create 'd/b.py': Permission denied"])


complaining = st.sampled_from(
    [
        *(f"rm: cannot remove 'a.py': {GONE}", f"cat: ../b.py: {GONE}", "mv: cannot stat ‘src/’: Permission denied"),
        *("bash: line 1: cd: src: Not a directory", "/bin/sh: /a: Is a directory", "touch: a.py: File exists"),
    ]
)
outputs = st.lists(complaining, min_size=1, max_size=14) | st.lists(complaining | st.text(max_size=9), max_size=3)
about = st.builds("rm a.py; cat ../b.py{}touch a.py{}mv src/ /a {}".format, joints, joints, more | odd)


@given(about, outputs)
def test_any_command_and_any_output_are_judged(command, output):
    found = complaints(command, output)
    assume(found)
    assert found == tuple(output)
    assert ended(command, found) in ("ok", "failed", "unknown")


def test_hostile_lines_take_linear_time():
    lines = ["rm: " + "a" * 100_000, "/" * 100_000 + "sh: x", "rm:" + " " * 100_000 + "no such file"] * 4
    start = time.perf_counter()
    complaints("rm " + "a/" * 50_000, lines)
    assert time.perf_counter() - start < 1

"""What a command did to files is said where it is certain, and nowhere else."""

from __future__ import annotations

import posixpath
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.shell import Touch, touches


def did(command, folder=""):
    return [f"{touch.action} {touch.path}{' ' + touch.to if touch.to else ''}" for touch in touches(command, folder)]


paths = st.text(st.sampled_from("abcxyz._/"), min_size=1, max_size=10).filter(
    lambda path: not path.startswith(("/dev/", "-", "+")) and not path.isdigit()
)
names = st.text(st.sampled_from("ab c'\"$*;&|()é"), min_size=1, max_size=8).filter(lambda name: name.strip("/. "))


@given(names)
def test_any_quoted_path_is_found_as_it_is(name):
    assert list(touches(f"rm {shlex.quote(name)}")) == [Touch("deleted", name)]


@given(st.text(st.sampled_from("rm cat sed-i>a.py;&|'\"$()\n<E#*"), max_size=50), paths)
def test_any_command_is_read_without_fail(command, folder):
    for touch in touches(command, folder):
        assert touch.action in ("read", "written", "edited", "deleted", "moved")
        assert touch.path
        assert bool(touch.to) == (touch.action == "moved")


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

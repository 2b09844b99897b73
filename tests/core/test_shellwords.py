"""Commands are taken apart as a shell would, or not at all."""

from __future__ import annotations

import shlex
import time
from shutil import which
from subprocess import DEVNULL, run

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from foldline.core.work.shellwords import LONGEST, Unclear, Word, chains

plain = st.text(st.sampled_from("abc.-_/=0 '\"$*\\#;&|<>()~\t"), min_size=1, max_size=8)


def commands(text):
    return [[word.text for word in command] for chain in chains(text) for command in chain.commands]


def clear(text):
    try:
        return list(chains(text))
    except Unclear:
        return None


@given(st.lists(plain, min_size=1, max_size=5))
def test_quoted_words_are_read_as_the_shell_reads_them(words):
    assert commands("echo " + shlex.join(words)) == [["echo", *words]]


@given(st.lists(plain, min_size=1, max_size=5))
def test_quoted_words_stand_for_themselves(words):
    assert all(word.sure for chain in chains("echo " + shlex.join(words)) for word in chain.commands[0])


PIECES = [
    *("rm", "a", "b c", "'it is; so'", '"$x \\" > y"', "\\;", "*.py", "A=1", "; a", "& ", "&& b", "|| b", "| c"),
    *("a &&", "b ||\n", "c | # no\n", "\\\n", "\\ #", '"a\\\nb"'),
    *("|& d", "> f", "2>&1", "\n", "# no; more\n", "<<E\nrm x\nE\n", "<<'E' cat\n$(y)\nE", "~"),
]
UNCLEAR = ["{", "if", "$(", "`", "'"]
pieces = st.sampled_from(PIECES) | st.sampled_from([*PIECES, *UNCLEAR]) | st.text("ab $\\#~*[]é\0\u2028", max_size=6)
texts = st.lists(pieces, min_size=1, max_size=6)


@given(texts.map(" ".join) | texts.map("".join))
def test_any_text_is_read_or_unclear(text):
    found = clear(text)
    assume(found)
    said = iter(text)
    for chain in found:
        assert all(chain.commands)
        for command, joint in zip(chain.commands, chain.joints, strict=True):
            assert {word.kind for word in command} <= {"word", "arrow"}
            assert all(sign in said for word in command for sign in word.text), "in order, and none twice"
            assert joint in ("&&", "||", "|", "|&", "&", ";", "\n")
        assert not {";", "\n"} & set(chain.joints[:-1])
        assert chain.joints[-1] in (";", "\n", "&")


def test_of_such_a_text_every_command_is_read():
    text = "rm 'it is; so' > f && b | c; A=1 a *.py <<E\nrm x\nE\n# no; more\nb c 2>&1 &"
    assert commands(text) == [["rm", "it is; so", ">", "f"], ["b"], ["c"], ["a", "*.py"], ["b", "c", "2>&", "1"]]


@given(st.lists(st.sampled_from(["a", "b c", "rm x"]), min_size=1, max_size=5), st.sampled_from([";", "\n", "&&", "|"]))
def test_joints_divide_commands(parts, joint):
    assert commands(f" {joint} ".join(parts)) == [part.split() for part in parts]


def test_joints_say_what_follows_each_command():
    found = list(chains("a && b | c; d & e || f |& g"))
    assert [chain.joints for chain in found] == [["&&", "|", ";"], ["&", "||", "|&", "\n"]]


@pytest.mark.parametrize("joint", ["&&", "||", "|", "|&"])
@pytest.mark.parametrize("behind", ["\n", " \n\n", " # why\n", " \\\n"])
def test_a_joint_at_the_end_of_a_line_joins_the_next_line(joint, behind):
    found = list(chains(f"make {joint}{behind}rm a; ls"))
    assert found[0] == (list(map(_words, ("make", "rm a"))), [joint, ";"])


def _words(text):
    return [Word("word", word) for word in text.split()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo a'b c'\"d e\"\\ f", ["echo", "ab cd e f"]),
        ('echo "a\\"b\\$c\\d"', ["echo", 'a"b$c\\d']),
        ("echo one \\\n two", ["echo", "one", "two"]),
        ("echo a#b # not said", ["echo", "a#b"]),
        ("# nothing but this\necho x", ["echo", "x"]),
        ("A=1 B='2 3' make C=4", ["make", "C=4"]),
        ("a 2>err.log", ["a", "2>", "err.log"]),
        ("a2>x", ["a2", ">", "x"]),
        ("a'2'2>x 10>y 2&>z", ["a22", ">", "x", "10>", "y", "2", "&>", "z"]),
        ("rm a\\\nb", ["rm", "ab"]),
        ('rm "a\\\nb"', ["rm", "ab"]),
        ("rm 'a\\\nb'", ["rm", "a\\\nb"]),
        ("rm a\\ #b c", ["rm", "a #b", "c"]),
        ("rm a\\\n#b c", ["rm", "a#b", "c"]),
        ("rm a \\\n#b c", ["rm", "a"]),
        ("a &>all >>more >|hard", ["a", "&>", "all", ">>", "more", ">|", "hard"]),
        ("a <<<word <in", ["a", "<<<", "word", "<", "in"]),
        ("a >&2", ["a", ">&", "2"]),
    ],
)
def test_examples(text, words):
    assert commands(text) == [words]


SPOKEN = [
    *("a2", " 2", " ", "\\\n", "\\ ", "\\\\", "\\#", "#b", "'c\\\nd'", '"e\\\nf"', '"\\$g\\h"', "''", ">/dev/null "),
    *("; say ", "\nsay ", " &&\nsay ", " && # no\n\nsay ", " <<E\nsay x\nE\nsay "),
]


@pytest.mark.skipif(not which("bash"), reason="no bash to compare with")
@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(SPOKEN), max_size=8).map("".join))
@example("a\\\n#b 'c\\\nd'2>/dev/null a #b &&\nsay a\\ #b && # no\n\nsay \"e\\\nf\"\\#2 <<E\nsay x\nE\nsay a2 \\\n#b")
def test_words_are_those_of_bash(text):
    found = [command for chain in clear(f"say {text}") or () for command in chain.commands]
    assume(found and all(command[0].text == "say" for command in found))
    script = f"exec 3>&1; say() {{ printf '%s\\0' say \"$@\" >&3; }}\nsay {text}"
    told = run(["bash", "-c", script], stdin=DEVNULL, capture_output=True, text=True, check=False).stdout
    assert [word for command in found for word in _operands(command)] == told.split("\0")[:-1]


def _operands(command):
    """The words without those that say where the output goes."""
    aimed = {nth + 1 for nth, word in enumerate(command) if word.kind == "arrow"}
    return [word.text for nth, word in enumerate(command) if word.kind == "word" and nth not in aimed]


@pytest.mark.parametrize("text", ["", " \n \n", "# only a remark"])
def test_nothing_is_no_command(text):
    assert commands(text) == []


def test_a_command_that_only_sets_variables_is_its_last():
    assert commands("A=1 B=2; C=3 > f || ls") == [["B=2"], [">", "f"], ["ls"]]


@pytest.mark.parametrize("word", ["$x", "a*b", "a?", "[ab]", "{a,b}", "~/x", '"$x"', "'a'$b", "$'a\\'; b'"])
def test_a_word_that_may_stand_for_others_is_not_sure(word):
    [chain] = chains(f"rm {word} plain")
    assert [found.sure for found in chain.commands[0]] == [True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "echo $(date)",
        'echo "$(date)"',
        "echo `date`",
        'echo "`date`"',
        "(cd a && rm b)",
        "f() { rm a; }",
        "{ rm a; }",
        "if true; then\nrm a\nfi",
        "for f in a b; do\nrm a\ndone",
        "while read x; do rm a; done",
        "case x in\nx) rm a\nesac",
        "[[ -f a ]] && rm a",
        "! rm a",
        "exit 0; rm a",
        "exec rm a",
        "echo 'open",
        'echo "open',
        "echo open\\",
        "cat <<EOF\nnever closed",
        "cat <<EOF",
        "cat <<EOF\n EOF\nrm a",
        "cat <<EOF\na\\\nEOF\nrm a",
        "cat << $x\nrm a",
        "rm $'a",
        "echo ${x:-a; rm b; c}",
        'echo "${x:-"a; rm b; "}"',
    ],
)
def test_scripts_and_open_ends_are_unclear(text):
    with pytest.raises(Unclear):
        list(chains(text))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "make && ; rm a",
            "make &&",
            "make ||\n",
            "make | # no",
            "&& make",
            "; ; make",
            "make ;;",
            "a & & b",
            "a & ; b",
        ),
        *("rm a >", "rm a > && b", "rm > > a", "rm <> a", "rm a >#b"),
    ],
)
def test_what_no_shell_reads_is_unclear(text):
    with pytest.raises(Unclear):
        list(chains(text))


def test_heredocs_are_no_commands():
    text = "cat > a <<'ONE' && tee b <<-TWO\nrm x\nONE\n  $(rm y)\n\tTWO\nls"
    assert commands(text) == [["cat", ">", "a"], ["tee", "b"], ["ls"]]
    assert commands("cat <<E-1 |\n E-1\nrm x\nE-1\nls") == [["cat"], ["ls"]]
    assert commands("cat 'a\n<<E' # <<E\nrm b") == [["cat", "a\n<<E"], ["rm", "b"]]


def test_long_heredocs_are_read_and_long_commands_are_not():
    assert commands("cat > a <<E\n" + "x" * 9 * LONGEST + "\nE") == [["cat", ">", "a"]]
    assert clear("echo " + "x" * LONGEST) is None


def test_hostile_commands_cost_little():
    hostile = ["'", "((((", "\\", "<<A ", "a;", '"\\', "&&", "\n", "A=", "#", "$(", "<<A\n", "E\n", "'\"", "\"'\\"]
    started = time.process_time()
    for piece in hostile:
        clear(piece * (200_000 // len(piece)))
        clear((piece * LONGEST)[:LONGEST])
    assert time.process_time() - started < 5

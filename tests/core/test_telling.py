"""The line that says what went wrong is found in whatever a checker prints, with its reason."""

from __future__ import annotations

import time

import pytest

from foldline.core.work.telling import LONGEST_LINE, NEXT_LINE, first_line, telling_line
from foldline.model import Text, ToolResult


def tells(text):
    return telling_line(ToolResult("1", (Text(text),), True))


RUNS = {
    "jest": (
        "● Calculator › adds numbers ⏎ Expected: 3 ⏎ Received: 4",
        """
FAIL src/sum.test.js
  Calculator
    ✓ subtracts (2 ms)
    ✕ adds numbers (4 ms)

  ● Calculator › adds numbers

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: 4

      3 | test('adds', () => {
    > 4 |   expect(sum(1, 2)).toBe(3);
        |                     ^
      at Object.<anonymous> (src/sum.test.js:4:21)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 passed, 2 total
Snapshots:   0 total
Time:        0.512 s
Ran all test suites.
""",
    ),
    "vitest": (
        "AssertionError: expected 4 to be 3 // Object.is equality",
        """
 RUN  v1.2.0 /app

 ❯ src/sum.test.ts (2)
   × adds numbers

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/sum.test.ts > adds numbers
AssertionError: expected 4 to be 3 // Object.is equality

- Expected
+ Received

 ❯ src/sum.test.ts:4:21

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
   Start at  10:00:00
   Duration  300ms
""",
    ),
    "mocha": (
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: ⏎ 4 !== 3",
        """
  Calculator
    ✔ subtracts
    1) adds numbers


  1 passing (5ms)
  1 failing

  1) Calculator
       adds numbers:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

4 !== 3

      + expected - actual
      at Context.<anonymous> (test/sum.js:4:10)
""",
    ),
    "eslint": (
        "/app/src/a.js ⏎ 12:5   error    'x' is defined but never used  no-unused-vars",
        """
/app/src/a.js
  12:5   error    'x' is defined but never used  no-unused-vars
  14:10  warning  Unexpected console statement   no-console

✖ 2 problems (1 error, 1 warning)
""",
    ),
    "cargo build": (
        "error[E0308]: mismatched types ⏎ --> src/main.rs:4:18",
        """
   Compiling app v0.1.0 (/app)
error[E0308]: mismatched types
 --> src/main.rs:4:18
  |
4 |     let x: i32 = "a";
  |            ---   ^^^ expected `i32`, found `&str`

For more information about this error, try `rustc --explain E0308`.
error: could not compile `app` (bin "app") due to 1 previous error
""",
    ),
    "cargo test": (
        "thread 'tests::adds' panicked at src/lib.rs:12:9: ⏎ assertion `left == right` failed ⏎ left: 4 ⏎ right: 3",
        """
running 2 tests
test tests::subtracts ... ok
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: 4
 right: 3
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--lib`
""",
    ),
    "maven": (
        "org.opentest4j.AssertionFailedError: expected: <3> but was: <4>",
        """
[INFO] Running com.acme.CalcTest
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! - in com.acme.CalcTest
[ERROR] com.acme.CalcTest.adds  Time elapsed: 0.01 s  <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <3> but was: <4>
	at com.acme.CalcTest.adds(CalcTest.java:12)

[ERROR] Failures:
[ERROR]   CalcTest.adds:12 expected: <3> but was: <4>
[INFO]
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
[INFO] ------------------------------------------------------------------------
[INFO] BUILD FAILURE
[ERROR] Failed to execute goal surefire:test (default-test) on project calc: There are test failures.
[ERROR] -> [Help 1]
[ERROR] For more information about the errors and possible solutions, please read the following articles:
[ERROR] [Help 1] http://cwiki.apache.org/confluence/display/MAVEN/MojoFailureException
""",
    ),
    "gradle": (
        "/app/src/main/java/A.java:5: error: cannot find symbol",
        """
> Task :compileJava FAILED
/app/src/main/java/A.java:5: error: cannot find symbol
        foo();
        ^
  symbol:   method foo()
  location: class A
1 error

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':compileJava'.
> Compilation failed; see the compiler error output for details.

* Try:
> Run with --stacktrace option to get the stack trace.

BUILD FAILED in 1s
""",
    ),
    "gcc": (
        "main.c:4:5: error: 'x' undeclared (first use in this function)",
        """
main.c: In function 'main':
main.c:4:5: error: 'x' undeclared (first use in this function)
    4 |     x = 1;
      |     ^
main.c:4:5: note: each undeclared identifier is reported only once
make: *** [Makefile:3: main.o] Error 1
""",
    ),
    "npm": (
        "npm ERR! ERESOLVE unable to resolve dependency tree",
        """
npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree
npm ERR!
npm ERR! Found: react@18.0.0
npm ERR! A complete log of this run can be found in:
npm ERR!     /root/.npm/_logs/x-debug-0.log
""",
    ),
    "dotnet": (
        "Failed Calc.Tests.Adds [12 ms] ⏎ Expected: 3 ⏎ Actual: 4",
        """
  Failed Calc.Tests.Adds [12 ms]
  Error Message:
   Assert.Equal() Failure
Expected: 3
Actual:   4
  Stack Trace:
     at Calc.Tests.Adds() in /app/Tests.cs:line 12

Failed!  - Failed:     1, Passed:     1, Skipped:     0, Total:     2, Duration: 20 ms
""",
    ),
    "rspec": (
        "Failure/Error: expect(Calc.add(1, 2)).to eq(3) ⏎ expected: 3 ⏎ got: 4",
        """
Failures:

  1) Calc adds
     Failure/Error: expect(Calc.add(1, 2)).to eq(3)

       expected: 3
            got: 4

       (compared using ==)
     # ./spec/calc_spec.rb:5:in `block (2 levels) in <top (required)>'

Finished in 0.01 seconds
2 examples, 1 failure

Failed examples:

rspec ./spec/calc_spec.rb:4 # Calc adds
""",
    ),
    "phpunit": (
        "Failed asserting that 4 matches expected 3.",
        """
There was 1 failure:

1) CalcTest::testAdds
Failed asserting that 4 matches expected 3.

/app/tests/CalcTest.php:12

FAILURES!
Tests: 2, Assertions: 2, Failures: 1.
""",
    ),
    "unittest": (
        "FAIL: test_adds (test_calc.CalcTest.test_adds) ⏎ AssertionError: 4 != 3",
        """
F.
======================================================================
FAIL: test_adds (test_calc.CalcTest.test_adds)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/app/test_calc.py", line 6, in test_adds
    self.assertEqual(add(1, 2), 3)
AssertionError: 4 != 3

----------------------------------------------------------------------
Ran 2 tests in 0.000s

FAILED (failures=1)
""",
    ),
    "webpack": (
        "Module not found: Error: Can't resolve './foo' in '/app/src'",
        """
ERROR in ./src/index.js 3:0-20
Module not found: Error: Can't resolve './foo' in '/app/src'

webpack 5.90.0 compiled with 1 error in 400 ms
""",
    ),
    "docker": (
        "#7 1.235 ERROR: No matching distribution found for foo==9",
        """
#7 [3/4] RUN pip install -r requirements.txt
#7 1.234 ERROR: Could not find a version that satisfies the requirement foo==9 (from versions: none)
#7 1.235 ERROR: No matching distribution found for foo==9
#7 ERROR: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1
------
ERROR: failed to solve: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1
""",
    ),
    "git": (
        "! [rejected]        main -> main (fetch first)",
        """
To github.com:a/b.git
 ! [rejected]        main -> main (fetch first)
error: failed to push some refs to 'github.com:a/b.git'
hint: Updates were rejected because the remote contains work that you do not
hint: have locally.
""",
    ),
}
"""What checkers of other languages print, and what is to be told of it."""


@pytest.mark.parametrize("tool", RUNS)
def test_of_whatever_a_checker_prints_the_cause_is_told_and_not_the_sum(tool):
    told, printed = RUNS[tool]
    assert tells(printed) == told


@pytest.mark.parametrize("tool", RUNS)
def test_each_line_that_is_told_is_one_of_the_output(tool):
    _, printed = RUNS[tool]
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert {" ".join(line.split()) for line in tells(printed).split(NEXT_LINE)} <= lines


@pytest.mark.parametrize(
    "summed",
    [
        'error: could not compile `app` (bin "app") due to 1 previous error',
        "error: failed to push some refs to 'host'",
        "Failed!  - Failed:     1, Passed:     1",
        "FAILED (failures=1)",
    ],
)
def test_where_nothing_tells_more_the_sum_is_told(summed):
    assert tells(f"running it all\n{summed}\nmore of it") == summed


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "--- FAIL: TestCount (0.00s)\n    a_test.go:3: got 2\nFAIL\nFAIL\tcli/strategy\t3.2s",
            "--- FAIL: TestCount (0.00s) ⏎ a_test.go:3: got 2",
        ),
        (
            "    a_test.go:7: got 2, want 3\n    a_test.go:9: stored\n--- FAIL: TestCount (0.00s)\nfatal: no remote",
            "--- FAIL: TestCount (0.00s) ⏎ a_test.go:7: got 2, want 3",
        ),
        ("    a_test.go:9: all is stored\n--- FAIL: TestCount (0.00s)", "--- FAIL: TestCount (0.00s)"),
        (
            "[lint] $ golint\n[lint] cli/a.go:8:4: ineffectual assignment (ineffassign)\n[lint] ERROR task failed",
            "[lint] cli/a.go:8:4: ineffectual assignment (ineffassign)",
        ),
        ("a.go:1: : # cli/list\na.go:9:2: undefined: x\n[lint] ERROR task failed", "a.go:9:2: undefined: x"),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", ""),
        ("src/a.ts(3,14): error TS2322: not a string\nFound 1 error.", "src/a.ts(3,14): error TS2322: not a string"),
        ("no test named\nFAIL\tcli/strategy\t3.2s", "FAIL\tcli/strategy\t3.2s"),
        ("collected 3\nE   assert 1 == 2\nFAILED tests/test_a.py::test_b\n1 failed", "FAILED tests/test_a.py::test_b"),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'b'\n", "KeyError: 'b'"),
        ("Exit code 1\nmake: *** No rule to make target", "make: *** No rule to make target"),
        ("Chunk ID: a1\nWall time: 1 s\nProcess exited with code 1\nOutput:\nsh: foo: not found", "sh: foo: not found"),
        ("building it all\nsrc/a.c:3: undefined reference\nmore that follows it", "src/a.c:3: undefined reference"),
        ("first was missing\nsecond was missing\nthird of them", "second was missing"),
        ("12345678\n123456789\n", "123456789"),
        ("first line of it\nsecond line of it", "first line of it"),
        ("error[E0308]: mismatched types\n --> src/main.rs", "error[E0308]: mismatched types ⏎ --> src/main.rs"),
        ("thread 'main' panicked at src/main.rs", "thread 'main' panicked at src/main.rs"),
        ("    --- FAIL: TestThing (0.1s)", "--- FAIL: TestThing (0.1s)"),
        ("short", "short"),
        ("(no output)\n\nCommand exited with code 1", ""),
        ("<no output>", ""),
        ("(Bash completed with no output)", ""),
        ("<returncode>1</returncode>\n<output>\n</output>", ""),
        ("", ""),
        ("x" * 999 + " error", "x" * LONGEST_LINE),
        ("Error: at the top of it\n" + "filler line here\n" * 9_000, "Error: at the top of it"),
        ("filler line here\n" * 9_000 + "Error: at the end of it", "Error: at the end of it"),
    ],
)
def test_the_telling_line(text, line):
    assert tells(text) == line


@pytest.mark.parametrize(
    ("told", "printed"),
    [
        (
            "main.c:5:3: error: no such name",
            "util.c:1:9: warning: unused\nmain.c:5:3: error: no such name\n2 generated",
        ),
        ("a.py:9: error: no such name", "a.py:3: note: by default\na.py:9: error: no such name"),
        ("[ERROR] A.java:[12,9] cannot find symbol", "[ERROR] A.java:[12,9] cannot find symbol\n[ERROR] -> [Help 1]"),
        (
            "main.o: undefined reference to `x'",
            "main.o: undefined reference to `x'\nmake: *** [Makefile:3: app] Error 1",
        ),
        ("E   ImportError: no name x", "E   ImportError: no name x\n=== short test summary ===\nERROR test_a.py"),
        ("FAIL a.test.js", "FAIL a.test.js\nPASS b.test.js\n  ● Console\n    console.log here"),
        (
            f"thread '{'deep::' * 20}x' (12) panicked at a.rs:1:2: ⏎ it broke",
            f"thread '{'deep::' * 20}x' (12) panicked at a.rs:1:2:\nit broke\nerror: test failed, to rerun",
        ),
        (
            "--- FAIL: TestA (0.0s) ⏎ Error: Not equal: ⏎ expected: 1 ⏎ actual : 2",
            "--- FAIL: TestA (0.0s)\n    a.go:3: \n \tError:   \tNot equal: \n \t  \texpected: 1\n \t  \tactual  : 2",
        ),
    ],
)
def test_the_fault_is_told_rather_than_a_remark_or_the_end_of_it(told, printed):
    assert tells(printed) == told


def test_a_reason_that_pytest_cut_is_told_in_full():
    told = """    def test_days(now):
>       assert days(now) == 3
E       AssertionError: assert 2 == 3
E
E        +  where 2 = days(now)
tests/test_export.py:12: AssertionError
=========== short test summary info ===========
FAILED tests/test_export.py::test_days_are_calendar_days_at_the_desk - Asser...
1 failed in 0.1s"""
    name = "FAILED tests/test_export.py::test_days_are_calendar_days_at_the_desk - Asser..."
    assert tells(told) == f"{name} ⏎ E       AssertionError: assert 2 == 3"
    assert tells(f"collected 3\n{name}") == name


def test_of_tests_that_run_side_by_side_each_is_told_with_its_own_reason():
    said = """=== RUN   TestStop
=== RUN   TestGo
=== NAME  TestStop
    stop_test.go:26: output should say 'stopped', got:
        started
=== NAME  TestGo
    go_test.go:9: log should go on
--- PASS: TestGo (0.1s)
    go_test.go:9: log should go on
--- FAIL: TestStop (0.3s)
FAIL\tcli/x\t0.3s"""
    assert tells(said) == "--- FAIL: TestStop (0.3s) ⏎ stop_test.go:26: output should say 'stopped', got:"


ASSERTED = """    stop_test.go:32:
        \tError Trace:\t/src/stop_test.go:32
        \tError:      \tExpected value not to be nil.
        \tTest:       \tTestStop
        \tMessages:   \tStop should set the time
"""


@pytest.mark.parametrize(
    "said", [f"{ASSERTED}--- FAIL: TestStop (0.1s)\nFAIL", f"--- FAIL: TestStop (0.1s)\n{ASSERTED}FAIL"]
)
def test_what_was_asserted_is_told_where_the_place_stands_alone(said):
    reason = "Error: Expected value not to be nil. ⏎ Messages: Stop should set the time"
    assert tells(said) == f"--- FAIL: TestStop (0.1s) ⏎ {reason}"


def test_what_a_test_logs_when_all_is_well_is_no_fault():
    well = "    merge_test.go:374: Both sessions successfully merged with proper archiving"
    ended = "FAIL\nFAIL\texample.com/merge\t3.1s"
    assert tells(f"{well}\n{ended}") == "FAIL\texample.com/merge\t3.1s"
    assert tells(f"# example.com/merge\n{well.strip()}") == well.strip()  # better than nothing
    wrong = "    merge_test.go:380: merge ended successfully, expected an error"
    assert tells(f"{well}\n{wrong}\n{ended}") == wrong.strip()


@pytest.mark.parametrize("piece", ["\n", "E", "E ", "x Error", "Error: a\n", " ", "--- FAIL\n", "thread '", "a\t"])
def test_hostile_results_cost_little(piece):
    started = time.process_time()
    tells(piece * (400_000 // len(piece)))
    assert time.process_time() - started < 1


def test_a_test_that_talks_much_is_told_with_what_it_said_last_of_why_it_failed():
    lines = [
        "--- FAIL: TestResume (3.32s)",
        "    hooks.go:196: Hook stop output: copied to: a.jsonl",
        *(f"        Staged: file{n}.txt" for n in range(30)),
        "    hooks.go:196: Hook stop output: copied to: b.jsonl",
        "    resume_test.go:77: output should contain 'Session:', got: Switched to branch",
        "    resume_test.go:80: cleaned up",
        "--- PASS: TestOther (0.01s)",
        "    other_test.go:5: expected nothing, got nothing",
        "FAIL",
    ]
    told = tells("\n".join(lines))
    assert (
        told
        == "--- FAIL: TestResume (3.32s) ⏎ resume_test.go:77: output should contain 'Session:', got: Switched to branch"
    )


def test_what_a_test_only_logged_is_no_reason():
    lines = ["--- FAIL: TestResume (3.32s)", "    hooks.go:196: stop output: a", "    hooks.go:196: stop output: b"]
    assert tells("\n".join(lines)) == "--- FAIL: TestResume (3.32s)"
    panics = "\n".join([*lines, "panic: runtime error: index out of range [3]", "\t/usr/go/panic.go:783 +0x120"])
    assert tells(panics).endswith("⏎ panic: runtime error: index out of range [3]")


def test_a_test_is_not_given_the_reason_of_another_tool():
    told = "FAILED a.py::test_x\n======= 1 failed in 0.1s =======\nsrc/other.py:3:1: F821 undefined name `x`"
    assert tells(told) == "FAILED a.py::test_x"
    assert tells("FAILED a.py::test_x - assert 1 == 2\nsrc/b.py:3: error: x") == ("FAILED a.py::test_x - assert 1 == 2")


@pytest.mark.parametrize("shift", range(0, 60, 3))
def test_no_half_of_a_secret_is_told_where_the_search_ends(shift):
    key = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
    ends = f"{'x' * 30_000} {key} {'ab ' * 6_600}"
    told = telling_line(ToolResult("1", (Text(f"{ends}{'c' * (150 + shift)} failed\nexit code 1"),)))
    begins = telling_line(ToolResult("1", (Text(f"{' ' * (19_940 + shift)}error: {key}{' ' * 30_000}"),)))
    first = first_line(ToolResult("1", (Text(f"{' ' * (19_940 + shift)}error: {key}{' ' * 30_000}"),)))
    assert all(key[at : at + 8] not in told + begins + first for at in range(len(key) - 7))

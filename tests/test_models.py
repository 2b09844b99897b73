"""The model table: found by any usual spelling, overridden by the user, never a silent guess."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting import budget
from foldline.core.options import SUMMARISER_WINDOW
from foldline.errors import InputError, InvalidSetting, MalformedInput
from foldline.models import COLUMNS, UNKNOWN_WINDOW, Budget, candidates, lookup, spelling, summariser_window, table


@pytest.fixture(autouse=True)
def no_overrides(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("FOLDLINE_MODELS", raising=False)


@pytest.fixture
def write(monkeypatch, tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        monkeypatch.setenv("FOLDLINE_MODELS", str(path))

    return write


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5",
        "Claude-Sonnet-4.5",
        "anthropic/claude-sonnet-4-5",
        "anthropic:claude-sonnet-4-5",
        "openrouter/anthropic/claude-sonnet-4.5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5-latest",
        "vertex_ai/claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5[1m]",
        " claude-sonnet-4-5 ",
    ],
)
def test_a_model_is_found_under_any_usual_spelling(name):
    info = lookup(name)
    assert (info.window, info.max_output, info.notices) == (200_000, 64_000, ())


@pytest.mark.parametrize(
    ("name", "window", "output"),
    [
        ("gpt-4o", 128_000, 16_384),
        ("gpt-4o-2024-05-13", 128_000, 4_096),
        ("gpt-5-mini", 272_000, 128_000),
        ("gemini-2.5-pro", 1_048_576, 65_536),
        ("gpt-4.1", 1_047_576, 32_768),
        ("gpt-4", 8_192, 4_096),
    ],
)
def test_known_models_have_their_limits(name, window, output):
    assert (lookup(name).window, lookup(name).max_output) == (window, output)


def test_a_host_with_smaller_limits_has_its_own_entry():
    assert lookup("github_copilot/gpt-4o").window < lookup("gpt-4o").window


def test_an_unknown_model_gets_a_small_window_and_a_notice():
    info = lookup("house-model-of-tomorrow")
    assert (info.window, info.source) == (UNKNOWN_WINDOW, "default")
    assert info.notices[0].code == "model-unknown"
    assert "models.toml" in info.notices[0].text
    assert Budget.for_model("house-model-of-tomorrow").notices == info.notices


def test_a_budget_is_made_from_a_name():
    made = Budget.for_model("claude-sonnet-4-5")
    assert isinstance(made, budget.Budget)
    assert (made.window, made.room, made.notices) == (200_000, 200_000 - 16_384, ())
    assert Budget.for_model("claude-sonnet-4-5", reserve=10, max_bytes=5).room == 199_990
    thrifty = Budget.for_model("claude-sonnet-4-5", prune_at=0.5, compact_at=0.8, target=0.25)
    assert thrifty == Budget(made.window, made.reserve, prune_at=0.5, compact_at=0.8, target=0.25)


def test_the_user_knows_better_than_the_table(write):
    own = '["my/own"]\nwindow = 1000\nmax_output = 50\n["my/short"]\nwindow = 900\n'
    write(f'["Claude-Sonnet-4.5"]\nwindow = 90000\n{own}')
    assert lookup("anthropic:claude-sonnet-4-5-20250929").window == 90_000
    own = lookup("my/own")
    assert (own.window, own.max_output) == (1_000, 50)
    assert (lookup("my/short").window, lookup("my/short").max_output) == (900, None)
    assert own.source.endswith("mine.toml")


def test_the_usual_place_is_read_too(tmp_path):
    folder = tmp_path / ".config/foldline"
    folder.mkdir(parents=True)
    (folder / "models.toml").write_text("[house]\nwindow = 4096\n")
    assert lookup("house").window == 4_096


@pytest.mark.parametrize(
    "text",
    [
        "[house]\n",
        "[house]\nwindow = 0\n",
        '[house]\nwindow = "big"\n',
        "[house]\nwindow = true\n",
        "[house]\nwindow = 5\nwindoow = 6\n",
        "[house]\nwindow = 5\ninput_price = 6\n",
        "[house]\nwindow = 5\nmax_output = -1\n",
        "[house]\nwindow = 5\nmax_output = 1.5\n",
        "house = 3\n",
        "[house\n",
    ],
)
def test_a_wrong_override_is_refused_with_the_place(write, text):
    write(text)
    with pytest.raises(MalformedInput, match=r"mine\.toml"):
        lookup("house")


def test_a_models_file_that_was_named_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("FOLDLINE_MODELS", str(tmp_path / "nowhere.toml"))
    with pytest.raises(InputError, match="FOLDLINE_MODELS"):
        lookup("gpt-5")


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("anthropic:claude-haiku-4-5", 200_000),
        ("openrouter:openai/gpt-5", lookup("gpt-5").window),
        ("openai-compatible:nobody-knows-it", SUMMARISER_WINDOW),
        ("ollama:nobody-knows-it", SUMMARISER_WINDOW),
        ("ollama:gpt-5", SUMMARISER_WINDOW),
    ],
)
def test_a_summariser_has_its_model_s_window_unless_its_server_decides_or_nobody_knows(name, window):
    assert summariser_window(name) == window


def test_of_a_summariser_too_the_user_knows_better(write):
    write('["ollama:gpt-5"]\nwindow = 65536\n')
    assert summariser_window("ollama:gpt-5") == 65_536


def test_the_table_is_small_sorted_and_says_where_it_comes_from():
    raw = resources.files("foldline").joinpath("data/models.json").read_text("utf-8")
    assert len(raw) < 300_000
    assert "MIT" in raw.partition("\n")[0]
    assert list(table()) == sorted(table())


def test_every_row_is_usable():
    for name, row in table().items():
        assert name == spelling(name)
        assert 0 < len(row) <= len(COLUMNS)
        assert all(type(value) is int and value > 0 for value in row)
        assert Budget.for_model(name).room > 0


@given(st.text())
def test_any_name_gets_an_answer(name):
    assert lookup(name).window > 0
    assert len(set(candidates(name))) == len(candidates(name))


@pytest.mark.parametrize("name", [None, 7, ["gpt-5"]])
def test_what_is_no_name_is_refused_with_what_to_give(name):
    with pytest.raises(InvalidSetting, match="give its name"):
        Budget.for_model(name)

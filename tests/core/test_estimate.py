"""The estimator: near the truth for every kind of text, deterministic, never failing."""

from __future__ import annotations

import base64
import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.estimate import ERROR, SHORT_ERROR, SLICE, WEIGHTS, Estimator, classes, estimate
from foldline.tokens import best_counter

RNG = random.Random(7)
PROSE = (
    "The meter was read twice a day, once before the shutters were opened and once after the last guest had gone. "
    "Nobody asked why, and nobody kept the little book in which the numbers were written down. When the winter came "
    "the needle stood still for a week; the landlord tapped the glass, frowned, and sent for someone from the town.\n"
)
CODE = '''
def running_total(values: list[int], *, start: int = 0) -> list[int]:
    """Sums of all beginnings of a list."""
    totals = [start]
    for value in values:
        if value < 0 and not totals:
            raise ValueError(f"negative: {value!r}")
        totals.append(totals[-1] + value)
    return totals[1:]


class ShelfReader(BaseReader):
    MAX_ITEMS = 1_000

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self._index = {item.key: item for item in self.items() if item.isReady}
'''
LOG = "2026-03-0{0} 12:4{0}:51,30{0} INFO worker-{0} id=7f3a{0}c path=/api/v2/items/{0}48 status=200 took=1{0}ms\n"
CHINESE = "今天下午我们把服务器的日志检查了一遍，发现请求在夜里三点左右突然变慢。请先不要重启数据库，等我回来再说。\n"
JAPANESE = (
    "会議の前に資料をもう一度確認してください。ファイルは共有フォルダに入っていますので、直してもかまいません。\n"
)
KOREAN = "어제 배포한 버전에서 오류가 다시 발생했습니다. 로그를 확인한 다음 원인을 알려 주시면 바로 고치겠습니다.\n"
RUSSIAN = "Вчера вечером сервер перестал отвечать, и мы решили отложить выпуск новой версии до понедельника.\n"
KINDS = {
    "prose": PROSE * 6,
    "code": CODE * 4,
    "json": json.dumps([{"id": n, "name": f"shelf {n}", "tags": ["a", "b"], "price": n * 1.25} for n in range(60)]),
    "logs": "".join(LOG.format(n % 10) for n in range(40)),
    "chinese": CHINESE * 20,
    "japanese": JAPANESE * 20,
    "korean": KOREAN * 20,
    "russian": RUSSIAN * 20,
    "base64": base64.b64encode(RNG.randbytes(3_000)).decode(),
    "hex": RNG.randbytes(2_000).hex(),
    "letters": "".join(RNG.choices(string.ascii_lowercase, k=3_000)),
    "numbers": " ".join(str(RNG.randrange(10**6)) for _ in range(500)),
    "indented": "".join(" " * (4 * (n % 9)) + "end\n" for n in range(200)),
}
texts = st.text(st.characters(codec="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_lies_within_the_stated_error(kind):
    text = KINDS[kind]
    truth, told = best_counter().count(text), estimate(text)
    assert abs(truth - told) <= ERROR * told + SHORT_ERROR


@given(st.text())
def test_any_text_has_an_estimate_and_only_the_empty_one_has_none(text):
    assert (estimate(text) == 0) == (text == "")
    assert estimate(text) == estimate(text) == Estimator().count(text)


@given(st.text(st.characters(categories=["Cs"])))
def test_lone_surrogates_are_estimated_like_anything_else(text):
    assert estimate(text) >= 0


@given(texts, texts)
def test_a_text_costs_about_what_its_halves_do(one, other):
    dearest = max(map(abs, WEIGHTS.values()))
    assert abs(estimate(one + other) - estimate(one) - estimate(other)) <= 2 * dearest + 2


@given(texts)
def test_every_character_has_one_class(text):
    assert len(classes(text)) == len(text)


def test_slices_add_up():
    text = PROSE * (3 * SLICE // len(PROSE))
    assert estimate(text) == pytest.approx(3 * SLICE // len(PROSE) * estimate(PROSE), rel=0.01)


def test_the_worth_of_known_texts_does_not_drift():
    assert [estimate(text) for text in (PROSE, CODE, CHINESE)] == [64, 135, 40]


def test_a_run_never_pays_back_more_than_its_members_cost():
    for key, weight in WEIGHTS.items():
        if weight < 0:
            assert -weight < 2 * WEIGHTS[key[0]]

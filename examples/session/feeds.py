"""Carrier feeds and log files of the invented project, made from a hash so that they never change.

Nothing here knows of messages or tools: it returns bytes, by path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

FIRST = ("Ada", "Jörg", "Mina", "Tomasz", "Ünal", "Greta", "Søren", "Ivana", "Käthe", "Bence", "Noor", "Linus", "Zoë")
LAST = ("Brandt", "Groß", "Osei", "Wójcik", "Yıldız", "Petersen", "Møller", "Kovács", "Hübner", "Tóth", "Haddad", "Ek")
PLACES = (
    ("Köln", "Köln-Niehl"),
    ("Bonn", "Bonn-Tannenbusch"),
    ("Essen", "Essen Nord"),
    ("Düsseldorf", "Düsseldorf Hafen"),
    ("Münster", "Münster-Loddenheide"),
    ("Aachen", "Würselen"),
    ("Wuppertal", "Langerfeld"),
    ("Mönchengladbach", "MG-Güdderath"),
)
NOTES = (
    "",
    "",
    "",
    "",
    "Klingel defekt",
    "bei Nachbar Hübner abgegeben",
    "Adresse ergänzt",
    "Hof, 2. Eingang",
    "eilig",
)
GERMAN = (
    "angekündigt",
    "abgeholt",
    "unterwegs",
    "unterwegs",
    "in Zustellung",
    "zugestellt",
    "zugestellt",
    "Rücksendung",
)
PELICAN = ("CREATED", "COLLECTED", "HUB", "HUB", "ROUTE", "DONE", "DONE", "BACK")
HAYATE = ("集荷", "輸送中", "輸送中", "持出中", "配達完了", "配達完了", "持戻り(不在)", "調査中")
HAYATE_PEOPLE = (
    "田中 美咲",
    "佐藤 健",
    "Greta Petersen",
    "鈴木 一郎",
    "Noor Haddad",
    "高橋 由美子",
    "伊藤 さくら",
    "山本 拓也",
)
HAYATE_HUBS = ("デュッセルドルフ中央", "オーバーカッセル", "インマーマン通り", "空港前")

CP1252 = str.maketrans({"ı": "i"})
"""Letters the old Nordfracht export could not hold; their system wrote the plain ones."""


def draw(*key: object) -> int:
    """A number that depends on the key alone."""
    text = "/".join(map(str, key))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:6], "big")


def pick(options: Sequence[str], *key: object) -> str:
    return options[draw(*key) % len(options)]


def person(*key: object) -> str:
    return f"{pick(FIRST, 'first', *key)} {pick(LAST, 'last', *key)}"


def cash(*key: object) -> int:
    """Cents to collect; two parcels in three have none."""
    return draw("cash", *key) % 180_000 + 990 if draw("has", *key) % 3 == 0 else 0


def german_amount(cents: int, thousands: str) -> str:
    whole, rest = divmod(cents, 100)
    return f"{whole:,}".replace(",", thousands) + f",{rest:02}"


def nordfracht(day: str, rows: int, *, new_export: bool) -> bytes:
    """Their CSV. The new export is UTF-8 with a mark, has thousands points and one status more."""
    lines = ["Sendungsnr;Empfänger;Ort;Gewicht_kg;Nachnahme;Status;Zeitpunkt;Depot;Bemerkung"]
    begin = datetime.fromisoformat(day) + timedelta(hours=5, minutes=40)
    for i in range(rows):
        city, depot = PLACES[draw("place", day, i) % len(PLACES)]
        status = pick(GERMAN, "status", day, i)
        if new_export and i % 17 == 11:
            status = "Zustellhindernis"
        cents = cash(day, i)
        amount = german_amount(cents, "." if new_export else "") if cents else ""
        at = begin + timedelta(minutes=7 * i + draw("minute", day, i) % 6)
        weight = f"{draw('kg', day, i) % 24000 / 1000 + 0.15:.3f}".replace(".", ",")
        note = pick(NOTES, "note", day, i)
        who = person(day, i)
        cells = (f"NF{48210000 + draw('id', day) % 900000 + i * 3}", who, city, weight, amount, status)
        lines.append(";".join((*cells, f"{at:%d.%m.%Y %H:%M}", depot, note)))
    text = "\r\n".join(lines) + "\r\n"
    return text.encode("utf-8-sig") if new_export else text.translate(CP1252).encode("cp1252")


def pelican(day: str, rows: int) -> bytes:
    begin = datetime.fromisoformat(day) + timedelta(hours=4)
    lines = []
    for i in range(rows):
        city, hub = PLACES[draw("hub", day, i) % len(PLACES)]
        cents = cash("pl", day, i)
        row = {
            "ref": f"PL-{draw('ref', day) % 90000 + 10000 + i}",
            "to": person("pl", day, i),
            "town": city,
            "grams": draw("g", day, i) % 18000 + 90,
            "collect": f"{cents / 100:.2f}" if cents else "",
            "state": pick(PELICAN, "state", day, i),
            "ts": f"{begin + timedelta(minutes=9 * i):%Y-%m-%dT%H:%M:%S}+00:00",
            "hub": hub,
        }
        lines.append(json.dumps(row, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode("utf-8")


def hayate(day: str, rows: int) -> bytes:
    """Tabs, Japanese headings, times in Berlin, amounts in euro with a point."""
    lines = ["伝票番号\tお届け先\t都市\t重量(g)\t代引金額\t状態\t日時\t営業所"]
    begin = datetime.fromisoformat(day) + timedelta(hours=8)
    for i in range(rows):
        cents = cash("hy", day, i)
        at = begin + timedelta(minutes=11 * i)
        cells = (
            f"HY-{3300 + i:06}",
            pick(HAYATE_PEOPLE, "hy", day, i),
            "デュッセルドルフ" if i % 4 else "Neuss",
            str(draw("hyg", day, i) % 9000 + 200),
            f"{cents / 100:,.2f}" if cents else "-",
            pick(HAYATE, "hys", day, i),
            f"{at:%Y/%m/%d %H:%M}",
            pick(HAYATE_HUBS, "hyh", day, i),
        )
        lines.append("\t".join(cells))
    return ("\n".join(lines) + "\n").encode("utf-8")


def import_log() -> bytes:
    """The nightly import from the 11th to the 14th: three quiet nights, then every Nordfracht row refused."""
    lines = []
    for day in (11, 12, 13, 14):
        lines += _quiet_night(day)
        lines += _refusals(day, 110) if day == 14 else _few_warnings(day)
    return ("\n".join(lines) + "\n").encode("utf-8")


def _quiet_night(day: int) -> list[str]:
    stamp = f"2025-03-{day} 05:0"
    rows = draw("rows", day) % 400 + 900
    return [
        f"{stamp}0:01,{draw(day, 1) % 900 + 100} INFO start, database var/waybill.db, 3 migrations known",
        f"{stamp}0:01,{draw(day, 2) % 900 + 100} INFO fetched pelican-2025-03-{day}.jsonl ({rows * 178} bytes)",
        f"{stamp}0:{draw(day, 3) % 20 + 20},{draw(day, 4) % 900 + 100} INFO pelican-2025-03-{day}.jsonl: "
        f"{rows} rows, {rows - draw(day, 5) % 40} new events, 0 bad, {draw(day, 6) % 900 / 100 + 18:.2f} s",
        f"{stamp}1:02,{draw(day, 7) % 900 + 100} INFO fetched nordfracht-2025-03-{day}.csv "
        f"({draw(day, 8) % 9000 + 90000} bytes)",
    ]


def _few_warnings(day: int) -> list[str]:
    name = f"nordfracht-2025-03-{day}.csv"
    reasons = ("unknown status 'verzögert'", "time data '' does not match format '%d.%m.%Y %H:%M'")
    lines = [
        f"2025-03-{day} 05:01:{20 + i},{draw('w', day, i) % 900 + 100} WARNING {name} "
        f"line {draw('l', day, i) % 900 + 2}: {reasons[draw('r', day, i) % 2]}"
        for i in range(draw("few", day) % 3 + 2)
    ]
    rows = draw("nf", day) % 300 + 800
    spent = draw("s", day) % 900 / 100 + 21
    tail = f"{name}: {rows} rows, {rows - len(lines)} new events, {len(lines)} bad, {spent:.2f} s"
    return [
        *lines,
        f"2025-03-{day} 05:01:58,{draw('t', day) % 900 + 100} INFO {tail}",
        f"2025-03-{day} 05:01:58,999 INFO done",
    ]


def _refusals(day: int, rows: int) -> list[str]:
    name = f"nordfracht-2025-03-{day}.csv"
    lines = [
        f"2025-03-{day} 05:01:{3 + i // 40:02},{draw('ms', i) % 900 + 100} WARNING {name} line {i + 2}: 'Sendungsnr'"
        for i in range(rows)
    ]
    return [*lines, f"2025-03-{day} 05:01:06,014 INFO {name}: {rows} rows, 0 new events, {rows} bad, 2.97 s"]


def serve_log() -> bytes:
    """One morning of the HTTP server while the import runs: quick answers, then writers in each other's way."""
    lines = []
    begin = datetime.fromisoformat("2025-04-08T05:00:02")
    paths = ("/parcels/NF48%06d", "/parcels/PL-%05d", "/parcels/NF48%06d/events", "/search?q=brandt%.0s", "/stats%.0s")
    for i in range(150):
        at = begin + timedelta(milliseconds=870 * i + draw("jit", i) % 500)
        path = pick(paths, "path", i) % (draw("n", i) % 90000 + 10000)
        locked = 60 <= i < 112 and "parcels" in path and draw("lock", i) % 3 == 0
        status, spent = (500, 5000 + draw("ms", i) % 40) if locked else (200, draw("ms", i) % 38 + 2)
        lines.append(f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03} INFO GET {path} {status} {spent} ms")
        if locked:
            lines += _locked(at, path)
    return ("\n".join(lines) + "\n").encode("utf-8")


def _locked(at: datetime, path: str) -> list[str]:
    return [
        f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03} ERROR request failed: {path.split('?')[0]}",
        "Traceback (most recent call last):",
        '  File "/srv/waybill/waybill/api.py", line 27, in __call__',
        "    status, body = self.route(environ)",
        "                   ^^^^^^^^^^^^^^^^^^^",
        '  File "/srv/waybill/waybill/store.py", line 107, in parcel',
        '    row = self.db.execute("SELECT * FROM parcels WHERE id = ?", (parcel_id,)).fetchone()',
        "          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "sqlite3.OperationalError: database is locked",
    ]


def samples() -> Mapping[str, bytes]:
    """What lies in the project when the session begins."""
    return {
        "data/samples/nordfracht-2025-02-27.csv": nordfracht("2025-02-27", 48, new_export=False),
        "data/samples/nordfracht-2025-03-14.csv": nordfracht("2025-03-14", 110, new_export=True),
        "data/samples/pelican-2025-03-14.jsonl": pelican("2025-03-14", 60),
        "logs/import-2025-03-14.log": import_log(),
    }

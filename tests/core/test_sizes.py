"""What a sizer remembers, and for how long. What each part costs is in test_meter.py."""

from foldline.core.counting.sizes import SWEPT_FROM, Sizer
from foldline.model import Message, Origin, Text


class Letters:
    """A token for each character."""

    name, error = "letters", 0.0

    def count(self, text):
        return len(text)


def said(number):
    return Message("user", Origin.USER, (Text("x" * number),))


def test_messages_that_are_gone_are_forgotten():
    sizer = Sizer(Letters())
    for number in range(10 * SWEPT_FROM):
        sizer.message(said(number % 7))
    assert len(sizer._messages) <= SWEPT_FROM


def test_messages_that_are_there_are_sized_once_however_many_came_between():
    sizer, kept = Sizer(Letters()), [said(number) for number in range(SWEPT_FROM)]
    first = [sizer.message(message) for message in kept]
    for number in range(5 * SWEPT_FROM):
        sizer.message(said(number % 7))
    before = sizer.work.messages
    assert [sizer.message(message) for message in kept] == first
    assert sizer.work.messages == before


def test_a_message_in_the_place_of_one_that_is_gone_has_its_own_size():
    sizer = Sizer(Letters())
    sizes = {sizer.message(said(number)).text - sizer.message(said(0)).text - number for number in range(200)}
    assert sizes == {0}

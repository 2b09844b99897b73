"""What is given to a call, refused at once where there can be no such thing. Each refusal says what to give instead.

Knows nothing of what is then done with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foldline.errors import InvalidSetting


def is_whole(given: object) -> bool:
    """A whole number. True is one to Python, and never meant as one."""
    return isinstance(given, int) and not isinstance(given, bool)


def check_kind(what: str, given: object, kind: type | tuple[type, ...], example: str) -> None:
    """Something of this kind, or None."""
    if given is not None and not isinstance(given, kind):
        raise InvalidSetting(f"{what} is {given!r:.80}; give {example}, or leave it out")


def check_known(what: str, name: object, names: Iterable[str]) -> None:
    """One of these names."""
    if not isinstance(name, str) or name not in names:
        raise InvalidSetting(f"there is no {what} {name!r}; give one of {', '.join(names)}")


def check_switches(**given: object) -> None:
    """Each is True or False: Python would take "no" for yes, and None for no."""
    for what, value in given.items():
        if not isinstance(value, bool):
            raise InvalidSetting(f"{what} is {value!r:.80}; give True or False, or leave it out")


def check_request(given: object) -> None:
    """The whole request, as a client's function takes it."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InvalidSetting(f"the request is a {kind}; give the arguments of the call as a dict, or use fit")


def texts_of(what: str, given: Iterable[str]) -> tuple[str, ...]:
    """Several texts. One alone would be taken for its letters."""
    texts = tuple(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else (None,)
    if not all(isinstance(text, str) for text in texts):
        raise InvalidSetting(f"{what} is {given!r:.80}; give a list of texts, or leave it out")
    return tuple(filter(None, texts))


def check_seconds(what: str, given: object, used: str) -> None:
    """Seconds, 0 or more."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not given >= 0:
        raise InvalidSetting(f"{what} is {given!r:.80}; give the seconds {used}, 0 or more")


def check_to(given: int | None, what: str) -> None:
    """How many tokens something may have; None where that is not said."""
    if given is not None and (not is_whole(given) or given < 1):
        raise InvalidSetting(f"to is {given!r}; give the tokens {what} may have as a whole number, 1 or more")


def check_focus(given: object) -> None:
    """Words."""
    if not isinstance(given, str):
        raise InvalidSetting(f"focus is {given!r}; give what to attend to as text, or leave it out")


def pivot_of(given: int, count: int) -> int:
    """The message to divide at, as a place among so many, one counted from the end too."""
    if not is_whole(given) or not -count <= given <= count:
        raise InvalidSetting(f"pivot {given!r} names no message: there are {count}, counted from 0")
    return given % count if given < 0 else given


def pins_of(given: Iterable[int], count: int) -> tuple[int, ...]:
    """Pins as places among so many messages, those counted from the end too."""
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not isinstance(given, Iterable) or not all(map(is_whole, found)):
        raise InvalidSetting(
            f"pin is {given!r}; give a list of the messages' indices, which are whole numbers, such as [0]"
        )
    for pin in found:
        if not -count <= pin < count:
            raise InvalidSetting(f"pin {pin} names no message: there are {count}, counted from 0")
    return tuple(pin % count for pin in found)


def no_budget(given: object) -> InvalidSetting:
    """The refusal of what is no budget: it is often the window or the model that a budget is made of."""
    wanted = f"Budget(window={given:_})" if isinstance(given, int) and given > 1 else "Budget(window=200_000)"
    model = given if isinstance(given, str) and given else "claude-sonnet-4-5"
    return InvalidSetting(f"budget is {given!r}; give {wanted}, or Budget.for_model({model!r})")

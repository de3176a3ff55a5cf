"""Damage as disks, networks and editors do it, from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from pseudoshot.tools.errors import PseudoshotError

LARGE_NUMBERS = (
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\0\0\0",
    b"\0\0\xff\xff",
)


def cut_off(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def flip_bits(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 4, 32))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def replace_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 2, 16))):
        content[chance.randrange(len(content))] = chance.randrange(256)


def claim_large_numbers(content: bytearray, chance: random.Random) -> None:
    """Sizes and counts live near the start of most files."""
    start = chance.randrange(min(len(content), 200))
    content[start : start + 4] = chance.choice(LARGE_NUMBERS)


def lose_a_part(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    del content[start : start + chance.randrange(1, 64)]


def repeat_a_part(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    content[start:start] = content[start : start + chance.randrange(1, 64)]


def zero_a_block(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    end = min(len(content), start + chance.randrange(1, 512))
    content[start:end] = bytes(end - start)


def append_noise(content: bytearray, chance: random.Random) -> None:
    content.extend(chance.randbytes(chance.randrange(1, 200)))


KINDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    cut_off,
    flip_bits,
    replace_bytes,
    claim_large_numbers,
    lose_a_part,
    repeat_a_part,
    zero_a_block,
    append_noise,
)


def damaged(whole: bytes, times: int, seed: int) -> Iterator[bytes]:
    """Copies of `whole`, each damaged in its own way."""
    chance = random.Random(seed)
    for number in range(times):
        content = bytearray(whole)
        KINDS[number % len(KINDS)](content, chance)
        yield bytes(content)


def one_sentence(error: PseudoshotError) -> None:
    """What every refusal has to be."""
    text = str(error)
    assert text.strip()
    assert "\n" not in text
    assert len(text) < 1000

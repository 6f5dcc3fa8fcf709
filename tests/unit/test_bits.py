"""The system's bit source: never the same bits twice, and no way to learn its key."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest

from hushtable.privacy import system_bits
from hushtable.privacy.bits import _AesCounter
from threads import in_threads
from thresholds import FALSE_ALARM, Z, chi_square_threshold

WORDS = 200_000


def _child_words(n: int) -> bytes:
    """What a forked child draws, without its exit handlers."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, system_bits().words(n).tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        drawn = pipe.read()
    os.waitpid(pid, 0)
    return drawn


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("n", [4, 4096])
def test_forked_children_draw_other_words_than_their_parent_and_each_other(n: int) -> None:
    system_bits().words(8)
    first, second = _child_words(n), _child_words(n)
    parent = system_bits().words(n).tobytes()
    assert len(first) == len(second) == 8 * n
    drawn = [np.frombuffer(part, dtype=np.uint64).tolist() for part in (first, second, parent)]
    assert len({word for words in drawn for word in words}) == 3 * n


def test_a_copied_stream_is_noticed_by_process_and_by_fork_count(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _AesCounter()
    assert not stream.copied
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert stream.copied
    with monkeypatch.context() as patch:
        patch.setattr("hushtable.privacy.bits._GENERATION.count", 99)
        assert stream.copied


def test_threads_draw_different_words_from_one_shared_source() -> None:
    source, drawn = system_bits(), []

    def work() -> None:
        drawn.extend(source.words(1000).tolist())

    in_threads(4, work)
    assert len(set(drawn)) == 4000


def test_small_and_large_requests_never_repeat_a_word() -> None:
    sizes = [0, 1, 5, 2047, 2048, 2049, 8191, 1, 8192, 100_000, 3]
    drawn = np.concatenate([system_bits().words(n) for n in sizes])
    assert drawn.size == sum(sizes) and np.unique(drawn).size == drawn.size and drawn.dtype == np.uint64


def test_bits_are_fair_and_bytes_uniform_and_neighbours_uncorrelated() -> None:
    words = system_bits().words(WORDS)
    octets = words.view(np.uint8)
    ones = np.unpackbits(octets).reshape(WORDS, 64).sum(axis=0)
    assert np.abs(ones - WORDS / 2).max() < Z * np.sqrt(WORDS) / 2
    expected = octets.size / 256
    assert ((np.bincount(octets, minlength=256) - expected) ** 2 / expected).sum() < chi_square_threshold(256)
    centred = words / 2.0**64 - 0.5
    assert abs((centred[1:] * centred[:-1]).sum() * 12) < Z * np.sqrt(WORDS)
    assert FALSE_ALARM <= 1e-9


def test_the_fairness_test_rejects_a_bit_that_is_one_percent_too_often_one() -> None:
    rng = np.random.default_rng(1)
    ones = rng.binomial(WORDS, 0.51)
    assert abs(ones - WORDS / 2) > Z * np.sqrt(WORDS) / 2


def test_the_key_is_not_an_attribute_not_printed_and_not_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    urandom = os.urandom

    def spy(n: int) -> bytes:
        keys.append(urandom(n))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", spy)
    stream = _AesCounter()
    assert [len(key) for key in keys] == [32, 16]
    stream.words(10)
    shown = [repr(stream), str(stream), repr(system_bits())] + [
        repr(getattr(stream, name)) for name in _AesCounter.__slots__
    ]
    for key in keys:
        assert not any(key.hex() in text or repr(key)[2:-1] in text for text in shown)
    for source in (stream, system_bits()):
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                leak(source)

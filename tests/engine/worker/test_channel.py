"""What is sent to a server that takes it slowly, or not at all."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.support.process import SAFETY

from hubserve_engine.worker import channel, protocol
from hubserve_engine.worker.channel import Channel

MOST = 2**20
LARGE = protocol.PieceList(1, [b"x" * 2 * MOST])


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Channel, socket.socket]]:
    monkeypatch.setattr(channel, "_MOST_UNSENT", MOST)
    ours, theirs = socket.socketpair()
    ours.settimeout(SAFETY)
    with ours, theirs:
        yield Channel(theirs), ours


def take(server: socket.socket, count: int) -> list[protocol.FromWorker]:
    frames, found = protocol.FrameBuffer(), list[protocol.FromWorker]()
    while len(found) < count:
        found += map(protocol.decode_from_worker, frames.feed(server.recv(1 << 16)))
    return found


def test_one_message_may_be_larger_than_all_that_may_wait(
    pair: tuple[Channel, socket.socket],
) -> None:
    sender, server = pair
    sender.send(LARGE)
    assert take(server, 1) == [LARGE]
    end = time.monotonic() + SAFETY
    while True:  # what was taken just now may not be counted as sent yet
        try:
            sender.send(LARGE)
            break
        except BrokenPipeError:
            assert time.monotonic() < end
            time.sleep(0.001)
    assert take(server, 1) == [LARGE]


def test_what_the_socket_takes_is_sent_at_once(pair: tuple[Channel, socket.socket]) -> None:
    sender, server = pair
    server.setblocking(False)
    sender.send(protocol.Progress(0.5))
    assert take(server, 1) == [protocol.Progress(0.5)]


def test_frames_stay_in_order_and_whole(pair: tuple[Channel, socket.socket]) -> None:
    """Those that follow one that the socket took a part of wait behind the rest of it."""
    sender, server = pair
    sent: list[protocol.FromWorker] = [LARGE]
    sender.answer(LARGE)
    for number in range(100):
        sent.append(protocol.Progress(number))
        sender.send(protocol.Progress(number))
    assert take(server, 101) == sent


def test_a_server_that_takes_nothing_is_gone(pair: tuple[Channel, socket.socket]) -> None:
    sender, _server = pair
    sender.send(LARGE)
    with pytest.raises(BrokenPipeError):
        sender.send(protocol.Progress(0.5))


def test_answers_wait_for_each_other_and_hold_up_no_step(
    pair: tuple[Channel, socket.socket],
) -> None:
    sender, server = pair
    answers = [protocol.PieceList(id, LARGE.pieces) for id in range(3)]

    def answer() -> None:
        for each in answers:
            sender.answer(each)

    thread = threading.Thread(target=answer)
    thread.start()
    step = protocol.Step([])
    for _ in range(10):
        sender.send(step)
    found = take(server, 13)
    thread.join(SAFETY)
    assert [each for each in found if each != step] == answers


def test_an_answer_to_a_server_that_is_gone_waits_for_nothing(
    pair: tuple[Channel, socket.socket],
) -> None:
    sender, server = pair
    server.close()
    with pytest.raises(BrokenPipeError):
        for _ in range(3):
            sender.answer(LARGE)


def test_a_message_that_nobody_would_take_is_not_sent(
    pair: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, server = pair
    monkeypatch.setattr(protocol, "LARGEST", MOST)
    for send in (sender.send, sender.answer):
        with pytest.raises(protocol.TooLong, match=str(MOST)):
            send(LARGE)
    small = protocol.Tokens(2, [1])
    sender.answer(small)
    assert take(server, 1) == [small]

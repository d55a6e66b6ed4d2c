"""The breaker's pauses."""

from fillmask.cache.breaker import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Breaker
from support.clock import Clock


def test_pauses_grow_to_a_bound_and_start_anew_after_success(clock: Clock) -> None:
    breaker = Breaker("It", clock)
    pauses = []
    for _ in range(8):
        breaker.failed("why")
        start = clock.now
        while not breaker.allows():
            clock.now += 1
        pauses.append(clock.now - start)
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]
    assert not breaker.allows(), "one try at a time after a pause"
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.allows()
    breaker.failed("why")
    clock.now += PAUSE_SECONDS
    assert breaker.allows()


def test_a_clock_that_jumps_back_does_not_keep_the_breaker_open(clock: Clock) -> None:
    breaker = Breaker("It", clock)
    breaker.failed("why")
    clock.now -= LONGEST_PAUSE_SECONDS * 100
    assert breaker.allows()

"""The arithmetic that the demo checks itself by."""

from __future__ import annotations

from dataclasses import replace

from inferlake.demo.reconcile import Counts, claims

FAIR = Counts(rows=682, accepted=650, rejected=32, null_rows=8, different=663, served=663, again=0)


def test_the_sums_of_a_fair_run_hold_and_read_as_arithmetic() -> None:
    first, second = claims(FAIR)
    assert (first.holds, first.sentence) == (True, "682 rows = 650 accepted + 32 rejected")
    assert second.holds
    assert second.sentence == (
        "663 requests counted by the endpoint = 682 rows − 8 without input − 11 equal to another + 0 asked again after "
        "a failure"
    )


def test_a_lost_row_is_found() -> None:
    assert [claim.holds for claim in claims(replace(FAIR, rejected=31))] == [False, True]


def test_a_request_paid_twice_or_never_is_found() -> None:
    for served in (662, 664):
        assert [claim.holds for claim in claims(replace(FAIR, served=served))] == [True, False]


def test_what_was_asked_again_is_due() -> None:
    assert all(claim.holds for claim in claims(replace(FAIR, served=666, again=3)))


def test_an_endpoint_that_is_gone_has_no_count_to_agree_with() -> None:
    assert [claim.sentence for claim in claims(replace(FAIR, served=0, reachable=False))] == [
        "682 rows = 650 accepted + 32 rejected"
    ]

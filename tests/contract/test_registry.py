"""What a driver and a worker may rely on, whichever registry they talk to."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from registry_subject import Subject

from inferlake_registry.client import Client
from inferlake_registry.contract.leases import LeaseRequest
from inferlake_registry.contract.models import Arm, CallSettings, Endpoint, ModelSnapshot, ModelType
from inferlake_registry.contract.problems import (
    AliasNotFound,
    ModelAlreadyExists,
    ModelDisabled,
    ModelNotFound,
    RegistryUnreachable,
    VersionNotFound,
)
from inferlake_registry.contract.runs import RejectedSample, RunReport, UsageReport
from inferlake_registry.contract.statements import Column, ColumnType
from inferlake_sql.errors import InferlakeError, StatementSyntaxError
from inferlake_sql.statements import ContractColumn

URL: Final = "http://127.0.0.1:9/v1/chat/completions"


def create(subject: Subject, properties: str = "'model.type'='chat'", name: str = "") -> None:
    subject.driver.execute(f"CREATE MODEL {name or subject.name} LOCATION '{URL}' PROPERTIES ({properties})")


def test_a_snapshot_is_all_that_a_query_is_planned_with(subject: Subject) -> None:
    create(subject, "'qps.limit'=5, 'request.seed'=1, 'price.input'=0.5")
    snapshot = subject.driver.resolve(subject.name)
    endpoint = Endpoint("1", URL, subject.name, ModelType.CHAT, request={"seed": 1})
    assert snapshot == ModelSnapshot(
        model_id=snapshot.model_id,
        name=subject.name,
        revision=1,
        enabled=True,
        pinned=False,
        arms=(Arm(100, endpoint),),
        settings=CallSettings(qps_limit=5.0, price_input=0.5),
        has_secrets=False,
    )
    assert subject.work(lambda worker: worker.resolve(subject.name)) == snapshot


def test_a_snapshot_has_the_columns_of_input_and_output(subject: Subject) -> None:
    contract = "INPUT (events ARRAY<STRUCT<at TIMESTAMP>>, n INT) OUTPUT (`the label` STRING)"
    subject.driver.execute(
        f"CREATE MODEL {subject.name} {contract} LOCATION '{URL}' PROPERTIES ('model.type' = 'chat')"
    )
    snapshot = subject.work(lambda worker: worker.resolve(subject.name))
    assert snapshot.inputs == (ContractColumn("events", "ARRAY<STRUCT<at: TIMESTAMP>>"), ContractColumn("n", "INT"))
    assert snapshot.outputs == (ContractColumn("the label", "STRING"),)


def test_references_pin(subject: Subject) -> None:
    create(subject)
    subject.driver.execute(f"ALTER MODEL {subject.name} ADD VERSION '2'")
    subject.driver.execute(f"ALTER MODEL {subject.name} VERSION '2' SET ALIAS champion")
    subject.driver.execute(f"ALTER MODEL {subject.name} SET TRAFFIC ('1'=90, '2'=10)")
    split = subject.driver.resolve(subject.name)
    assert [(arm.weight, arm.endpoint.version) for arm in split.arms] == [(90, "1"), (10, "2")]
    for reference in (f"{subject.name}@champion", f"{subject.name}:2"):
        pinned = subject.driver.resolve(reference)
        assert (pinned.pinned, pinned.arms) == (True, (Arm(100, split.arms[1].endpoint),))


def test_errors_are_of_their_own_class(subject: Subject) -> None:
    create(subject)
    with pytest.raises(ModelNotFound) as caught:
        subject.driver.resolve(f"{subject.name}x")
    assert subject.name in (caught.value.fields["near"] or ())  # type: ignore[operator]
    with pytest.raises(VersionNotFound):
        subject.driver.resolve(f"{subject.name}:9")
    with pytest.raises(AliasNotFound):
        subject.driver.resolve(f"{subject.name}@none")
    with pytest.raises(ModelAlreadyExists):
        create(subject)
    with pytest.raises(StatementSyntaxError) as syntax:
        subject.driver.execute("ALTER MODEL m SETT")
    assert syntax.value.fields["line"] == 1
    subject.driver.execute(f"ALTER MODEL {subject.name} DISABLE")
    with pytest.raises(ModelDisabled):
        subject.work(lambda worker: worker.resolve(subject.name))


def test_a_statement_answers_a_typed_table(subject: Subject) -> None:
    create(subject)
    result = subject.driver.execute(f"SHOW VERSIONS IN MODEL {subject.name}")
    assert Column("share", ColumnType.BIGINT) in result.columns
    assert Column("created_at", ColumnType.TIMESTAMP) in result.columns
    assert all(len(row) == len(result.columns) for row in result.rows)
    outcome = subject.driver.execute(f"ALTER MODEL {subject.name} SET VERSION 2.1")
    assert [column.name for column in outcome.columns] == ["action", "model", "version", "message"]
    assert outcome.rows[0][:3] == ("activated", subject.name, "2.1")
    assert outcome.notices


def test_arguments_and_dry_run(subject: Subject) -> None:
    statement = f"CREATE MODEL {subject.name} LOCATION :url"
    assert subject.driver.execute(statement, {"url": URL}, dry_run=True).rows[0][0] == "created"
    with pytest.raises(ModelNotFound):
        subject.driver.resolve(subject.name)
    subject.driver.execute(f"CREATE MODEL {subject.name} LOCATION ?", [URL])
    assert subject.driver.resolve(subject.name).arms[0].endpoint.url == URL


def test_credentials_come_when_they_are_asked_for(subject: Subject) -> None:
    create(subject, "'api.key'='canary-contract', 'header.x-team'='canary-team'")
    assert subject.driver.resolve(subject.name).has_secrets
    first = subject.work(lambda worker: worker.credentials(subject.name))
    assert {name: value.reveal() for name, value in first.headers.items()} == {
        "authorization": "Bearer canary-contract",
        "x-team": "canary-team",
    }
    subject.driver.execute(f"ALTER MODEL {subject.name} SET api.key='canary-rotated'")
    second = subject.work(lambda worker: worker.credentials(subject.name))
    assert second.epoch > first.epoch


def test_leases(subject: Subject) -> None:
    create(subject, "'qps.limit'=10, 'concurrency.limit'=4")
    lease = subject.work(lambda worker: worker.lease(subject.name, LeaseRequest("host:1:a", 100, 0)))
    assert (lease.count, lease.spacing_ms, lease.enabled, lease.qps_limit) == (5, 100, True, 10)
    assert (lease.concurrency, lease.holders) == (4, 1)
    subject.work(lambda worker: worker.release(subject.name, lease.lease_id, 3))
    subject.driver.execute(f"ALTER MODEL {subject.name} DISABLE")
    stopped = subject.work(lambda worker: worker.lease(subject.name, LeaseRequest("host:1:a", 1, 0)))
    assert not stopped.enabled
    assert stopped.epoch > lease.epoch
    with pytest.raises(ModelNotFound):
        subject.work(lambda worker: worker.lease(f"{subject.name}x", LeaseRequest("host:1:a", 1, 0)))


def test_reports_are_idempotent(subject: Subject) -> None:
    run = RunReport(
        run_id=f"run of {subject.name}",
        model=subject.name,
        model_version="1",
        application_id="local",
        started_at="2026-11-30T10:00:00+00:00",
        seconds=1.0,
        rows=2,
        accepted=1,
        rejected=1,
        rejected_by_reason={"schema": 1},
        calls=2,
        from_cache=0,
        prompt_tokens=1,
        completion_tokens=1,
        latency_p50_ms=None,
        latency_p95_ms=None,
        location="/data",
        rejected_table="ai_output_rejected",
    )
    sample = RejectedSample("r", run.run_id, "k", None, None, "schema", "[]", None, None, run.started_at)
    for _ in range(2):
        subject.driver.report_run(run)
        subject.driver.report_rejected(run.run_id, [sample])
    subject.driver.report_rejected(run.run_id, [])
    with pytest.raises(InferlakeError, match="BAD_REQUEST"):
        subject.driver.report_run(replace(run, accepted=5))


def test_usage_is_taken(subject: Subject) -> None:
    usage = UsageReport("host:1:a", subject.name, "1", 3, {"timeout": 1}, 30, 6, {"50": 3})
    subject.work(lambda worker: worker.report_usage([usage, usage]))
    subject.work(lambda worker: worker.report_usage([]))


def test_a_registry_that_is_not_there() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(RegistryUnreachable, match=r"127\.0\.0\.1:9"):
        client.resolve("m")

"""What a call names: what is served now, or one version whatever the split is."""

from __future__ import annotations

from spark_fixtures import Lake

from inferlake import functions as F
from inferlake.planning import Lineage


def test_a_pinned_call_is_marked_and_ignores_the_split(lake: Lake) -> None:
    lake.client.execute(f"ALTER MODEL {lake.model} ADD VERSION '2' PROPERTIES ('prompt.system' = 'other')")
    lake.client.execute(f"ALTER MODEL {lake.model} SET TRAFFIC ('1' = 50, '2' = 50)")
    for reference, pinned, answered_by in (
        (lake.model, False, {"1", "2"}),
        (f"{lake.model}:1", True, {"1"}),
        (f"{lake.model}:2", True, {"2"}),
    ):
        asked = F.ai_function(reference, "text", returns="struct").alias("r")
        frame = lake.spark.range(40).selectExpr("concat('row ', id) AS text").select(asked)
        assert {row.r.version for row in frame.collect()} == answered_by
        lineage = Lineage.read(frame.schema["r"].metadata)
        assert lineage is not None
        assert (lineage.pinned, lineage.version) == (pinned, next(iter(answered_by)) if pinned else None)

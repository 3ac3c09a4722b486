"""Values that gangform refuses as inputs, before there is a document: the server refuses what would be made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from pydantic import ValidationError
from tests.cluster.alteration import Refused, altered
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.queues import racked
from tests.cluster.refusals import SET
from tests.cluster.servings import make, serving
from tests.cluster.test_refusals import REFUSES, answers, bundle

from gangform.findings import InputError
from gangform.inputs.hardware import Gpu
from gangform.units import Bytes


class Row(NamedTuple):
    """One input that is refused, and the document that it would have been."""

    fields: Mapping[str, Any]
    refused: Refused


OUTSIDE = "/mnt/../models"
ROWS = {
    "name-invalid": Row(
        {"name": "Bad_Name"}, Refused(SET, {"metadata>name": "Bad_Name"}, "Bad_Name")
    ),
    "path-refused": Row(
        {"weights": {"source": "nodePath", "path": OUTSIDE}},
        Refused(
            SET, {"P>volumes": [{"name": "w", "hostPath": {"path": OUTSIDE}}]}, "must not contain"
        ),
    ),
    "duration-too-long": Row(
        {"cold_start": f"{2**31}s"},
        Refused(SET, {"C>startupProbe>periodSeconds": 2**31}, f"Invalid value: {-(2**31)}"),
    ),
}


@pytest.mark.claim(REFUSES, "inputs.custom; lab E9")
@pytest.mark.parametrize("code", [*ROWS])
def test_inputs_are_refused_as_the_server_would(
    plain_plane: ControlPlane, saw: Saw, code: str
) -> None:
    row = ROWS[code]
    with pytest.raises(ValidationError) as caught:
        serving(groups=1, **row.fields)
    assert {each["type"] for each in caught.value.errors()} == {code}
    broken = altered(bundle(plain_plane).one(SET), row.refused.changes)
    said = answers(plain_plane, broken, pods=code != "name-invalid")
    assert any(row.refused.says in each for each in said), said
    saw(f"refused as an input; the server: {said[0][:3]}")


@pytest.mark.claim(REFUSES, "inputs.custom; lab E9")
def test_a_resource_that_is_no_extended_one_is_refused(plain_plane: ControlPlane, saw: Saw) -> None:
    with pytest.raises(ValidationError) as caught:
        Gpu(product="X", count=8, visible_memory=Bytes.gib(80), resource="gpus")
    assert {each["type"] for each in caught.value.errors()} == {"resource-not-extended"}
    changes = {"C>resources>limits>gpus": "8", "C>resources>requests>gpus": "8"}
    said = answers(plain_plane, altered(bundle(plain_plane).one(SET), changes), pods=True)
    assert any("gpus" in each for each in said), said
    saw(f"refused as an input; the server: {said[0][:3]}")


@pytest.mark.claim(REFUSES, "admission.kueue flavor-too-large; kueue §1.3")
def test_a_flavor_of_too_many_labels_is_refused(kueue_plane: ControlPlane, saw: Saw) -> None:
    labels = {f"example.com/l{number}": "x" for number in range(9)}
    cluster = racked(kueue_plane.cluster, 4)
    pools = {
        name: pool.model_copy(update={"node_labels": labels})
        for name, pool in cluster.pools.items()
    }
    with pytest.raises(InputError) as caught:
        make(
            cluster.model_copy(update={"pools": pools}),
            serving(groups=1, admission={"backend": "kueue", "queue": "q"}),
        )
    assert "flavor-too-large" in {each.code.id for each in caught.value.findings}
    flavor = bundle(kueue_plane).one("ResourceFlavor")
    said = answers(kueue_plane, altered(flavor, {"spec>nodeLabels": labels}), pods=False)
    assert any("nodeLabels" in each for each in said), said
    saw(f"refused as an input; the server: {said[0][:3]}")

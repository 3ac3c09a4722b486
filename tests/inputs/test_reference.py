"""Field docs and schemas: complete, in words of the file, and the same in every run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter

from gangform.inputs.cluster import Fleet
from gangform.inputs.fields import ROOTS, Spot, annotation_of, fields_of, root_of, spot, words
from gangform.inputs.reference import (
    SchemaKind,
    _catalogue,
    _entries,
    describe,
    field_docs,
    json_schema,
)

KINDS = get_args(SchemaKind)


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_closed_described_sorted_and_the_same_in_every_process(
    kind: SchemaKind,
) -> None:
    schema = json_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["description"] and schema["additionalProperties"] is False
    text = json.dumps(schema)
    assert text == json.dumps(schema, sort_keys=True)
    assert '"null"' not in text and "`None`" not in text
    for node in objects(schema):
        if "$ref" in node:
            assert node["$ref"].removeprefix("#/$defs/") in schema["$defs"]
    script = (
        "import json; from gangform.inputs.reference import json_schema;"
        f"print(json.dumps(json_schema({kind!r})))"
    )
    paths = ":".join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": paths, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == text


def test_a_fleet_names_clusters_or_holds_them() -> None:
    schema = json_schema("fleet")
    one, several = schema["properties"]["cluster"], schema["properties"]["clusters"]
    assert {"type": "string"} in one["anyOf"] and {"$ref": "#/$defs/Cluster"} in one["anyOf"]
    assert several["items"]["anyOf"] == one["anyOf"]
    assert schema["required"] == ["version"]
    assert schema["not"] == {"required": ["cluster", "clusters"]}
    assert "name" in schema["$defs"]["Serving"]["required"]


def test_an_object_in_a_file_of_its_own_needs_no_name() -> None:
    for kind in KINDS:
        if kind != "fleet":
            assert "name" not in json_schema(kind).get("required", ())


def test_descriptions_are_the_docstrings_under_the_fields() -> None:
    tensor = json_schema("serving")["$defs"]["Parallelism"]["properties"]["tensor"]
    assert tensor["description"].startswith("Ranks that share each layer")
    assert tensor["minimum"] == 1 and tensor["default"] == 1


def test_a_field_is_described_by_its_path_and_by_its_end() -> None:
    tensor = describe("servings.parallelism.tensor")
    assert (tensor.type, tensor.default) == ("whole number, at least 1, at most 10000", "1")
    assert tensor.doc.startswith("Ranks that share each layer")
    assert describe("tensor") == describe("servings[0].parallelism.tensor") == tensor
    assert describe("cluster.pools.h100.hardware").path == "clusters.pools.hardware"
    assert "maxSurge" in describe("rollout").fields
    assert describe("servings.engine.version").default == "required"
    assert describe("clusters.kueue.waitForPodsReady").doc.count("absent means") == 1


def test_near_misses_are_named() -> None:
    with pytest.raises(LookupError, match=r"servings\.parallelism\.tensor"):
        describe("servings.parallelism.tensr")
    with pytest.raises(LookupError, match=r"clusters\.name, servings\.name"):
        describe("name")
    for path in ("", ".", "[]", "zzz", "a.b.c", "servings.."):
        try:
            describe(path)
        except LookupError as error:
            assert str(error)


def test_every_path_has_a_type_an_owner_and_is_found_by_the_messages() -> None:
    for path, here in _catalogue().items():
        known = describe(path)
        assert known.path == path and known.type and "typing" not in known.type
        assert "<class" not in known.type and "Annotated" not in known.type
        if here.owner is not None:
            assert spot(here.owner, (path.rpartition(".")[2],)) is not None


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for _, _, field in fields_of(model):
        for one in _entries(annotation_of(field)):
            yield from models(one)


def test_models_have_names_of_their_own_and_every_required_field_a_value_to_write() -> None:
    found = set(models(Fleet))
    assert len({model.__name__ for model in found}) == len(found)
    for model in found:
        for alias, name, field in fields_of(model):
            if field.is_required():
                example = Spot(annotation_of(field), model, field, name).example
                assert example and "some-text" not in example, f"{model.__name__}.{alias}"


def test_an_example_is_accepted_where_it_stands() -> None:
    """A message proposes it: a value that is refused in turn would be no way out."""
    for model in set(models(Fleet)):
        for alias, name, field in fields_of(model):
            here = Spot(annotation_of(field), model, field, name)
            if here.example and "…" not in here.example:
                given = yaml.safe_load(here.example)
                made = TypeAdapter(here.annotation).validate_python(
                    given, by_alias=True, by_name=False
                )
                assert made is not None, f"{model.__name__}.{alias}"


def test_docs_belong_to_fields_that_exist() -> None:
    for model in set(models(Fleet)):
        assert set(field_docs(model)) <= set(model.model_fields)


def test_roots_are_known() -> None:
    assert {words(root_of(kind)) for kind in ROOTS}
    assert root_of("version") is not None and root_of("nothing") is None

"""How keys of inputs are spelled."""

from __future__ import annotations

from pydantic.alias_generators import to_camel

from gangform.inputs.base import Model, in_camel_case
from gangform.inputs.cluster import Fleet


def test_keys_are_spelled_as_pydantic_would() -> None:
    """In a fifth of the time, since there is one for each field of each input."""
    assert Fleet.model_fields

    def below(model: type[Model]) -> list[type[Model]]:
        return [one for each in model.__subclasses__() for one in (each, *below(each))]

    fields = {name for model in below(Model) for name in model.model_fields}
    assert {"max_surge", "nvlink_gpus", "name"} <= fields
    for name in (*fields, "a", "a_b_c"):
        assert in_camel_case(name) == to_camel(name)

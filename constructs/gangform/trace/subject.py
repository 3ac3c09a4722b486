"""One file of the output under examination: how it is made, and how it would be made otherwise."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TypeVar

from gangform.admission.admission import BACKENDS
from gangform.bundle import Bundle, built, bundle, finish, foundation, with_patches
from gangform.documents.document import Document
from gangform.engines.engine import ENGINES
from gangform.findings import Path
from gangform.inputs.alternatives import example, words
from gangform.inputs.base import Model
from gangform.inputs.cluster import Cluster, Fleet, Library
from gangform.inputs.defaults import Defaults, defaults
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import FOUNDATION, Serving
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.trace.causes import (
    Cause,
    Made,
    Make,
    Place,
    Variant,
    followed,
    instead,
    of_formulas,
    of_plan,
    of_table,
)
from gangform.trace.tree import at as value_at
from gangform.trace.tree import leaves, others, replaced

Profile = TypeVar("Profile", bound=Model)

_BUILT_FROM = ("name", "namespace", "workloads", "weights", "traffic", "disruption", "monitoring")
"""Sections of a serving's plan that builders read; what else is in it are inputs, findings and words."""
_REFERENCES: Mapping[str, Path] = {"pools": ("pool",), "priorities": ("admission", "priorityClass")}
"""Maps of a cluster, and where a serving names an entry of them."""
_REGISTRIES: Mapping[Path, Mapping[str, object]] = {
    ("engine", "name"): ENGINES,
    ("admission", "backend"): BACKENDS,
}


class Subject:
    """A serving on a cluster, or the foundation of the cluster."""

    def __init__(self, fleet: Fleet, library: Library, cluster: Cluster, name: str) -> None:
        """`name`: that of the serving, or `foundation`."""
        self.cluster, self.name = cluster, name
        here = fleet.servings_of(cluster)
        self.servings = here if name == FOUNDATION else tuple(s for s in here if s.name == name)
        self.table = defaults(fleet.defaults)
        self._library = self._with_aliases(library)
        self._known: dict[int | None, dict[Place, list[Cause]]] = {}

    def _with_aliases(self, library: Library) -> Library:
        """The library, in which every model and shape in use has a second name too: `others` asks for it."""
        models: dict[str, ModelProfile] = {}
        shapes: dict[str, HardwareShape] = {}
        for serving in self.servings:
            if isinstance(serving.model, str):
                model = library.models[serving.model]
                for name in others(serving.model):
                    models[str(name)] = model.model_copy(update={"name": name})
        for pool in self.cluster.pools.values():
            if isinstance(pool.hardware, str) and pool.hardware in library.hardware:
                shape = library.hardware[pool.hardware]
                for name in others(pool.hardware):
                    shapes[str(name)] = shape.model_copy(update={"name": name})
        return Library(
            ChainMap(models, _view(library.models)), ChainMap(shapes, _view(library.hardware))
        )

    # ── making ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def bundle(self) -> Bundle:
        """The file as `synth` makes it.

        Raises:
            InputError: Something breaks in the plan, or a patch does not fit.
        """
        if self.name == FOUNDATION:
            return foundation(plan_cluster(self.cluster, self._plans, edition=self.table.edition))
        return bundle(self._plans[0])

    def _plan(
        self, serving: Serving, cluster: Cluster | None = None, library: Library | None = None
    ) -> ServingPlan:
        return plan_serving(
            serving,
            cluster=cluster or self.cluster,
            library=library or self._library,
            edition=self.table.edition,
        )

    @cached_property
    def _plans(self) -> list[ServingPlan]:
        """The plans as they are."""
        return [self._plan(serving) for serving in self.servings]

    def _anew(self, cluster: Cluster | None = None, library: Library | None = None) -> Made:
        """The documents, everything derived again."""
        return self._from([self._plan(one, cluster, library) for one in self.servings], cluster)

    def _replanned(self, index: int, serving: Serving, cluster: Cluster | None) -> Made:
        """The documents with one serving, or another version of it, derived again."""
        return self._instead(index, self._plan(serving, cluster), cluster)

    def _instead(self, index: int, plan: ServingPlan, cluster: Cluster | None) -> Made:
        """The documents with one plan in place of another; the foundation sees of it what it demands."""
        alike = self.name == FOUNDATION and cluster in (None, self.cluster)
        if alike and plan.demands == self._plans[index].demands:
            return Made(self.bundle.documents)
        return self._from([*self._plans[:index], plan, *self._plans[index + 1 :]], cluster)

    def _from(self, plans: Sequence[ServingPlan], cluster: Cluster | None = None) -> Made:
        """The documents of plans; what would break in them does not matter here."""
        sound = [plan._replace(findings=()) for plan in plans]
        if self.name == FOUNDATION:
            whole = plan_cluster(cluster or self.cluster, sound, edition=self.table.edition)
            return Made(foundation(whole).documents)
        (plan,) = sound
        ordered = sorted(built(plan), key=lambda one: one.wave)
        return Made(ordered, lambda document: _finished(plan, document))

    # ── making it otherwise ──────────────────────────────────────────────────────────────────

    def causes(self, index: int | None = None) -> dict[Place, list[Cause]]:
        """What every single value of one document follows; of all by default, which takes longer."""
        if index is not None and None in self._known:
            return self._known[None]
        if index not in self._known:
            documents = self.bundle.documents
            self._known[index] = followed(documents, self._variants(index), index)
        return self._known[index]

    def _variants(self, only: int | None = None) -> Iterator[Variant]:
        yield from self._plan_variants(only)
        for index, serving in enumerate(self.servings):
            yield from of_formulas(partial(self._replanned, index, serving, None))
        yield from self._input_variants()
        yield from of_table(self.table, self._under)

    def _under(self, table: Defaults) -> Make:
        def make() -> Made:
            with instead(table):
                return self._anew()

        return make

    def _plan_variants(self, only: int | None) -> Iterator[Variant]:
        for index, plan in enumerate(self._plans):

            def make(path: Path, other: object, index: int = index) -> Make:
                changed = replaced(self._plans[index], path, other)
                return lambda: self._instead(index, changed, None)

            if self.name != FOUNDATION:
                yield from of_plan(plan, self._within(plan, only), make)
                continue
            roles: list[Path] = [
                ("workloads", w, "roles", r, "demand")
                for w, workload in enumerate(plan.workloads)
                for r, _ in enumerate(workload.roles)
            ]
            yield from of_plan(plan, roles, make, ("servings", plan.name))

    def _within(self, plan: ServingPlan, only: int | None) -> Iterator[Path]:
        """The parts of a plan that a document is built from: of what there is for every group its own alone.

        Of other workloads than the first a shared object knows the names.
        """
        name = None if only is None else self.bundle.documents[only].key.name
        for section in _BUILT_FROM:
            if section == "workloads":
                for index, workload in enumerate(plan.workloads):
                    own = index == 0 or name is None or workload.name == name
                    yield (section, index) if own else (section, index, "name")
            elif section == "disruption":
                for index, budget in enumerate(plan.disruption.budgets):
                    if name in (None, budget.name):
                        yield section, "budgets", index
            else:
                yield (section,)

    def _input_variants(self) -> Iterator[Variant]:
        for index, serving in enumerate(self.servings):

            def make(other: Model, cluster: Cluster | None, index: int = index) -> Make:
                assert isinstance(other, Serving)
                return partial(self._replanned, index, other, cluster)

            yield from self._of_model(serving, ("servings", serving.name), make)
        yield from self._shared()
        at = ("clusters", self.cluster.name)
        yield from self._of_model(
            self.cluster, at, lambda other, _: lambda: self._anew(_a_cluster(other))
        )
        yield from self._renamed(at)
        yield from self._profile_variants()

    def _shared(self) -> Iterator[Variant]:
        """Texts that several servings have in common, changed in all of them: a queue for two stays for one."""
        common: dict[tuple[Path, str], list[Serving]] = {}
        for serving in self.servings:
            for path, value in leaves(serving):
                if isinstance(value, str):
                    common.setdefault((path, value), []).append(serving)
        for (path, value), here in common.items():
            if len(here) < 2:
                continue
            for other in self._others(Serving, path, value):
                changed = [
                    replaced(one, path, other) if one in here else one for one in self.servings
                ]
                make = self._with_all(changed, self._with_pool(path, value, str(other)))
                for one in here:
                    yield Variant(Cause("input", ("servings", one.name, *path), value), make)

    def _with_pool(self, path: Path, old: str, new: str) -> Cluster:
        """The cluster, with a pool of that name too where a serving is to name it."""
        if path != ("pool",):
            return self.cluster
        pools = {**self.cluster.pools, new: self.cluster.pools[old]}
        return self.cluster.model_copy(update={"pools": pools})

    def _renamed(self, at: Path) -> Iterator[Variant]:
        """Keys of the cluster's maps by another name, with all servings that refer to them."""
        for field, reference in _REFERENCES.items():
            known: dict[str, object] = getattr(self.cluster, field)
            for key in known:
                for other in map(str, others(key)):
                    renamed = {other if name == key else name: one for name, one in known.items()}
                    cluster = self.cluster.model_copy(update={field: renamed})
                    servings = [
                        replaced(one, reference, other) if value_at(one, reference) == key else one
                        for one in self.servings
                    ]
                    cause = Cause("input", (*at, field, key), key)
                    yield Variant(cause, self._with_all(servings, cluster))

    def _with_all(self, servings: Sequence[Serving], cluster: Cluster) -> Make:
        @cache
        def make() -> Made:
            return self._from([self._plan(one, cluster) for one in servings], cluster)

        return make

    def _of_model(
        self, model: Model, at: Path, make: Callable[[Model, Cluster | None], Make]
    ) -> Iterator[Variant]:
        for path, value in leaves(model):
            for other in self._others(type(model), path, value):
                cluster = None
                if isinstance(model, Serving):
                    cluster = self._with_pool(path, model.pool, str(other))
                cause = Cause("input", (*at, *path), value)
                yield Variant(cause, make(replaced(model, path, other), cluster))

    def _others(self, root: type, path: Path, value: object) -> Iterator[object]:
        if value is None:
            # What is good may be what the plan has chosen by itself.
            for one in example(root, path):
                yield one
                if not isinstance(one, str):
                    yield from others(one)
            return
        known = _REGISTRIES.get(path) if root is Serving else None
        if known is not None:
            yield from (name for name in known if name != value)
            return
        choices = list(words(root, path, value))
        yield from choices or others(value)

    def _profile_variants(self) -> Iterator[Variant]:
        """The models and hardware shapes that are named, not written where they are used."""
        named: dict[Path, Model] = {}
        for serving in self.servings:
            if isinstance(serving.model, str):
                named["models", serving.model] = self._library.models[serving.model]
            shape = self.cluster.pools[serving.pool].hardware
            if isinstance(shape, str):
                named["hardware", shape] = self._library.hardware[shape]
        for at, profile in named.items():

            def make(other: Model, _: Cluster | None, at: Path = at) -> Make:
                kind, name = map(str, at)
                library = Library(self._library.models, self._library.hardware)
                shelf: Mapping[str, Model] = getattr(library, kind)
                setattr(library, kind, ChainMap({name: other}, _view(shelf)))
                return lambda: self._anew(library=library)

            yield from self._of_model(profile, at, make)


def _finished(plan: ServingPlan, document: Document) -> Document:
    """A document as it will be written. Patches of others are left out: they would hit nothing."""
    meant = [one for one in plan.serving.patches if one.kind == document.kind]
    meant = [one for one in meant if one.name in (None, document.key.name)]
    serving = plan.serving.model_copy(update={"patches": tuple(meant)})
    (patched,), _ = with_patches(plan._replace(serving=serving), [document])
    return finish(patched, plan.gitops)


def _a_cluster(model: Model) -> Cluster:
    assert isinstance(model, Cluster)
    return model


def _view(shelf: Mapping[str, Profile]) -> dict[str, Profile]:
    """A shelf as the type that `ChainMap` asks for: it is only read, one entry at a time."""
    return shelf  # type: ignore[return-value]

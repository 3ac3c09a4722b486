"""Real cdk8s constructs over the same documents that the command line writes. Only this module imports cdk8s.

One `ApiObject` a document, its body in one patch: what cdk8s' own escape hatches change afterwards comes after ours,
and the rules judge what will be written. cdk8s runs in Node; where there is none, importing this says what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gangform.node import require

require()

import jsii  # noqa: E402  Node is looked for first: jsii's own error names neither cause nor cure.
from cdk8s import ApiObject, Chart, JsonPatch  # noqa: E402
from constructs import Construct, IValidation  # noqa: E402

from gangform.bundle import Bundle, bundle, foundation, judge_bundles  # noqa: E402
from gangform.documents.document import Document, Key, Manifest  # noqa: E402
from gangform.findings import Finding, Severity, brief, ordered  # noqa: E402
from gangform.inputs.cluster import Cluster, Library  # noqa: E402
from gangform.inputs.serving import Serving  # noqa: E402
from gangform.plan.cluster import ClusterPlan, plan_cluster  # noqa: E402
from gangform.plan.serving import ServingPlan, plan_serving  # noqa: E402

_HEAD = ("apiVersion", "kind", "metadata")


class _Objects(Construct):
    """The objects of one bundle, and the judgement over what became of them."""

    def __init__(self, scope: Construct, id: str, *, made: Bundle, cluster: Cluster) -> None:
        """Make an `ApiObject` for each document."""
        super().__init__(scope, id)
        self._made, self._cluster = made, cluster
        self._judged: tuple[list[Document], tuple[Finding, ...]] | None = None
        self._objects: dict[Key, ApiObject] = {}
        first = _first_workload(made)
        for document in made.documents:
            key = document.key
            # With the namespace: a queue of one name may serve several.
            name = "Default" if key == first else ".".join(filter(None, key[1:])).lower()
            self._objects[key] = _object(self, name, document)
        self.node.add_validation(_Judgement(self))

    @property
    def objects(self) -> Mapping[Key, ApiObject]:
        """Every object, by its key, in the order of the file."""
        return dict(self._objects)

    def find(self, kind: str, name: str | None = None) -> ApiObject:
        """The object of a kind, and of a name where there are several of the kind.

        Raises:
            LookupError: There is none, or more than one; the message names what there is.
        """
        found = [
            key for key in self._objects if key.kind == kind and (name is None or key.name == name)
        ]
        if len(found) == 1:
            return self._objects[found[0]]
        there = ", ".join(f"{key.kind}/{key.name}" for key in self._objects)
        wanted = kind if name is None else f"{kind}/{name}"
        raise LookupError(f"{len(found) or 'no'} objects are {wanted}; there are {there}")

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong in the objects as they are now, patches of the user's code included.

        The other objects of the chart are looked at too: a second budget on our pods is found here. What is wrong
        with those alone is said by nobody.
        """
        documents = tuple(
            Document(
                manifest=_plain(made.to_json()),
                builder=document.builder,
                origin=document.origin,
                wave=document.wave,
            )
            for document, made in zip(self._made.documents, self._objects.values(), strict=True)
        )
        others = self._others()
        looked_at = [*documents, *others]
        # cdk8s validates the whole app once more for each chart that it writes.
        if self._judged is not None and self._judged[0] == looked_at:
            return self._judged[1]
        now = Bundle(name=self._made.name, plan=self._made.plan, documents=documents)
        judged = judge_bundles([now], self._cluster, complete=False, beside=others)
        self._judged = looked_at, ordered([*self._made.plan.findings, *judged])
        return self._judged[1]

    def faults(self) -> list[str]:
        """What breaks in the objects as they are now."""
        return [brief(finding) for finding in self.findings() if finding.breaks]

    def _others(self) -> list[Document]:
        """The objects of the chart that are none of ours."""
        own = {made.node.path for made in self._objects.values()}
        return [
            Document(manifest=_plain(made.to_json()), builder="", origin=None, wave=0)
            for made in Chart.of(self).api_objects
            if made.node.path not in own
        ]


class InferenceBundle(_Objects):
    """One serving in anyone's Chart. `ApiObject.of(bundle)` is the workload."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        serving: Serving,
        cluster: Cluster,
        library: Library | None = None,
        defaults: int = 1,
    ) -> None:
        """Plan the serving and make its objects.

        Args:
            scope: A Chart, or any construct below one.
            id: The construct's id; names of objects do not depend on it.
            serving: What to serve.
            cluster: Where.
            library: What the names of models and hardware refer to; the shipped profiles by default.
            defaults: The edition of gangform's opinions, as `defaults` in a fleet file.

        Raises:
            InputError: With everything that breaks, before any object is made.
        """
        self.plan: ServingPlan = plan_serving(
            serving, cluster=cluster, library=library, edition=defaults
        )
        super().__init__(scope, id, made=bundle(self.plan), cluster=cluster)

    @property
    def workload(self) -> ApiObject:
        """The LeaderWorkerSet or Deployment; the first one where each group is an object of its own."""
        return ApiObject.of(self)


class ClusterFoundation(_Objects):
    """Queues, flavors and topology for the sum of servings. Cluster-scoped objects never take the chart's namespace."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: Cluster,
        servings: Sequence[ServingPlan],
        defaults: int = 1,
    ) -> None:
        """Sum the servings and make the cluster's objects.

        Raises:
            InputError: With what breaks in the sum: quota, packing, names that clash.
        """
        from gangform.synth import refuse

        self.plan: ClusterPlan = plan_cluster(cluster, servings, edition=defaults)
        refuse(self.plan.findings)
        super().__init__(scope, id, made=foundation(self.plan), cluster=cluster)


class InferenceChart(Chart):
    """A Chart with one bundle, writing the same bytes as `gangform synth`."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        serving: Serving,
        cluster: Cluster,
        library: Library | None = None,
        defaults: int = 1,
    ) -> None:
        """Make the chart; its file is `<id>.k8s.yaml`. Arguments and errors are those of `InferenceBundle`."""
        super().__init__(scope, id)
        self.bundle = InferenceBundle(
            self, "bundle", serving=serving, cluster=cluster, library=library, defaults=defaults
        )


@jsii.implements(IValidation)
class _Judgement:
    """What cdk8s asks before it writes."""

    def __init__(self, objects: _Objects) -> None:
        """Remember whose objects to judge."""
        self._of = objects
        self._said: set[str] = set()

    def validate(self) -> list[str]:
        """What breaks; what degrades is said on stderr, once."""
        found = self._of.findings()
        for finding in found:
            text = brief(finding)
            if finding.code.severity is Severity.DEGRADES and text not in self._said:
                self._said.add(text)
                sys.stderr.write(f"{text}\n")
        return [brief(finding) for finding in found if finding.breaks]


def _first_workload(made: Bundle) -> Key | None:
    if not isinstance(made.plan, ServingPlan):
        return None
    workload = made.plan.workloads[0]
    return next(
        document.key
        for document in made.documents
        if document.kind == workload.form.kind and document.key.name == workload.name
    )


def _object(scope: Construct, id: str, document: Document) -> ApiObject:
    """The object of a document: three round trips to Node, however large it is."""
    manifest = document.manifest
    made = ApiObject(
        scope,
        id,
        api_version=str(manifest["apiVersion"]),
        kind=document.kind,
        metadata=_metadata(manifest),
    )
    steps = [JsonPatch.add(f"/{key}", _bare(manifest[key])) for key in manifest if key not in _HEAD]
    if not document.key.namespace and Chart.of(scope).namespace is not None:
        steps.append(JsonPatch.remove("/metadata/namespace"))
    made.add_json_patch(*steps)
    return made


def _metadata(manifest: Manifest) -> Any:
    return _bare(manifest["metadata"])


def _bare(value: Any) -> Any:
    """Plain lists and maps of plain values: jsii takes no tuples and no subclasses."""
    if isinstance(value, Mapping):
        return {str(key): _bare(each) for key, each in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, Iterable):
        return value if isinstance(value, bool) else int(value)
    return [_bare(each) for each in value]


def _plain(value: Any) -> Manifest:
    """What Node gives back, with whole numbers where JavaScript has only one kind of number."""

    def turn(each: Any) -> Any:
        if isinstance(each, Mapping):
            return {key: turn(inner) for key, inner in each.items() if inner is not None}
        if isinstance(each, list):
            return [turn(inner) for inner in each]
        return int(each) if isinstance(each, float) and each.is_integer() else each

    made: Manifest = turn(value)
    return made

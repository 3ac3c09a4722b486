"""Real control planes: one fixture a flavour, started when the first test asks and stopped before the next flavour.

    def test_it_rolls(plain: ControlPlane) -> None:
        plain.namespace("llm")
        plain.kubectl.apply(DIST / "prod-plain/llm-xl.k8s.yaml")
        with watching(plain.api, "/api/v1/pods") as seen:
            seen.until(lambda now: …, within=60, what="all groups are ready")

`plain`     LeaderWorkerSet alone, nodes of prod-plain
`kueue`     with Kueue, nodes of prod-kueue
`volcano`   with Volcano, LeaderWorkerSet's provider for it on, nodes of prod-volcano
`podgroup`  with Volcano, that provider off, nodes of prod-volcano-topology

Each yields the running `ControlPlane` and, after the test, makes it as it was: namespaces of tests and cluster-scoped
objects of tests are gone, the nodes are the flavour's own again (`ControlPlane.reset`). A test asks for one flavour;
tests are run flavour by flavour, so that no more than one is up. Where the programs cannot be built, every test here
is skipped and says why.
"""

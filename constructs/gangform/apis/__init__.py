"""What Kubernetes and its controllers do: keys, bounds, arithmetic, defaults, by release and with evidence.

Facts only. What we prefer is in `inputs.defaults`, what a serving needs is in `plan`.
"""

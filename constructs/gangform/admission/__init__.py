"""Who decides whether a group may start: the backends, each of which turns a demand into labels and objects."""

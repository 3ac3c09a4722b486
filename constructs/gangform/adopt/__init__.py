"""A first serving from a set of groups that runs or that somebody wrote by hand, with what was not read as comments."""

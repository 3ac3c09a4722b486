"""Every number and name of a bundle, derived once, each with its formula and source; then checked."""

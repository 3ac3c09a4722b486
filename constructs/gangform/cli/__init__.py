"""The command line. Imports nothing heavy: each command loads what it needs when it runs."""

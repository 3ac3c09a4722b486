"""Inference engines: what a shape means as a command line, and what the engine refuses at start-up."""

"""Judging manifests that others wrote: what is read, what is judged together, and where each finding stands."""

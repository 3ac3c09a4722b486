"""Kubernetes objects as plain data: what they are, how they are read, patched and written as bytes."""

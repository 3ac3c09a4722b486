"""What a change of documents costs in groups and GPUs, before it is applied."""

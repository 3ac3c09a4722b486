"""What a user declares: models, hardware, clusters and servings, the same from YAML and from Python."""

"""The only writer of files: what belongs into a folder, whose a file there is, and what the disk does."""

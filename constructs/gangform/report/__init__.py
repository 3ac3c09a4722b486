"""One page about a fleet, for people: tables and pictures of what the plan says and of what the bundle holds."""

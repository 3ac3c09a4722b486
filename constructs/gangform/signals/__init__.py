"""What a running serving tells: alerts over series that exist, from the names and numbers of the plan."""

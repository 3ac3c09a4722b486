"""Where each decision of the plan stands in an object. No number, no policy and no arithmetic of its own."""

"""Published results, claim by claim, with our figures beside them."""

"""Page faults: what one takes, who causes them, and the page that causes fewest."""

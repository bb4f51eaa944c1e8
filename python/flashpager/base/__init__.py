"""Ground floor: files, quantities, axes of a design, and what is installed."""

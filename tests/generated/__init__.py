"""Programs drawn by seed whose executed instructions are known by construction."""

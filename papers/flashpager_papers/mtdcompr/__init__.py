"""MTDCOMPR, compressed swap on NAND, PCM and RAM."""

"""Cogniaux and Grimaud, demand paging from NAND at smart card scale, CARDIS 2010."""

"""The pictures: Altair charts of tables of designs, each with its finding as its title.

Tables are those of :mod:`flashpager.replay.table`: one row per design. Colours are Okabe and
Ito's, which colour-blind people can tell apart; lines are labelled where they end.
"""

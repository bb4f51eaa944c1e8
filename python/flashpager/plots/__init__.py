"""The pictures: Altair charts of tables of designs, each with its result as its title.

Tables are those of :mod:`flashpager.replay.table`, with one row per design. Colours are Okabe and
Ito's, which colour-blind people can distinguish; lines are labelled at their ends.
"""

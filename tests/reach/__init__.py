"""The oracle of `flashpager reach`: programs whose flash is inaccessible while the root runs."""

"""Print the plotter's input: G-code of lines, arcs and a spiral, with queries in between."""

import math


def lines() -> list[str]:
    """Return the G-code: a frame, letters of lines, a flower of arcs, a spiral of short lines."""
    out = ["G28", "M104 S60", "G0 Z2 F600"]
    out += ["G0 X5 Y5 F6000", "G1 Z0 F600", "G1 X35 F3000"]
    out += ["G1 Y25", "G1 X5", "G1 Y5", "G0 Z2 F600"]
    for letter in range(4):
        x = 8 + 6.5 * letter
        out += [f"G0 X{x:.3f} Y8 F6000 ; letter {letter}", "G1 Z0 F600"]
        out += [f"G1 X{x + 2:.3f} Y14 F2400", f"G1 X{x + 4:.3f} Y8"]
        out += [f"G0 X{x + 1:.3f} Y11", f"G1 X{x + 3:.3f} Y11", "G0 Z2 F600"]
        out.append("M105")
    for petal in range(6):
        angle = petal * math.pi / 3
        x, y = 20 + 2 * math.cos(angle), 20 + 2 * math.sin(angle)
        i, j = 1.5 * math.cos(angle), 1.5 * math.sin(angle)
        out += [f"G0 X{x:.3f} Y{y:.3f} F6000", "G1 Z0 F600"]
        out += [f"G{2 + petal % 2} X{x:.3f} Y{y:.3f} I{i:.3f} J{j:.3f} F1800", "G0 Z2 F600", "M114"]
    out += ["G0 X12 Y18 F6000", "G1 Z0 F600"]
    for step in range(1, 73):
        angle, radius = step * math.pi / 12, 0.05 * step
        x, y = 12 + radius * math.cos(angle), 18 + radius * math.sin(angle)
        out.append(f"G1 X{x:.3f} Y{y:.3f} F1500")
    return [*out, "G0 Z2 F600", "G1 X1.2.3", "G28", "M105", "M114", "M2"]


print("\n".join(lines()))

"""The text of ``--help``: groups of commands, panels of options, examples; and old spellings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from flashpager.cli.console import note

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

#: The commands on the first screen, in groups. Each command is in one of them.
GROUPS: dict[str, tuple[str, ...]] = {
    "Your program": ("record", "trace", "simulate", "attribute", "heat", "report"),
    "Make it faster": ("tune", "pin", "reach", "layout", "homes", "luck", "explore", "compare"),
    "On the device": ("deploy", "verify", "overlay", "page"),
    "Flash media": ("parts", "boards", "cores", "estimate", "handler", "swap"),
    "Research": ("reproduce", "examples"),
}

#: Panels of options, in this order, each with its options. All others are in the first panel.
_FIRST_PANEL = "Options"
_PANELS: dict[str, tuple[str, ...]] = {
    "Design": (
        *("--board", "--part", "--bus", "--read-mode", "--cache", "--cache-page", "--flash-page"),
        *(
            "--register",
            "--codeword",
            "--tag",
            "--store",
            "--policy",
            "--ways",
            "--icache",
            "--tlb",
        ),
        *("--schedule", "--critical-block", "--prefetch-lines", "--line-fetch", "--processor"),
        *("--reference-bit", "--nor", "--space"),
    ),
    "Needs": ("--ram", "--min-bandwidth", "--max-fault", "--max-slowdown", "--checked-ecc"),
    "Search": (
        "--seconds",
        "--evaluations",
        "--seed",
        "--draws",
        "--luck",
        "--exact",
        "--cluster",
        "--sample",
    ),
    "Output": (
        *("-o", "--output", "--json", "--plot", "--limit", "--sort", "--format", "--order-format"),
        *("--help",),
    ),
}

#: Examples of each command, which follow its options.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "record": (
        "flashpager record -- ./app args",
        "flashpager record --system auto firmware.elf",
        "flashpager record --java -- java -jar app.jar",
    ),
    "simulate": (
        "flashpager simulate examples/traces/card-firmware.trace --board rp2040",
        "flashpager simulate examples/traces/bzip2.trace --cache 4K --policy clock",
        "flashpager simulate examples/traces/card-firmware.trace --unit function --ram 2K",
    ),
    "attribute": ("flashpager attribute examples/traces/card-firmware.trace --board rp2040",),
    "heat": (
        "flashpager heat gmon.out --elf app",
        "flashpager heat swo.bin --elf firmware.elf --plot heat.svg",
    ),
    "explore": (
        "flashpager explore examples/traces/card-firmware.trace --ram 8K --max-fault 200us",
        "flashpager explore examples/traces/card-firmware.trace --cache 2K,4K --policy lru,clock",
    ),
    "layout": ("flashpager layout examples/traces/card-firmware.trace --board rp2040 --seconds 2",),
    "homes": ("flashpager homes examples/traces/troff.trace --part W25N01GV --train 70%",),
    "pin": (
        "flashpager pin examples/traces/card-firmware.trace --board rp2040 --ram 2K --seconds 2",
    ),
    "tune": ("flashpager tune --init build/firmware.elf", "flashpager tune"),
    "luck": ("flashpager luck examples/traces/card-firmware.trace --board rp2040 --draws 50",),
    "estimate": ("flashpager estimate --part MT29F1G01ABAFD --bus 104MHz-x4 --bytes 2K",),
    "handler": ("flashpager handler --board smartcard --walk 4",),
    "trace": (
        "flashpager trace info examples/traces/card-firmware.trace",
        "flashpager trace export examples/traces/phalanx.trace -o phalanx.csv",
    ),
    "report": (
        "flashpager report examples/traces/card-firmware.trace --board rp2040 -o card.html",
    ),
    "parts": ("flashpager parts list --kind nand", "flashpager parts show W25N01GV"),
    "boards": ("flashpager boards", "flashpager boards show rp2040 > own.toml"),
    "cores": ("flashpager cores cortex-m33",),
    "examples": ("flashpager examples copied",),
}

#: Old spellings of options, by command, with the new ones.
_RENAMED: Mapping[str, Mapping[str, str]] = {"swap": {"--cpu": "--processor"}}


def write_groups(formatter: "HelpFormatter", helps: Mapping[str, str]) -> None:
    """Write the commands of the first screen, with the form that takes a program."""
    width = max(map(len, helps))
    for title, names in GROUPS.items():
        rows = [(name.ljust(width), helps[name]) for name in names if name in helps]
        if title == next(iter(GROUPS)):
            about = "Describe a program (ELF), record it, and show what its flash costs."
            rows.insert(0, ("FILE".ljust(width), about))
        with formatter.section(title):
            formatter.write_dl(rows)


class CommandWithPanels(TyperCommand):
    """A command whose help has panels of options, then examples."""

    def __init__(self, *given: Any, **settings: Any) -> None:  # noqa: ANN401  (Typer's own)
        """Let options be checked before arguments, which may start the recording of a program."""
        super().__init__(*given, **settings)
        for parameter in self.params:
            if parameter.param_type_name == "option":
                parameter.is_eager = True

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse arguments; some may be old spellings."""
        return super().parse_args(ctx, current_spellings(self._root_name(ctx), args))

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the options in panels."""
        panels: dict[str, list[tuple[str, str]]] = {_FIRST_PANEL: []}
        panels |= {title: [] for title in _PANELS}
        arguments = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append(record)
            else:
                panels[_panel(parameter)].append(record)
        for title, rows in ({"Arguments": arguments} | panels).items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the epilog, then the examples."""
        super().format_epilog(ctx, formatter)
        write_examples(formatter, self._root_name(ctx))

    @staticmethod
    def _root_name(ctx: "Context") -> str:
        """Return the name of the command below the first one."""
        while ctx.parent is not None and ctx.parent.parent is not None:
            ctx = ctx.parent
        return ctx.info_name or ""


def write_examples(formatter: "HelpFormatter", command: str) -> None:
    """Write the examples of a command."""
    examples = EXAMPLES.get(command, ())
    if not examples:
        return
    with formatter.section("Examples"):
        for example in examples:
            # An example is not wrapped, so that it can be copied whole.
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def add_examples(group: TyperGroup, name: str) -> None:
    """Let the help of a group of commands end with its examples."""
    format_epilog = group.format_epilog

    def with_examples(ctx: "Context", formatter: "HelpFormatter") -> None:
        format_epilog(ctx, formatter)
        write_examples(formatter, name)

    group.format_epilog = with_examples  # type: ignore[method-assign]


def current_spellings(command: str, arguments: Sequence[str]) -> list[str]:
    """Replace old spellings of options by the present ones, and note each."""
    renamed = _RENAMED.get(command, {})
    spelled = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if flag in renamed:
            note(f"note: {flag} is now spelled {renamed[flag]}")
            argument = f"{renamed[flag]}{equals}{value}"  # noqa: PLW2901  (the current spelling)
        spelled.append(argument)
    return spelled


def _panel(parameter: Any) -> str:  # noqa: ANN401  (Click's class is private)
    for title, flags in _PANELS.items():
        if any(flag in flags for flag in parameter.opts):
            return title
    return _FIRST_PANEL

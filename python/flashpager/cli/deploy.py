"""``flashpager deploy``: what a firmware needs to run a design."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from flashpager import _engine
from flashpager._engine import FlashpagerError, TraceInfo
from flashpager.cli import options
from flashpager.cli.console import counting, note, out
from flashpager.cli.verify import Image, ImageVersion, Key, Lookup, Mac
from flashpager.device.authentication import authentication
from flashpager.device.design import LOOKUPS, PagerDesign
from flashpager.device.image import in_pages, layout, read_image
from flashpager.device.sizes import mac_sizes_of, sizes_of
from flashpager.files import appearing_whole
from flashpager.installed import pager_sources
from flashpager.quantities import counted, format_size
from flashpager.trace import Trace


@options.takes_designs()
def deploy(
    trace: options.Trace,
    *,
    flags: options.DesignFlags,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where to; it is made.")
    ],
    lookup: Lookup = LOOKUPS[0],
    image: Image = None,
    mac: Mac = None,
    key: Key = None,
    image_version: ImageVersion = None,
) -> None:
    """Write what a firmware needs to run a program by a design: fp_pager_design.h, flash.bin.

    The header is what the pager in C is compiled for. The flash image is that of --image, in whole
    flash pages. 'flashpager verify' with the same design shows that the pager does what was
    simulated.

    With --tag flash pages have their spare areas behind them, with a tag of each cache page, or of
    each codeword that is larger: a MAC by --key of the bytes, their place and --image-version.
    """
    design = flags.one_design("deploy takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    info = opened.info
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    pager = PagerDesign.of(row, info.image_bytes, lookup)
    secret = authentication(pager.tag_bytes, mac, key, image_version)
    data = read_image(image, info) if image else None
    said = f"{row.design.part}, {row.design.policy}, for {Path(info.program).name or opened.name}"
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{output}: {error.strerror or error}"
        raise FlashpagerError(message) from None
    header = output / "fp_pager_design.h"
    with appearing_whole(header) as path:
        path.write_text(pager.header(said, image_version), encoding="utf-8")
    note(f"{header}: compile {pager_sources() / 'pager.c'} with -I{output}")
    if data is not None:
        flash = output / "flash.bin"
        with appearing_whole(flash) as path:
            path.write_bytes(in_pages(data, pager, secret))
        pages = counted(pager.flash_pages, "flash page")
        spare = f", and {pager.spare_bytes} bytes spare each" if secret else ""
        note(f"{flash}: {pages} of {format_size(pager.flash_page_bytes)}{spare}")
    _say(pager, flags.origins(design))
    if data is None:
        _say_image(info)


def _say(pager: PagerDesign, origins: str) -> None:
    out.print(escape(origins))
    frames = pager.frames * pager.page_bytes
    out.print(f"frames: {pager.frames} of {format_size(pager.page_bytes)}, {frames:,} bytes of RAM")
    sizes = sizes_of(pager)
    for each in sizes:
        out.print(
            f"{each.target}: {each.code:,} bytes of code, {each.ram - frames:,} bytes of RAM "
            "beside the frames"
        )
    if pager.tag_bytes:
        for each in mac_sizes_of(pager):
            out.print(
                f"{each.target}: {each.code:,} bytes of code, {each.ram:,} bytes of RAM: AES-CMAC "
                "and its key"
            )
    if not sizes:
        note(
            "note: code and RAM are not measured without a compiler (Debian: apt install "
            "gcc-arm-none-eabi gcc-avr)"
        )


def _say_image(info: TraceInfo) -> None:
    note(
        "note: no flash image, as a trace has no bytes of it: --image takes a file of "
        f"{info.image_bytes} bytes: {layout(info)}"
    )

"""Measurements of whole hosts, each predicted from the others.

Most hosts of the engine are fitted to the measurements of this module, and its controllers to those
of :mod:`flashpager_papers.reported`, most of which are predicted only. The fitted prices are in the
engine, :func:`flashpager._engine.measured_hosts`. For each host they are the time of an operation
apart from part and bus, the processor's clocks per byte, or what a controller makes of the bus's
time, and the share of the part's clock at which its bus ran. :func:`derived` derives all but the
share again from the measurements. :func:`left_out` predicts each measurement as if its source had
not been published.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from flashpager._engine import (
    Dma,
    Host,
    Peripheral,
    Processor,
    measured_hosts,
)
from flashpager_papers import reported
from flashpager_papers.flash_media import BOARD, MEASURED_CHIP, PARTS
from flashpager_papers.observation import (
    MICROCONTROLLER,
    NOR_LINUX,
    RAW_NAND,
    SPI_NAND,
    LeftOutPrediction,
    Observation,
)

_IMX6, _OCTAL = str(PARTS / "imx6-nand.toml"), str(PARTS / "W35N02JW.toml")
_KIB, _MIB = 1024, 1 << 20
#: The default share of its datasheet's t_R that a page load takes; the engine has the same.
READ_SHARE = 0.83

_OPENWRT = "OpenWrt 25246, 18694"
_ESP = "ESP-IDF components 489"
_W35N = "Linux MTD, W35N02JW"
_IMX6_COMMIT = "Linux 003fe4b9545b"
_IMX28 = "Linux MTD, i.MX28"
_PL353 = "Linux MTD, PL353"
_SAMA5 = "Linux MTD, SAMA5D4"
_MT2712 = "Linux MTD, MT2712"
_MT7621, _EP93XX = "LEDE 1669, MT7621", "Linux MTD, EP93xx"
_HU = "Hu 2010, K9F2G08U"
_RZN1 = "Linux SPI, RZ/N1"
_MX25R = "a published fit, MX25R6435F"
_MBED_DMA, _MBED_POLLED = "Mbed CE 456", "Mbed CE 447"
_ADAFRUIT = "Adafruit SPIFlash 63, 67"
_STM32F407 = "Stack Overflow 76354793"

#: A NAND of ONFI mode 5 and pages of 2 KiB, and of 4; a serial NOR, a serial FRAM.
_NAND, _NOR, _FRAM = "MT29F1G08ABAEA", "W25Q128JV", "MB85RS256TY"


def observations() -> list[Observation]:
    """Return the measurements of this module."""
    return [
        replace(observation, kind=kind)
        for kind, some in (
            (SPI_NAND, _linux_spi_nand()),
            (NOR_LINUX, _linux_nor()),
            (RAW_NAND, _linux_parallel()),
            (MICROCONTROLLER, _firmware()),
            (MICROCONTROLLER, _by_dma()),
            (MICROCONTROLLER, _by_processor()),
        )
        for observation in some
    ]


def _page_us(kib_s: float, page: int) -> float:
    return page * 1e6 / (kib_s * _KIB)


def _linux_spi_nand() -> Iterable[Observation]:
    """SPI NAND under Linux."""
    mebibytes = {"GD5F1GQ5UE": 16, "MT29F4G01ABAFD": 10}
    for part, page, asked, seconds in (
        ("GD5F1GQ5UE", 2048, 20, 2.71),
        ("GD5F1GQ5UE", 2048, 52, 1.37),
        ("MT29F4G01ABAFD", 4096, 20, 1.51901),
        ("MT29F4G01ABAFD", 4096, 50, 0.899474),
    ):
        port = Peripheral(208, controller="mediatek-spi", asked_mhz=asked)
        yield Observation(
            _OPENWRT,
            f"{part} on an MT7986, {asked} MHz asked",
            part,
            Host("208MHz-x4", peripheral=port, processor=Processor(2000), system="linux"),
            seconds * 1e6 * page / (mebibytes[part] * _MIB),
            "linux-mediatek-spi",
            size=page,
        )
    for mode, kib_s in (("1-8-8", 15_058), ("8-8-8", 23_272)):
        yield Observation(
            _W35N,
            f"W35N02JW on an AM62A7, 25 MHz, {mode}",
            _OCTAL,
            Host("25MHz-x8", processor=Processor(1400), system="linux"),
            _page_us(kib_s, 4096),
            "linux-cadence-qspi",
            mode=mode,
            size=4096,
        )


def _linux_nor() -> Iterable[Observation]:
    """Serial NOR under Linux."""
    block = 65_536
    for size, kib_s in ((512, 6464), (1024, 9014), (block, 14_222)):
        yield Observation(
            _RZN1,
            f"S25FL128S on an RZ/N1, {size} bytes",
            _NOR,
            Host(system="linux"),
            _page_us(kib_s, size),
            "" if size == block else "linux-rzn1-qspi",
            size=size,
        )


def _linux_parallel() -> Iterable[Observation]:
    """Raw NAND under Linux."""
    for operation, kib_s in (("read", 15_633), ("cache-read", 18_285)):
        yield Observation(
            _IMX6_COMMIT,
            f"NAND on an i.MX6, 33 MHz, {operation}",
            _IMX6,
            Host("33MHz-x8", processor=Processor(1000), system="linux"),
            _page_us(kib_s, 2048),
            "linux-gpmi-imx6",
            operation=operation,
        )
    for timing, bus, kib_s in ((0, "10MHz-x8", 2680), (5, "50MHz-x8", 5688)):
        yield Observation(
            _IMX28,
            f"MT29F2G08ABAEA on an i.MX28, ONFI mode {timing}",
            _NAND,
            Host(bus, processor=Processor(454), system="linux"),
            _page_us(kib_s, 2048),
            "linux-gpmi-imx28",
        )
    for source, what, mhz, page, kib_s, name in (
        (_PL353, "MT29F2G08ABAEA on a Zynq", 667, 2048, 5765, "linux-pl353-zynq"),
        (_SAMA5, "NAND on a SAMA5D4 Xplained", 600, 4096, 10_330, "linux-atmel-sama5d4"),
    ):
        yield Observation(
            source,
            what,
            _NAND,
            Host(processor=Processor(mhz), system="linux"),
            _page_us(kib_s, page),
            name,
            page_bytes=page,
            fitted_on="50MHz-x8",
        )
    pages = 0x07EC_0000 // 2048
    for what, seconds in (("DMA", 21.77), ("no DMA", 44.60)):
        yield Observation(
            _MT7621,
            f"NAND on an MT7621, {what}",
            _NAND,
            Host(processor=Processor(880), system="linux"),
            seconds * 1e6 / pages,
            "linux-mt7621-nand",
            fitted_on="50MHz-x8",
        )
    yield Observation(
        _EP93XX,
        "K9F1G08U0D on an EP9302",
        "K9F1G08U0D",
        Host(processor=Processor(200), system="linux"),
        _page_us(3567, 2048),
        "linux-ep93xx",
        fitted_on="40MHz-x8",
    )
    for cycles, kib_s in ((3, 14_012), (2, 18_724)):
        yield Observation(
            _MT2712,
            f"MT29F16G08ADBCA on an MT2712, {cycles} clocks of 62.4 MHz",
            _NAND,
            Host(f"62.4MHz/{cycles}-x8", processor=Processor(1200), system="linux"),
            _page_us(kib_s, 4096),
            "linux-mtk-mt2712",
            page_bytes=4096,
        )


def _firmware() -> Iterable[Observation]:
    """Drivers on microcontrollers, and their times for an operation."""
    for mode, us in (("1-1-1", 41_334), ("1-2-2", 27_383), ("1-4-4", 20_829)):
        yield Observation(
            _ESP,
            f"SPI NAND at 40 MHz, {mode}",
            "MT29F4G01ABAFD",
            Host("40MHz-x4", system="firmware", dma=Dma()),
            us / 32,
            "esp-idf-spi-nand",
            mode=mode,
            size=4096,
        )
    yield Observation(
        _HU,
        "K9F2G08U on a SAM9263, its loop listed",
        MEASURED_CHIP,
        Host(
            BOARD.bus,
            memory=BOARD.memory,
            processor=BOARD.processor,
            software=BOARD.software,
            system="firmware",
        ),
        2048 / 5.041,
        "smx-sam9263",
    )
    for size in (256, 4096):
        yield Observation(
            _MX25R,
            f"MX25R6435F at 8 MHz, {size} bytes",
            "MX25R6435F",
            Host("8MHz-x4", system="firmware"),
            67.7 + 0.631 * size,
            "nrf52-mx25r",
            mode="1-4-4",
            size=size,
        )


def _by_dma() -> Iterable[Observation]:
    """DMA on microcontrollers."""
    read = 32_768
    for board, bus_mhz, processor_mhz, mib_s, name in (
        ("STM32F746", 108, 216, 29.09, "stm32f7-qspi-dma"),
        ("STM32F469", 90, 180, 24.32, "stm32f4-qspi-dma"),
        ("STM32L476", 40, 80, 9.43, "stm32l4-qspi-dma"),
        ("STM32H723", 91.6, 550, 42.78, ""),
        ("STM32U575", 80, 160, 37.74, "stm32u5-ospi-dma"),
        ("STM32G474", 85, 170, 13.72, "stm32g4-qspi-dma"),
    ):
        yield Observation(
            _MBED_DMA,
            f"QSPI NOR on an {board}, {bus_mhz} MHz, DMA",
            _NOR,
            Host(
                f"{bus_mhz}MHz-x4",
                processor=Processor(processor_mhz),
                system="firmware",
                dma=Dma(),
            ),
            read / (mib_s * _MIB) * 1e6,
            name,
            size=read,
        )
    for what, part, bus, processor_mhz, kb_s, name in (
        ("FRAM on a SAMD21", _FRAM, "12MHz-x1", 48, 1200, ""),
        # 40 clocks a byte at 12 and at 24 MHz: this SPI has no buffer, and its DMA moves a byte
        # each way. The fitted rate is that of QSPI, whose DMA moves one byte.
        ("NOR on a SAMD21", _NOR, "24MHz-x1", 48, 1200, ""),
        ("FRAM on a SAMD51", _FRAM, "24MHz-x1", 120, 2950, ""),
        ("FRAM on an nRF52840", _FRAM, "32MHz-x1", 64, 3900, ""),
        ("QSPI NOR on an nRF52840", _NOR, "32MHz-x4", 64, 7300, "nrf52-qspi-dma"),
    ):
        yield _adafruit(what, part, bus, processor_mhz, kb_s, name, dma=True)
    yield Observation(
        _STM32F407,
        "NOR on an STM32F407, 40 MHz, DMA",
        _NOR,
        Host("40MHz-x1", processor=Processor(168), system="firmware", dma=Dma()),
        4150,
        size=20 * _KIB,
    )


def _by_processor() -> Iterable[Observation]:
    """Processors of microcontrollers that copy byte by byte."""
    for board, processor_mhz, mib_s, name in (
        ("STM32F746", 216, 4.51, "stm32f7-qspi"),
        ("STM32F469", 180, 2.47, "stm32f4-qspi"),
    ):
        read = 32_768
        port = Peripheral(processor_mhz, controller="stm32-qspi", asked_mhz=100)
        yield Observation(
            _MBED_POLLED,
            f"QSPI NOR on an {board}, 100 MHz asked, no DMA",
            _NOR,
            Host(
                f"{processor_mhz}MHz-x4",
                peripheral=port,
                processor=Processor(processor_mhz),
                system="firmware",
                copied=True,
            ),
            read / (mib_s * _MIB) * 1e6,
            name,
            size=read,
        )
    for what, part, bus, processor_mhz, kb_s, name in (
        ("FRAM on a SAMD21", _FRAM, "12MHz-x1", 48, 490, "samd21-spi"),
        ("NOR on a SAMD21", _NOR, "24MHz-x1", 48, 570, "samd21-spi"),
        ("FRAM on a SAMD51", _FRAM, "24MHz-x1", 120, 1300, "samd51-spi"),
        ("QSPI NOR on a SAMD51", _NOR, "24MHz-x4", 120, 6300, "samd51-qspi"),
    ):
        yield _adafruit(what, part, bus, processor_mhz, kb_s, name, dma=False)


def _adafruit(
    what: str, part: str, bus: str, processor_mhz: float, kb_s: float, name: str, *, dma: bool
) -> Observation:
    size = 4096
    host = Host(
        bus,
        processor=Processor(processor_mhz),
        system="firmware",
        dma=Dma() if dma else None,
        copied=not dma,
    )
    moved = "DMA" if dma else "no DMA"
    clock = bus.partition("MHz")[0]
    return Observation(
        _ADAFRUIT, f"{what}, {clock} MHz, {moved}", part, host, size * 1e3 / kb_s, name, size=size
    )


def derived(seen: Sequence[Observation] | None = None) -> dict[str, list[float]]:
    """Return each host's prices as observed.

    They are µs per operation, clocks per byte, or the time of a transaction over that of the bus.
    """
    prices: dict[str, list[float]] = {}
    in_place: dict[str, list[tuple[int, float]]] = {}
    for observation in published() if seen is None else seen:
        if not observation.name:
            continue
        if observation in reported.observations():
            prices.setdefault(observation.name, []).append(_beside_the_bus(observation))
            continue
        host = observation.host
        known = Host(
            observation.fitted_on or host.bus,
            peripheral=host.peripheral,
            memory=host.memory,
            processor=host.processor,
            software=host.software,
            # The price of moving a byte is the unknown here, or the bus alone moves the data.
            system="linux",
            operation_ns=0,
            array_share=READ_SHARE,
        )
        composed = observation.on(known)
        if observation.source in (_RZN1, _MX25R):
            lead = composed.on_bus.command_ns / 1e3 if host.bus else 0.0
            in_place.setdefault(observation.name, []).append(
                (observation.size or 0, observation.measured_us - lead)
            )
            continue
        if host.dma and observation.source != _ESP:
            value = observation.measured_us * 1e3 / composed.bytes * _clock(host)
        elif host.copied:
            byte_ns = observation.measured_us * 1e3 / composed.bytes - composed.byte.bus_ns
            value = byte_ns * _clock(host)
        else:
            value = observation.measured_us - composed.range.likely_ns / 1e3
        prices.setdefault(observation.name, []).append(value)
    for name, ((less, short), (more, long)) in in_place.items():
        # Each byte takes longer than the bus does; no time is left for the operation itself.
        prices[name] = [short - (long - short) / (more - less) * less]
    return prices


def _beside_the_bus(observation: Observation) -> float:
    """Return what was measured over the bus's time, or less it where a driver took part."""
    bus_us = observation.on(Host(observation.host.bus)).stages[-1].ns / 1e3
    if observation.host.system == "firmware":
        return observation.measured_us - bus_us
    return observation.measured_us / bus_us


def _clock(host: Host) -> float:
    """Clocks of the processor in a nanosecond."""
    return host.processor.clock_mhz / 1e3 if host.processor else 0.0


def published() -> list[Observation]:
    """Return all measurements: those of hosts that are fitted, and those of the files."""
    return [*observations(), *reported.observations()]


def _fitted(observation: Observation) -> str | None:
    """Return the source to leave out if a host is fitted to it, else None."""
    sources = {host.source for host in measured_hosts()}
    return observation.group if observation.group in sources else None


def left_out(seen: Sequence[Observation] | None = None) -> list[LeftOutPrediction]:
    """Predict each measurement from all other sources."""
    predictions = []
    for observation in published() if seen is None else seen:
        span = observation.on(observation.host, without=_fitted(observation)).range
        predictions.append(
            LeftOutPrediction(
                observation, span.low_ns / 1e3, span.likely_ns / 1e3, span.high_ns / 1e3
            )
        )
    return predictions


def unsaid(observation: Observation) -> LeftOutPrediction:
    """Predict a measurement without its source, as for an unknown host."""
    span = observation.on(Host(), without=_fitted(observation)).range
    return LeftOutPrediction(
        observation, span.low_ns / 1e3, span.likely_ns / 1e3, span.high_ns / 1e3
    )


def summary(predicted: Sequence[LeftOutPrediction], aim: str = "") -> str:
    """Summarize the errors of the predictions, the share within their range, and its width.

    Args:
        predicted: predictions with their measurements.
        aim: the median error that was aimed at, in percent.

    """
    aimed = f" ({aim} % was aimed at)" if aim else ""
    inside = sum(prediction.is_inside for prediction in predicted)
    widths = [prediction.width for prediction in predicted]
    sources = len({prediction.observation.source for prediction in predicted})
    return (
        f"{len(predicted)} measurements of {sources} sources, each predicted without its own: "
        f"median error {_error(predicted)}{aimed}, "
        f"{inside} of {len(predicted)} inside the range, "
        f"which is {statistics.median(widths):.1f}x wide in the median"
    )


def _error(predicted: Sequence[LeftOutPrediction]) -> str:
    return f"{100 * statistics.median(abs(prediction.error) for prediction in predicted):.0f} %"

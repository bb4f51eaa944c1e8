"""``flashpager estimate``: the speed of a flash medium, and the causes of lost time."""

from pathlib import Path

from flashpager import _engine
from flashpager._engine import Estimate, FlashpagerError, Host
from flashpager.cli import options
from flashpager.cli.console import note, out, print_json
from flashpager.cli.estimate_flags import EstimateFlags
from flashpager.cli.estimate_view import show_estimate, show_notes, show_sweep, stage_title
from flashpager.media.sweep import EstimateQuery, read_axes, sweep


@options.takes(EstimateFlags)
def estimate(*, flags: EstimateFlags, json: options.Json = False) -> None:
    """Estimate the speed of a flash medium: its physical limit, and the share that is left.

    An operation is composed of the part's cycles. The host's bus stretches them; RAM and the
    driver's instructions are added to each byte; layers above take their measured times. Unknown
    properties of the host are those of measured hosts, and give a range. Megabytes are 10^6
    bytes here, as in the article that describes the method.
    """
    host, part = flags.host()
    queries = flags.queries(part)
    axes = read_axes(flags.sweep or [])
    flags.check_plot()
    if len(queries) != 1 and (flags.plot is not None or axes):
        message = f"{'--plot shows' if flags.plot else '--sweep varies'} one operation"
        raise FlashpagerError(message)
    if axes:
        _sweep(part, host, axes, queries[0], flags.plot, json=json)
        return
    estimates = [query.of(part, host) for query in queries]
    if flags.plot is not None:
        _plot(estimates[0], flags.plot)
    if json:
        fields = [estimate.as_dict() for estimate in estimates]
        print_json({"version": _engine.version(), "estimates": fields})
        return
    for number, estimate in enumerate(estimates):
        if number:
            out.print()
        show_estimate(estimate)
    show_notes(estimates)
    if (line := flags.kept_rate(part, estimates[0].operation_kind)) is not None:
        note(f"note: to keep this rate, {line}")


def _plot(estimate: Estimate, path: Path) -> None:
    from flashpager.plots import picture, waterfall  # noqa: PLC0415  (Altair starts slowly)

    names = [stage_title(stage, estimate) for stage in estimate.stages]
    picture.write(waterfall.chart(estimate, names), path)
    note(f"{path}: {estimate.name}, {estimate.operation_kind}")


def _sweep(
    part: str,
    host: Host,
    axes: dict[str, list[float]],
    query: EstimateQuery,
    plot: Path | None,
    *,
    json: bool,
) -> None:
    """Estimate each point of the axes, and show all."""
    points, left_out = sweep(part, host, axes, query)
    if plot is not None:
        from flashpager.plots import picture, waterfall  # noqa: PLC0415  (Altair starts slowly)

        picture.write(waterfall.sweep_chart(points, list(axes)), plot)
        note(f"{plot}: {len(points)} estimates")
    if json:
        rows = [{"at": point.at, **point.estimate.as_dict()} for point in points]
        print_json({"version": _engine.version(), "sweep": rows, "left_out": left_out})
    else:
        show_sweep(points, list(axes))
    for reason in left_out:
        note(f"left out: {reason}")

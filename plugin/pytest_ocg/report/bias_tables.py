"""Order bias as Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ocg.analysis.order_bias import Kept, OrderBias
from pytest_ocg.report.markup import code, number, plain, table


def render_biases(biases: Sequence[OrderBias]) -> list[str]:
    """For all of them the preferences in one table, then for each how far the order asked for is kept."""
    if not biases:
        return ["There is no reply to look at.", ""]
    lines = ["Whatever order is asked for, in which one do the concepts occur?", "", *_preferences(biases)]
    for bias in biases:
        lines += [_counts(bias), ""]
        lines += [f"{_name(bias)}: covered in order, in percent", ""]
        lines += _kept_table("distance of the asked order from the default order", bias.by_distance)
        lines += _kept_table("place of the first verb asked for", bias.by_first_verb)
        lines += [f"{_name(bias)}: where a concept stands, in percent of the place asked for", "", *_heat_map(bias)]
    return lines


def _counts(bias: OrderBias) -> str:
    return (
        f"{_name(bias)}: {bias.replies:,} replies, {bias.covered:,} with every concept; of these {bias.undecided:,} "
        f"have two at the same word, {bias.echoes:,} repeat the bare list; {bias.without_default:,} replies are at no "
        "distance, since no other one of their set leaves the order asked for"
    )


def _preferences(biases: Sequence[OrderBias]) -> list[str]:
    titles = [
        "model", "replies with an order", "default-order share", "held out", "held out, at random",
        "entropy (bits)", "entropy at random", "at most",
    ]  # fmt: skip
    rows = [
        [
            f"{_name(bias)}{note}", f"{found.replies:,}", number(found.default_share), number(found.held_out_share),
            number(found.held_out_share_at_random), number(found.entropy_bits), number(found.entropy_bits_at_random),
            number(found.most_bits),
        ]
        for bias in biases
        for note, found in (("", bias.as_scored), (", bare lists left out", bias.without_echo))
        if found is bias.as_scored or bias.echoes
    ]  # fmt: skip
    return table(titles, rows)


def _kept_table(title: str, kept: Sequence[Kept]) -> list[str]:
    places = ["none" if one.at is None else str(one.at) for one in kept]
    shares = ["covered in order", *(number(one.coverage_ordered) for one in kept)]
    return table([title, *places], [shares, ["replies", *(f"{one.replies:,.1f}" for one in kept)]])


def _heat_map(bias: OrderBias) -> list[str]:
    places = [str(place + 1) for place in range(bias.concepts)]
    rows = [
        [place, *(number(100 * cell / sum(cells) if sum(cells) else None) for cell in cells)]
        for place, cells in zip(places, bias.as_scored.heat_map, strict=True)
    ]
    return table(["asked at", *(f"at {place}" for place in places)], rows)


def _name(bias: OrderBias) -> str:
    return f"{code(bias.model)} {plain(bias.condition)} {bias.shots}-shot"

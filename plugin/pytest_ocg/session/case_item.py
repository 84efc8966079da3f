"""A test item that takes its case and record directly: over 27,648 items the general way of pytest is slow."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import pluggy
import pytest

from pytest_ocg.run.record import Miss
from pytest_ocg.session.keys import (
    CASE_FIXTURE,
    EXECUTION,
    GENERATION_FIXTURE,
    IHOOK,
    KEYWORDS,
    LOCATIONS,
    MISSED,
    OWN_KEYWORDS,
    Keywords,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

OWN_FIXTURES = frozenset({CASE_FIXTURE, GENERATION_FIXTURE, "request"})


class CaseItem(pytest.Function):
    """A test function whose only fixtures are `ocg_case` and `ocg_generation`.

    pytest computes the same things again for every item: fixtures with two requests and their finalizers, the line of
    the test function, the conftests that apply. That is half the time of a warm run.
    """

    def setup(self) -> None:
        """Set the arguments to the values of the fixtures with these names."""
        case: Any = self.callspec.params[CASE_FIXTURE]
        self.funcargs[CASE_FIXTURE] = case
        if GENERATION_FIXTURE in self.fixturenames:
            self.funcargs[GENERATION_FIXTURE] = self.config.stash[EXECUTION].judged(self, case)

    def runtest(self) -> None:
        """Run the test; a miss is kept for the report and not raised: in hooks an exception takes half a test's time.

        It is raised if a debugger or an `xfail` mark needs the exception.
        """
        if MISSED in self.stash:  # from an earlier attempt at the same test
            del self.stash[MISSED]
        try:
            super().runtest()
        except Miss as miss:
            if self.config.option.usepdb or self.get_closest_marker("xfail") is not None:
                raise
            self.stash[MISSED] = str(miss)

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        """Where the test function is; found once for all its cases."""
        assert self.parent is not None
        locations = self.parent.stash.setdefault(LOCATIONS, {})
        if self.originalname not in locations:
            locations[self.originalname] = super().reportinfo()[:2]
        return *locations[self.originalname], self.name

    @cached_property
    def ihook(self) -> pluggy.HookRelay:
        """The hooks of the conftests that apply to the module; found once for all its tests."""
        assert self.parent is not None
        stash = self.parent.stash
        if IHOOK not in stash:
            stash[IHOOK] = super().ihook
        return stash[IHOOK]


def convert_items(items: Iterable[pytest.Item]) -> None:
    """Turn each item that a CaseItem can replace into a CaseItem; other items do not change."""
    for item in items:
        if type(item) is pytest.Function and _is_plain(item):
            item.__class__ = CaseItem


def passed_report(item: CaseItem, call: pytest.CallInfo[None]) -> pytest.TestReport:
    """The report that pytest makes for a phase without an exception; the item's parents are not searched again."""
    return _report(item, call, _keywords(item), "passed", None, list(item.user_properties))


def verdict_report(
    item: pytest.Item, call: pytest.CallInfo[None], text: str, verdict: tuple[str, str]
) -> pytest.TestReport:
    """The report of a miss or of a case without a reply: one line of text, and the verdict as a property."""
    keywords: Keywords = _keywords(item) if isinstance(item, CaseItem) else dict.fromkeys(item.keywords, 1)
    return _report(item, call, keywords, "failed", text, [*item.user_properties, verdict])


def _report(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    keywords: Keywords,
    outcome: Literal["passed", "failed"],
    text: str | None,
    properties: list[tuple[str, object]],
) -> pytest.TestReport:
    assert call.when != "collect"
    return pytest.TestReport(
        nodeid=getattr(item, "id", item.nodeid),  # newer pytest accepts its own id without parsing the text again
        location=item.location,
        keywords=keywords,
        outcome=outcome,
        longrepr=text,
        when=call.when,
        sections=[(f"Captured {key} {when}", content) for when, key, content in item._report_sections],
        duration=call.duration,
        start=call.start,
        stop=call.stop,
        user_properties=properties,
    )


def _keywords(item: CaseItem) -> Keywords:
    marks, keywords = item.stash.get(OWN_KEYWORDS, (-1, {}))
    if marks == len(item.own_markers):
        return keywords
    assert item.parent is not None  # computed once a test, and again after a phase has added a mark
    inherited = item.parent.stash.setdefault(KEYWORDS, {})
    if not inherited:
        inherited.update(dict.fromkeys(item.parent.keywords, 1))
    names = (item.name, item.callspec.id, *(marker.name for marker in item.own_markers), *vars(item.function))
    found: Keywords = inherited | dict.fromkeys(names, 1)
    item.stash[OWN_KEYWORDS] = len(item.own_markers), found
    return found


def _is_plain(item: pytest.Function) -> bool:
    option = item.config.option
    if item.cls is not None or option.setupshow or option.setuponly or option.setupplan:
        return False
    fixtures = item._fixtureinfo.name2fixturedefs
    return (
        CASE_FIXTURE in item.fixturenames
        and OWN_FIXTURES.issuperset(item.fixturenames)
        and all(len(definitions) == 1 for name, definitions in fixtures.items() if name == GENERATION_FIXTURE)
    )

"""The concept pack `everyday` keeps its promises: balanced, varied, and free of sets that cannot be composed."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_ocg.inputs.files import resource

PACK = resource("fixtures", "concepts", "everyday.jsonl")
COMMONGEN_LITE = Path(__file__).parents[3].parent / "shared" / "data" / "commongen_lite_4.jsonl"
MAKE_UPS = ("NNNN", "NNNV", "NNVV", "NVVV", "VVVV")
SETS_PER_MAKE_UP = 40
MOST_SETS_PER_WORD = 8

ROWS = [json.loads(line) for line in PACK.read_text(encoding="utf-8").splitlines()]

FUNCTION_WORDS = (
    "a about across after an and as at be but by can could dare do down for from get go have in into let like may "
    "might must near need of off on or ought out over past round shall should so than that the this through to under "
    "up use used want will with would you"
)

IRREGULAR_FORMS = {
    "bend_V": "bent", "bleed_V": "bled", "blow_V": "blew blown", "break_V": "broke broken", "build_V": "built",
    "burn_V": "burnt", "burst_V": "", "buy_V": "bought", "catch_V": "caught", "choose_V": "chose chosen",
    "cut_V": "", "dig_V": "dug", "dive_V": "dove", "melt_V": "molten", "mow_V": "mown", "shave_V": "shaven",
    "draw_V": "drew drawn", "drink_V": "drank drunk", "drive_V": "drove driven",
    "eat_V": "ate eaten", "fall_V": "fell fallen", "feed_V": "fed", "find_V": "found", "fly_V": "flew flown",
    "forgive_V": "forgave forgiven", "freeze_V": "froze frozen", "grind_V": "ground", "hang_V": "hung",
    "hide_V": "hid hidden", "hit_V": "", "knit_V": "knit", "learn_V": "learnt", "leave_V": "left", "lend_V": "lent",
    "light_V": "lit", "lose_V": "lost", "pay_V": "paid", "read_V": "", "ride_V": "rode ridden",
    "ring_V": "rang rung", "rise_V": "rose risen", "run_V": "ran", "see_V": "saw seen", "sell_V": "sold",
    "sew_V": "sewn", "sing_V": "sang sung", "sleep_V": "slept", "slide_V": "slid", "spend_V": "spent",
    "spill_V": "spilt", "spin_V": "spun", "spread_V": "", "swim_V": "swam swum", "sweep_V": "swept",
    "throw_V": "threw thrown", "wake_V": "woke woken", "wear_V": "wore worn", "weave_V": "wove woven",
    "wind_V": "wound", "write_V": "wrote written", "child_N": "children", "knife_N": "knives", "leaf_N": "leaves",
    "man_N": "men", "mouse_N": "mice", "scarf_N": "scarves", "shelf_N": "shelves", "tooth_N": "teeth",
}  # fmt: skip


def forms(concept: str) -> frozenset[str]:
    """The spellings a tagged concept may take, rather one too many than one too few."""
    lemma, tag = concept.split("_")
    stem = lemma[:-1] if lemma.endswith("e") else lemma
    stems = [stem, stem + stem[-1]] + ([lemma[:-2] + "y"] if lemma.endswith("ie") else [])
    spelled = {lemma, lemma + "s", lemma + "es", *IRREGULAR_FORMS.get(concept, "").split()}
    if lemma.endswith("y"):
        spelled |= {lemma[:-1] + "ies"} | ({lemma[:-1] + "ied"} if tag == "V" else set())
    if tag == "V":
        spelled |= {each + ending for each in stems for ending in ("ed", "ing")}
    elif lemma.endswith("man"):
        spelled.add(lemma[:-3] + "men")
    return frozenset(spelled)


def faults(concepts: list[str]) -> list[str]:
    """What makes a set unfit for the pack, in words; empty for a fit one."""
    found = []
    if len(concepts) != 4:
        found.append("not four")
    malformed = [concept for concept in concepts if not re.fullmatch(r"[a-z]{2,}_[NV]", concept)]
    if malformed:
        return [*found, f"malformed {malformed}"]
    if concepts != sorted(concepts):
        found.append("not sorted")
    found += [f"function word {concept}" for concept in concepts if concept[:-2] in FUNCTION_WORDS.split()]
    for one, other in itertools.combinations(concepts, 2):
        if forms(one) & forms(other):
            found.append(f"{one} and {other} share a form")
        elif one[:-2].startswith(other[:-2]) or other[:-2].startswith(one[:-2]):
            found.append(f"{one} and {other} share a beginning")
    return found


def make_up(concepts: list[str]) -> str:
    return "".join(sorted(concept[-1] for concept in concepts))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_set_is_four_plain_lemmas_that_cannot_be_mistaken_for_each_other(row):
    assert sorted(row) == ["concept_set", "id"]
    assert faults(row["concept_set"]) == []


@pytest.mark.parametrize(
    ("concepts", "expected"),
    [
        ("bake_V cool_V serve_V slice_V", []),
        ("bake_V cool_V serve_V", ["not four"]),
        ("cool_V bake_V serve_V slice_V", ["not sorted"]),
        ("Bake_V cool_V serve_V slice_V", ["malformed ['Bake_V']"]),
        ("bake_V cool_A serve_V slice_V", ["malformed ['cool_A']"]),
        ("bake_V cool_V hot-dog_N slice_V", ["malformed ['hot-dog_N']"]),
        ("bake_V can_V serve_V slice_V", ["function word can_V"]),
        ("bake_V bake_V serve_V slice_V", ["bake_V and bake_V share a form"]),
        ("hammer_N saw_N see_V wood_N", ["saw_N and see_V share a form"]),
        ("cook_N cook_V pan_N taste_V", ["cook_N and cook_V share a form"]),
        ("leaf_N leave_V rake_V tree_N", ["leaf_N and leave_V share a form"]),
        ("garden_N pick_V rise_V rose_N", ["rise_V and rose_N share a form"]),
        ("build_V building_N paint_V wall_N", ["build_V and building_N share a form"]),
        ("chase_V puppet_N puppy_N run_V", []),
        ("rain_V raincoat_N umbrella_N wear_V", ["rain_V and raincoat_N share a beginning"]),
    ],
)
def test_an_unfit_set_is_reported_with_its_fault(concepts, expected):
    assert faults(concepts.split()) == expected


@pytest.mark.parametrize(
    ("concept", "some"),
    [
        ("study_V", {"study", "studies", "studied", "studying"}),
        ("tie_V", {"tie", "ties", "tied", "tying"}),
        ("hop_V", {"hops", "hopped", "hopping"}),
        ("bake_V", {"bakes", "baked", "baking"}),
        ("freeze_V", {"froze", "frozen", "freezing"}),
        ("fisherman_N", {"fisherman", "fishermen"}),
        ("cherry_N", {"cherry", "cherries"}),
        ("couch_N", {"couches"}),
    ],
)
def test_the_forms_of_a_concept_include_its_inflections(concept, some):
    assert some <= forms(concept)


@pytest.mark.parametrize("letters", MAKE_UPS)
def test_each_make_up_has_forty_sets(letters):
    assert sum(make_up(row["concept_set"]) == letters for row in ROWS) == SETS_PER_MAKE_UP


def test_the_pack_has_two_hundred_sets_with_ids_in_file_order():
    assert [row["id"] for row in ROWS] == [f"everyday-{number:03d}" for number in range(1, 201)]


def test_any_five_rows_from_the_start_hold_all_five_make_ups():
    blocks = [ROWS[start : start + 5] for start in range(0, len(ROWS), 5)]
    assert {tuple(make_up(row["concept_set"]) for row in block) for block in blocks} == {MAKE_UPS}


def test_no_two_sets_have_three_words_in_common():
    words = [(row["id"], {concept[:-2] for concept in row["concept_set"]}) for row in ROWS]
    assert [(a, b) for (a, one), (b, other) in itertools.combinations(words, 2) if len(one & other) >= 3] == []


def test_no_word_is_in_more_than_eight_sets_whatever_its_tag():
    counted = Counter(lemma for row in ROWS for lemma in {concept[:-2] for concept in row["concept_set"]})
    assert {lemma: count for lemma, count in counted.items() if count > MOST_SETS_PER_WORD} == {}


def test_no_set_is_one_of_commongen_lite():
    if not COMMONGEN_LITE.is_file():
        pytest.skip("the CommonGen-lite rows are not at ../shared/data/commongen_lite_4.jsonl")
    lines = COMMONGEN_LITE.read_text(encoding="utf-8").splitlines()
    published = {frozenset(json.loads(line)["concept_set"]) for line in lines}
    assert len(published) == 192
    assert [row["id"] for row in ROWS if frozenset(row["concept_set"]) in published] == []


def test_the_file_is_plain_ascii_with_a_line_a_set_and_nothing_else():
    data = PACK.read_bytes()
    assert data.isascii()
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == len(ROWS)
    assert b"\r" not in data

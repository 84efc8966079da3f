import pytest

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.bleurt_scorer import check_meaning


def meaning(alike: float, unalike: float, published: float = 0.793):
    """A scorer that gives identical, unrelated and paraphrased texts these scores."""

    def score(pairs):
        return [alike if one == other else published if "random" in one else unalike for one, other in pairs]

    return score


@pytest.mark.parametrize(("alike", "unalike"), [(0.98, 0.2), (1.03, -0.3), (0.5, 0.2)])
def test_a_checkpoint_whose_scores_mean_something_passes(alike, unalike):
    assert check_meaning("mine", meaning(alike, unalike)) is None


@pytest.mark.parametrize(
    ("alike", "unalike"),
    [(0.5, 0.21), (0.2, 0.98), (0.4, 0.4), (float("nan"), 0.2), (0.98, float("nan"))],
)
def test_a_checkpoint_with_wrong_scores_is_refused(alike, unalike):
    with pytest.raises(
        MetricError, match=r"BLEURT model 'mine' scores identical texts .* not those of a trained BLEURT-20"
    ):
        check_meaning("mine", meaning(alike, unalike))


@pytest.mark.parametrize("place", range(4))
def test_one_score_that_is_no_number_is_refused_in_any_place(place):
    scores = [0.98, 0.98, 0.2, 0.2]
    scores[place] = float("nan")
    with pytest.raises(MetricError, match="not those of a trained BLEURT-20"):
        check_meaning("mine", lambda pairs: scores)


@pytest.mark.parametrize(
    ("name", "published"), [("lucadiliello/BLEURT-20", 0.7930182), ("lucadiliello/bleurt-20-d12", 0.8080050)]
)
def test_a_known_checkpoint_must_score_as_its_model_card_says(name, published):
    check_meaning(name, meaning(0.98, 0.2, published))
    for wrong in (published + 0.02, published - 0.02, float("nan")):
        with pytest.raises(
            MetricError, match=r"but its model card has 0\.(793|808)0; .* download the checkpoint again"
        ):
            check_meaning(name, meaning(0.98, 0.2, wrong))
    check_meaning("somebody/BLEURT-20", meaning(0.98, 0.2, 0.1))

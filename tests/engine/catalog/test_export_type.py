import pytest

from hubserve_engine.catalog.export_type import export_type, servable
from hubserve_engine.errors import ResolveError


@pytest.mark.parametrize(
    ("wanted", "asked", "chosen"),
    [
        (None, None, None),
        ("Q6_K", None, "q6_k"),
        (None, "F16", "f16"),
        ("q8_0", "Q8_0", "q8_0"),
        ("auto", None, "auto"),
    ],
)
def test_the_type_is_what_was_named(
    wanted: str | None, asked: str | None, chosen: str | None
) -> None:
    assert export_type("o/r", wanted, asked, "--export-type") == chosen


@pytest.mark.parametrize(
    ("wanted", "asked", "said"),
    [
        ("Q6_K", "q8_0", "'o/r:Q6_K' names the type q6_k, and --export-type names q8_0: leave one"),
        ("chat", None, "'chat' is no type that the checkpoint 'o/r' can be exported to; types are"),
        ("Q6K", None, "(did you mean q6_k?); types are auto, f32, f16, bf16, q8_0, "),
        ("FP16", None, "(did you mean f16?)"),
        (None, "q9", "--export-type 'q9' is no type to export to"),
    ],
)
def test_what_is_none_or_two_is_said_with_what_there_is(
    wanted: str | None, asked: str | None, said: str
) -> None:
    with pytest.raises(ResolveError) as caught:
        export_type("o/r", wanted, asked, "--export-type")
    assert said in caught.value.message and caught.value.param == "model"


def test_what_takes_a_matrix_is_made_before_it_is_served() -> None:
    assert servable(None) is None and servable("q4_k_m") == "q4_k_m"
    with pytest.raises(ResolveError, match=r"`hubserve export --type iq2_xs --imatrix FILE`"):
        servable("iq2_xs")

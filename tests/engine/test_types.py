from hubserve_engine.types import (
    Delta,
    Sampling,
    SamplingOptions,
    TokenLogprob,
    TokenProbability,
)


def test_what_a_request_says_goes_over_the_models_defaults() -> None:
    defaults = Sampling(temperature=0.6, top_k=20, seed=3)
    options = SamplingOptions(temperature=0.0, top_p=0.5, ignore_eos=False, logit_bias=())
    assert options.over(defaults) == Sampling(temperature=0.0, top_k=20, top_p=0.5, seed=3)


def test_options_and_settings_are_the_same_fields() -> None:
    assert SamplingOptions.__slots__ == Sampling.__slots__


def test_text_that_is_told_together_keeps_the_probabilities_of_each_token() -> None:
    one, two = (TokenLogprob(TokenProbability(n, b"a", -0.5), offset=n) for n in (0, 1))
    joined = Delta(1, "content", "a", (one,)).followed_by(Delta(1, "content", "b", (two,)))
    assert joined == Delta(1, "content", "ab", (one, two))

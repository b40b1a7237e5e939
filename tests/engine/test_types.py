from hubserve_engine.types import Sampling, SamplingOptions


def test_what_a_request_says_goes_over_the_models_defaults() -> None:
    defaults = Sampling(temperature=0.6, top_k=20, seed=3)
    options = SamplingOptions(temperature=0.0, top_p=0.5, ignore_eos=False, logit_bias=())
    assert options.over(defaults) == Sampling(temperature=0.0, top_k=20, top_p=0.5, seed=3)


def test_options_and_settings_are_the_same_fields() -> None:
    assert SamplingOptions.__slots__ == Sampling.__slots__

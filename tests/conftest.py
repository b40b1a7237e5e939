"""What holds for all tests."""

from hypothesis import settings

# No test is about time, and a busy machine is slow now and then.
settings.register_profile("hubserve", deadline=None)
settings.load_profile("hubserve")

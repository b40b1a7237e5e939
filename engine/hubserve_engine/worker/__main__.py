"""How the server starts a worker: `python -m hubserve_engine.worker DESCRIPTOR BACKEND`."""

import gc
import sys

gc.disable()  # what is imported stays; the loop turns it on again

from hubserve_engine.worker.process import main  # noqa: E402

main(int(sys.argv[1]), sys.argv[2])

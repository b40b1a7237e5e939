"""How the server starts a worker: `python -m hubserve_engine.worker DESCRIPTOR BACKEND`."""

import sys

from hubserve_engine.worker.process import main

main(int(sys.argv[1]), sys.argv[2])

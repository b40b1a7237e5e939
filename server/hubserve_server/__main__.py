"""`python -m hubserve_server` is `hubserve`."""

from hubserve_server.cli import main

main()

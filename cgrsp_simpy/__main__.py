"""`python -m cgrsp_simpy`."""

import sys

from cgrsp_simpy.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""One thread of linear algebra a test process: tests run on all cores at once, and threads of each would wait for each other."""

import os

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported, here and by the commands that tests run

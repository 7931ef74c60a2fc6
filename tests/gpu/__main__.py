"""`python -m tests.gpu`: all tests of this folder, in as many processes as there are cores."""

import os
import subprocess
import sys
from pathlib import Path

MOST = 12


def main() -> int:
    """How many parts failed."""
    count = min(MOST, os.cpu_count() or 1)
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(Path(__file__).parent),
        "-q",
        "-rf",
        "--tb=short",
    ]
    command += ["-p", "no:cacheprovider", *sys.argv[1:]]
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # the parts are processes enough
    parts = [
        subprocess.Popen(
            [*command, f"--part={k}/{count}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment,
        )
        for k in range(count)
    ]  # fmt: skip
    for part in parts:
        print(part.communicate()[0][-6000:], flush=True)
    return sum(part.returncode != 0 for part in parts)


if __name__ == "__main__":
    sys.exit(main())

"""An atheris target: `python -m tests.fuzz.target READER [libFuzzer options] [folders]`.

Coverage of what reads files and of the pure-Python parsers below it leads the search; half of the
changes are our own, which know the format. `run.py` starts targets and judges what they find.
"""

import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

INSTRUMENTED = ("dynamis", "tomllib", "defusedxml", "csv", "zipfile")
# folders; the rest would take 10 s at every start
READING = ("model", "logs", "interop", "bench", "calibration")
ABSENT = (
    "atheris is not installed here: `pip install atheris` (wheels for Linux on x86-64 only); "
    "tests/fuzz/mutate.py needs nothing but dynamis"
)


def fuzz(reader: Any, options: list[str]) -> None:
    """Read what libFuzzer makes up until a file breaks the law; ends the process."""
    import atheris

    from tests.fuzz import warm  # noqa: F401
    from tests.fuzz.mutations import OWN, changed
    from tests.fuzz.oracle import Watch, judge

    reader.warm_up()
    folder = tempfile.TemporaryDirectory(prefix="dynamis-fuzz-")
    watch = Watch(Path(folder.name).resolve())

    def one(data: bytes) -> None:
        verdict = judge(reader, data, watch, hard=False)
        if not verdict.fine:
            raise AssertionError(f"{verdict.kind}: {verdict.detail}")

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if reader.name not in OWN or rng.random() < 0.5:
            return atheris.Mutate(data, most)
        return changed(reader.name, data, rng)[:most]

    atheris.Setup([sys.argv[0], *options], one, custom_mutator=mutate)
    atheris.Fuzz()


def beside() -> list[str]:
    """The modules in folders of the package that read no files."""
    package = Path(__file__).parents[2] / "src" / "dynamis"
    paths = (x.relative_to(package).with_suffix("") for x in package.rglob("*.py"))
    inner = [x.parts for x in paths if len(x.parts) > 1 and x.parts[0] not in READING]
    return [".".join(("dynamis", *x)).removesuffix(".__init__") for x in inner]


def main() -> None:
    """The reader by name; its imports are instrumented."""
    try:
        import atheris
    except ImportError:
        sys.exit(ABSENT)
    with atheris.instrument_imports(list(INSTRUMENTED), beside()):
        from tests.fuzz.readers import READERS
    fuzz(READERS[sys.argv[1]], sys.argv[2:])


if __name__ == "__main__":
    main()

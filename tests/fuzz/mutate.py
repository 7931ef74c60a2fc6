"""Read mutated files and say what became of them: `python tests/fuzz/mutate.py --files 100000`.

A file is determined by reader, seed and number. Each fault is kept once, made as small as it goes,
as a file of the corpus, and `make test` reads it from then on.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # started as a script or as a module

from tests.fuzz.mutations import mutated
from tests.fuzz.oracle import Verdict
from tests.fuzz.readers import CORPUS, READERS, Reader
from tests.fuzz.sandbox import judged

HEADER = ("reader", "files", "accepted", "refused", "else", "worst CPU s", "worst MB", "files/s")


@dataclass
class Tally:
    """What became of the files of one reader."""

    reader: Reader
    counts: dict[str, int] = field(default_factory=dict)
    cpu: float = 0.0
    memory: int = 0
    faults: dict[tuple[str, str], tuple[int, Verdict]] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def add(self, number: int, verdict: Verdict) -> None:
        """One more file; of every fault the one with the lowest number is kept."""
        self.counts[verdict.kind] = self.counts.get(verdict.kind, 0) + 1
        self.cpu, self.memory = max(self.cpu, verdict.cpu), max(self.memory, verdict.memory)
        if not verdict.fine:
            known = self.faults.get(verdict.signature)
            if known is None:
                print(f"    file {number}: {verdict.kind}, {verdict.detail}", file=sys.stderr)
            if known is None or number < known[0]:
                self.faults[verdict.signature] = number, verdict

    def row(self) -> tuple[str, ...]:
        """The reader's line of the table."""
        files = sum(self.counts.values())
        fine = [self.counts.get(x, 0) for x in ("accepted", "refused")]
        counted = (files, *fine, files - sum(fine))
        speed = files / (time.perf_counter() - self.started)
        rest = f"{self.cpu:.3f}", f"{self.memory / 1e6:.0f}", f"{speed:.0f}"
        return (self.reader.name, *map(str, counted), *rest)


def fuzz(reader: Reader, seed: int, numbers: range, jobs: int) -> Tally:
    """Read the files of these numbers."""
    tally = Tally(reader)
    for number, verdict in judged(reader, partial(mutated, reader.name, seed), numbers, jobs):
        tally.add(number, verdict)
    return tally


def kept(reader: Reader, data: bytes, verdict: Verdict, folder: Path) -> Path:
    """The smallest file found that shows the fault, saved under a name of its own."""
    data = smaller(reader, data, verdict)
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()[:8]
    path = folder / f"found-{verdict.kind.lower()}-{digest}{reader.suffix}"
    path.write_bytes(data)
    return path


def smaller(reader: Reader, data: bytes, verdict: Verdict) -> bytes:
    """Halves, quarters and so on taken out as long as the fault stays the same."""
    left, size = 16 if verdict.kind == "slow" else 400, len(data) // 2
    while size and left > 0:
        pieces = [data[:k] + data[k + size :] for k in range(0, len(data), size)][:left]
        left -= len(pieces)
        for number, new in judged(reader, pieces.__getitem__, range(len(pieces))):
            if new.signature == verdict.signature:
                data = pieces[number]
                break
        else:
            size //= 2
    return data


def main() -> int:
    """The command; 1 where anything but a result or our own error came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", nargs="*", default=list(READERS), choices=list(READERS))
    parser.add_argument("--files", type=int, default=1000, help="of each reader")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
    parser.add_argument("--save", type=Path, help="folder for findings instead of the corpus")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.files)
    failed = False
    print("".join(f"{word:>12}" for word in HEADER), flush=True)
    for name in given.reader:
        reader = READERS[name]
        tally = fuzz(reader, given.seed, numbers, given.jobs)
        print("".join(f"{word:>12}" for word in tally.row()), flush=True)
        for number, verdict in sorted(tally.faults.values()):
            folder = CORPUS / name if given.save is None else given.save
            path = kept(reader, mutated(name, given.seed, number), verdict, folder)
            said = json.dumps(verdict.detail)
            print(f"    file {number}: {verdict.kind}, {said} -> {path}", flush=True)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

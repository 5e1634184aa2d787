"""Compares the frames of a recording as perf script and Backsight find them, sample by sample.

usage: frames.py BACKSIGHT RECORDING   prints cells of a table: samples, the same frames, and in how many samples each goes further than
the other, with the frames more, or has another frame.

perf writes offsets in files, and of a caller the address before the one that the call returns to; where a stack was cut, -1 last.
"""

import itertools
import re
import subprocess
import sys

FRAME = re.compile(r"\s+([0-9a-f]+) .*?(\(inlined\))?(?:\(([^()]*)\))?$")


def samples(command):
    """The samples of a text of perf script: lists of addresses and files, innermost first."""
    text = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace").stdout
    for head, lines in itertools.groupby(text, key=lambda line: line.strip() != ""):
        if head:
            found = [FRAME.match(line.rstrip()) for line in list(lines)[1:]]
            yield [(int(m[1], 16), m[3]) for m in found if m and not m[2]]


def main(backsight, recording):
    theirs = samples(["perf", "script", "--no-inline", "-i", recording])
    ours = samples([backsight, "bt", "-f", "perf", recording])
    count = dict.fromkeys(("samples", "same", "further", "more", "shorter", "less", "other"), 0)
    for a, b in zip(ours, theirs):
        b = [(ip + (i > 0), file) for i, (ip, file) in enumerate(b) if ip != 2**64 - 1]
        # What lies in a page is the same in the file and where it is mapped.
        equal = [x % 4096 == y % 4096 and (f == g or "[unknown]" in (f, g)) for (x, f), (y, g) in zip(a, b)]
        count["samples"] += 1
        if not all(equal):
            count["other"] += 1
        elif len(a) > len(b):
            count["further"] += 1
            count["more"] += len(a) - len(b)
        elif len(a) < len(b):
            count["shorter"] += 1
            count["less"] += len(b) - len(a)
        else:
            count["same"] += 1
    print("{samples} | {same} | {further}, by {more} frames | {shorter}, by {less} | {other}".format(**count))


main(*sys.argv[1:])

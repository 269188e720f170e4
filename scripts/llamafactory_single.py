"""Run LLaMA-Factory with Muon's iterations in single precision, like everything else here.

LLaMA-Factory computes them in bfloat16, whose products take 5 to 60 times as long on a processor that only has AVX2: a
step of the small model took 1.2 s instead of 0.23 s. The arguments are llamafactory-cli's.
"""

import sys

from llamafactory.cli import main
from llamafactory.third_party.muon import muon

iterate = muon.zeropower_via_newtonschulz5


class Single:
    """A matrix that stays in single precision when it is converted to bfloat16."""

    def __init__(self, matrix):
        self.matrix, self.shape, self.size = matrix, matrix.shape, matrix.size

    def bfloat16(self):
        return self.matrix


muon.zeropower_via_newtonschulz5 = lambda matrix, steps: iterate(Single(matrix), steps)

if __name__ == "__main__":
    sys.exit(main())

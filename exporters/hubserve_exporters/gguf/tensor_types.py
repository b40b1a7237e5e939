"""The encodings that a tensor can have in a GGUF file."""

from enum import Enum
from math import prod

from .errors import GGUFError


class TensorType(Enum):
    """A ggml tensor type: its number in files, the elements of a block, and a block's bytes.

    Source: `enum ggml_type` of ggml.h and the block structs of ggml-common.h, ggml 0.25.3. The
    numbers 4, 5, 31-33 and 36-38 were taken back upstream; files that have them cannot be read.
    """

    F32 = 0, 1, 4
    F16 = 1, 1, 2
    Q4_0 = 2, 32, 18
    Q4_1 = 3, 32, 20
    Q5_0 = 6, 32, 22
    Q5_1 = 7, 32, 24
    Q8_0 = 8, 32, 34
    Q8_1 = 9, 32, 36
    Q2_K = 10, 256, 84
    Q3_K = 11, 256, 110
    Q4_K = 12, 256, 144
    Q5_K = 13, 256, 176
    Q6_K = 14, 256, 210
    Q8_K = 15, 256, 292
    IQ2_XXS = 16, 256, 66
    IQ2_XS = 17, 256, 74
    IQ3_XXS = 18, 256, 98
    IQ1_S = 19, 256, 50
    IQ4_NL = 20, 32, 18
    IQ3_S = 21, 256, 110
    IQ2_S = 22, 256, 82
    IQ4_XS = 23, 256, 136
    I8 = 24, 1, 1
    I16 = 25, 1, 2
    I32 = 26, 1, 4
    I64 = 27, 1, 8
    F64 = 28, 1, 8
    IQ1_M = 29, 256, 56
    BF16 = 30, 1, 2
    TQ1_0 = 34, 256, 54
    TQ2_0 = 35, 256, 66
    MXFP4 = 39, 32, 17
    NVFP4 = 40, 64, 36
    Q1_0 = 41, 128, 18
    Q2_0 = 42, 64, 18

    def __init__(self, number: int, block_elements: int, block_bytes: int) -> None:
        self.number = number
        self.block_elements = block_elements
        self.block_bytes = block_bytes

    def size(self, shape: tuple[int, ...]) -> int:
        """Bytes of a tensor of this shape, row length first. Raises GGUFError on a split block."""
        if shape[0] % self.block_elements:
            raise GGUFError(
                f"rows of {shape[0]} elements do not divide into {self.name} blocks of "
                f"{self.block_elements}"
            )
        return prod(shape) // self.block_elements * self.block_bytes


TENSOR_TYPES = {member.number: member for member in TensorType}
"""Every type by its number in files."""

"""Four bits with a scale, as gpt-oss has them."""

from dataclasses import dataclass

import numpy as np

from hubserve_exporters.errors import ExportError
from hubserve_exporters.operations.operation import Operation, Tensors
from hubserve_exporters.tensor import MXFP4, Array, Tensor


@dataclass(frozen=True, slots=True)
class PackMxfp4(Operation):
    """Codes and scales of MXFP4 become blocks of one scale and the codes of 32 numbers.

    As gpt-oss has them: 16 bytes, each with one number in its low and the next one in its high
    half. In llama.cpp byte i has number i, and number i + 16 (block_mxfp4 of ggml-common.h).
    """

    def forward(self, tensors: Tensors) -> list[Tensor]:
        codes, scales = tensors
        if codes.shape != (*scales.shape, 16) or {codes.dtype, scales.dtype} != {np.dtype("u1")}:
            raise ExportError(
                f"it has the shape {codes.shape} of {codes.dtype}, with scales {scales.shape} of"
                f" {scales.dtype}; 16 bytes for each scale are needed"
            )

        def read(start: int, stop: int) -> Array:
            bytes_ = codes.read(start, stop)
            numbers = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(*bytes_.shape[:-1], 32)
            blocks = np.empty(bytes_.shape[:-1], MXFP4)
            blocks["scale"] = scales.read(start, stop)
            blocks["codes"] = numbers[..., :16] | numbers[..., 16:] << 4
            return blocks

        return [Tensor(scales.shape, MXFP4, read)]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        (blocks,) = tensors

        def read_codes(start: int, stop: int) -> Array:
            bytes_ = blocks.read(start, stop)["codes"]
            numbers = np.concatenate([bytes_ & 15, bytes_ >> 4], -1)
            codes: Array = numbers[..., ::2] | numbers[..., 1::2] << 4
            return codes

        def read_scales(start: int, stop: int) -> Array:
            scales: Array = blocks.read(start, stop)["scale"]
            return scales

        byte = np.dtype("u1")
        return [
            Tensor((*blocks.shape, 16), byte, read_codes),
            Tensor(blocks.shape, byte, read_scales),
        ]

#!/usr/bin/env python3
"""Prints the pHash and dHash of pictures, as Python's ImageHash 4.3 computes them.

ImageHash itself is not needed, only what it computes with: Pillow and SciPy. To make
golden.txt anew:

    go test ./internal/picture -run TestReference -write /tmp/pictures
    python3 internal/picture/testdata/reference.py /tmp/pictures/* \
        > internal/picture/testdata/golden.txt

It was made with Pillow 9.4, SciPy 1.10 and NumPy 1.24.
"""
import os
import sys

import numpy
import scipy.fftpack
from PIL import Image


def grey(path, width, height):
    with Image.open(path) as picture:
        small = picture.convert("L").resize((width, height), Image.Resampling.LANCZOS)
    return numpy.asarray(small)


def digits(bits):
    number = 0
    for bit in bits.flatten():
        number = number << 1 | int(bit)
    return f"{number:016x}"


def phash(path):
    columns = scipy.fftpack.dct(grey(path, 32, 32), axis=0)
    low = scipy.fftpack.dct(columns, axis=1)[:8, :8]
    return digits(low > numpy.median(low))


def dhash(path):
    cells = grey(path, 9, 8)
    return digits(cells[:, 1:] > cells[:, :-1])


for path in sys.argv[1:]:
    print(os.path.basename(path), phash(path), dhash(path))

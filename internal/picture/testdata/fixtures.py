#!/usr/bin/env python3
"""Makes the files that Go has no encoder for, from a picture of TestReference:

    go test ./internal/picture -run TestReference -write /tmp/pictures
    python3 fixtures.py /tmp/pictures/181-landscape-1024x768.png
"""
import os
import subprocess
import sys

from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(here, name)


picture = Image.open(sys.argv[1]).convert("RGB")
large = picture.resize((1024, 1024), Image.Resampling.BILINEAR)
large.save(path("progressive.jpg"), quality=60, progressive=True)
large.save(path("lossy.webp"), quality=50, method=4)
small = picture.resize((128, 96), Image.Resampling.BILINEAR)
small.save(path("small.png"))
small.save(path("lossless.webp"), lossless=True, method=6)
small.convert("CMYK").save(path("cmyk.jpg"), quality=85)
small.save(path("lzw.tiff"), compression="tiff_lzw")
see_through = small.convert("RGBA")
see_through.putalpha(small.convert("L"))
see_through.save(path("alpha.webp"), quality=80)
see_through.save(path("alpha.png"))
frames = [see_through.rotate(90 * n) for n in range(3)]
frames[0].save(path("animated.webp"), save_all=True, append_images=frames[1:], duration=100, quality=80)
frames[0].convert("RGB").save(path("animated.png"), save_all=True, append_images=[f.convert("RGB") for f in frames[1:]])
subprocess.run(["convert", path("small.png"), "-interlace", "PNG", "PNG24:" + path("interlaced.png")], check=True)
subprocess.run(["convert", path("small.png"), "-endian", "MSB", "-compress", "Zip", path("big-endian.tiff")], check=True)
subprocess.run(["convert", path("small.png"), "-interlace", "JPEG", "-sampling-factor", "4:2:0", path("small-progressive.jpg")], check=True)

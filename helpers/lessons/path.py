"""Show the path of the course, with the part lit that a lesson adds: pictures that never change,
drawn by helpers/tools/path.py."""

import struct

from ..attention.data import DATA, rows_of
from ..pictures.still import Still

FOLDER, TEXTS = DATA / "path", "texts.csv"


class Drawn(Still):
    """A picture that is a PNG file already."""

    def __init__(self, file, alt):
        super().__init__(None, alt)
        self._png = file.read_bytes()

    def png(self):
        return self._png

    @property
    def width(self):
        return struct.unpack(">I", self._png[16:20])[0] // 2  # as every PNG begins


def course_path(part):
    """Return the path of the course as a Still: the part that a lesson adds is lit, what comes
    later is pale.  part: the name of a picture in data/path, such as "scores"."""
    return Drawn(FOLDER / f"{part}.png", dict(rows_of(FOLDER / TEXTS))[part])

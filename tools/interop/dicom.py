"""DICOM storage: DCMTK's storescu, and pynetdicom, store images in DCMTK's storescp."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interop.case import Case, Stopwatch, options

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

PORT = 11112
#: Pixels of a side of an image, of two bytes each.
SIDE = 256
IMAGES = 30
#: The elements beside the pixels, in implicit little endian.
ELEMENTS = 136
#: Sizes of the clients' A-ASSOCIATE-RQ, of which storescu's offers all storage classes, and of storescp's answers; and
#: what both ends write at once. The archive is storescp in both cases.
CLIENTS = {
    "dcmtk": {"associate": "4088 B", "accept": "2017 B", "writes": "headers", "archive_writes": "headers"},
    "pynetdicom": {"associate": "223 B", "accept": "190 B", "writes": "pdus", "archive_writes": "headers"},
}


def serve(path: EmulatedPath, side: Side, folder: Path, *, nagle: bool) -> None:
    """Starts storescp, which discards the images."""
    environment = os.environ | {"TCP_NODELAY": "0" if nagle else "1"}
    path.serve(side, ["storescp", "--ignore", str(PORT)], cwd=folder, env=environment)


def image(number: int) -> Any:
    """A data set with the elements that storage needs."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import UID, CTImageStorage, ImplicitVRLittleEndian

    data = Dataset()
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian
    data.SOPClassUID = CTImageStorage
    # 56 characters, as in the workload's default.
    data.SOPInstanceUID = UID(f"1.2.826.0.1.3680043.8.498.{number + 10**29:030d}")
    data.Rows = data.Columns = SIDE
    data.BitsAllocated = 16
    data.PixelData = bytes(2 * SIDE * SIDE)
    return data


def by_dcmtk(address: str, images: int, nagle: bool) -> None:
    """Stores a study by storescu."""
    with tempfile.TemporaryDirectory(prefix="cwndlab-interop-") as folder:
        for number in range(images):
            image(number).save_as(Path(folder) / f"{number:03d}.dcm", enforce_file_format=True)
        command = ["storescu", "--propose-implicit", "+sd", address, str(PORT), folder]
        subprocess.run(command, check=True, env=os.environ | {"TCP_NODELAY": "0" if nagle else "1"})


def by_pynetdicom(address: str, images: int, nagle: bool) -> None:
    """Stores a study by pynetdicom."""
    from pydicom.uid import CTImageStorage, ImplicitVRLittleEndian
    from pynetdicom import AE

    studies = [image(number) for number in range(images)]
    entity = AE(ae_title="CWNDLAB")
    entity.add_requested_context(CTImageStorage, ImplicitVRLittleEndian)
    association = entity.associate(address, PORT)
    # pynetdicom has no setting for it.
    association.dul.socket.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not nagle)
    for one in studies:
        if association.send_c_store(one).Status != 0:
            sys.exit("an image was not stored")
    association.release()


def case(client: str, *, nagle: bool = False) -> Case:
    """A study of a client's; ``nagle``: DCMTK's default, which its variable TCP_NODELAY changes."""
    workload = {
        "kind": "dicom",
        "images": IMAGES,
        "image": f"{2 * SIDE * SIDE + ELEMENTS} B",
        "period": "100 s",
        "count": 1,
        **CLIENTS[client],
    }
    if nagle:
        workload["nagle"] = True
    return Case(
        name=f"dicom, {client}{', Nagle' if nagle else ''}",
        workload=workload,
        module="interop.dicom",
        arguments=(f"client={client}", f"images={IMAGES}", f"nagle={int(nagle)}"),
        serve=partial(serve, nagle=nagle),
        programs=(client, "dcmtk") if client != "dcmtk" else (client,),
        port=PORT,
        completion="association",
        message_bytes=100,
    )


CASES = [case("dcmtk"), case("dcmtk", nagle=True), case("pynetdicom")]

if __name__ == "__main__":
    words = options(sys.argv[2:])
    {"dcmtk": by_dcmtk, "pynetdicom": by_pynetdicom}[words["client"]](
        sys.argv[1], int(words["images"]), words["nagle"] == "1"
    )
    time.sleep(0.5)
    Stopwatch().write()

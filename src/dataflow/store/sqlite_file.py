"""The file of an embedded store: where it may be and who may read it."""

from __future__ import annotations

import os

from dataflow import errors

MEMORY = ":memory:"
NETWORK_FILE_SYSTEMS = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "9p", "afs", "coda", "sshfs", "davfs"),
        *("ceph", "ceph-fuse", "glusterfs", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2", "moosefs"),
        *("gfs2", "ocfs2", "s3fs", "s3ql", "goofys", "gcsfuse", "blobfuse", "blobfuse2", "rclone", "juicefs"),
        # Shared with another machine that has its own locks, such as a host and its guest.
        *("virtiofs", "vboxsf", "vmhgfs", "vmhgfs-fuse", "prl_fs", "drvfs", "grpcfuse", "osxfs"),
    )
)
"""File systems where another machine may write the same file; a type `fuse.x` counts as x."""


def create_private(path: str) -> None:
    """Create the file of a new store for its user only; SQLite gives its other files the same mode.

    An existing file is not opened: closing it would drop the locks this process has on it.
    """
    if path != MEMORY:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass


def file_identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another that is put in its place; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:  # also a store in memory
        return None
    return found.st_dev, found.st_ino


def refuse_other_file(path: str, found: tuple[int, int] | None) -> None:
    """Raise the error for a store whose file is no longer the one that was opened."""
    if found is None:
        raise errors.StoreUnreachable(
            f"The store {path} is gone: it was moved or deleted. Put it back, and the same command goes on."
        )
    raise errors.StoreDenied(
        f"Another store was put in the place of {path} while this process was using it. Start it again."
    )


def refuse_network_file_system(path: str) -> None:
    """Refuse a network file system: WAL needs memory shared by all processes."""
    kind = file_system_of(path)
    if is_network(kind):
        raise errors.ConfigError(
            f"The store {path} is on {kind}, a network file system, where SQLite's WAL can lose data. "
            "Use a path on a local disk, or PostgreSQL: --store postgresql://user@host/dataflow"
        )


def is_network(kind: str) -> bool:
    """Return whether another machine may write to this type of file system."""
    return kind.removeprefix("fuse.") in NETWORK_FILE_SYSTEMS


def file_system_of(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Return the type of the file system a path is, or would be, on."""
    real = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as source:
            for line in source:
                _, point, found = line.split(" ")[:3]
                point = point.replace("\\040", " ")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, found
    except OSError:
        return ""
    return kind

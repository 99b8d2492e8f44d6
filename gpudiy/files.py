"""Write files whole or not at all, and read them with clear errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from gpudiy.errors import InputError, UnwritableOutput


def write_whole(path: str | Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file so that it appears whole or not at all; text is written as UTF-8.

    With `durable` it also survives a power failure afterwards.
    """
    with whole_file(path, durable=durable) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: str | Path, *, durable: bool = False) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it is renamed to `path` when the block ends without an error."""
    place = Path(path)
    temporary = place.with_name(f".{place.name}.{os.getpid()}")  # chosen early: an interrupt removes it
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if durable:
            synchronise(temporary)
        temporary.replace(place)
        if durable:
            synchronise(place.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            expect_writable(place)  # names the cause better than the system does
            raise UnwritableOutput(str(path), error) from None
        raise


@contextmanager
def open_whole(path: str | Path) -> Iterator[TextIO]:
    """A text file that appears at `path` when the block ends without an error."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield file


@contextmanager
def whole_files(folder: Path) -> Iterator[Callable[[str, str], None]]:
    """A function that writes a text under a name in the folder; for many files it is faster than `write_whole`."""
    temporary = f".{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        expect_writable(folder, folder=True)
        raise UnwritableOutput(str(folder), error) from None

    def write(name: str, content: str) -> None:
        data = content.encode()
        try:
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666, dir_fd=handle)
            try:
                while data:
                    data = data[os.write(file, data) :]
            finally:
                os.close(file)
            os.rename(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
        except OSError as error:
            raise UnwritableOutput(str(folder / name), error) from None

    try:
        yield write
    finally:
        (folder / temporary).unlink(missing_ok=True)
        os.close(handle)


def synchronise(path: Path) -> None:
    """Make the system write a file or directory to the disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def expect_writable(path: str | Path, folder: bool = False) -> None:
    """Raise `UnwritableOutput` if a file, or a folder, cannot be written there; call it before long work."""
    place = Path(path)
    if place.exists() and place.is_dir() != folder:
        what = "a file, not a directory" if folder else "a directory"
        raise UnwritableOutput(str(path), f"this is {what}")
    above = next(parent for parent in (place, *place.absolute().parents) if parent.is_dir())
    if not os.access(above, os.W_OK | os.X_OK):
        raise UnwritableOutput(str(path), "Permission denied")
    blocked = next((parent for parent in place.absolute().parents if parent.exists() and not parent.is_dir()), None)
    if blocked is not None:
        raise UnwritableOutput(str(path), f"{blocked} is not a directory")


def read_text(path: str | Path) -> str:
    """Read a UTF-8 file; raise `InputError` if that is not possible."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError("this is not text in UTF-8", path=str(path)) from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: str | Path, error: OSError) -> InputError:
    """The error for a file that the system cannot read."""
    return InputError(f"cannot be read: {error.strerror}", path=str(path))

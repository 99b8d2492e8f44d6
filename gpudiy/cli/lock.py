"""`gpudiy lock`: prints the verbs for locks."""

from __future__ import annotations

from gpudiy.cli.subverbs import add_arguments, epilog_of, run

__all__ = ["EPILOG", "add_arguments", "run"]
ABOUT = """\
LOCK is a name of the library, or a file: CUDA C (an acquire and a release function, or one function with
`// critical section` in place of the protected code), PTX (.ptx), or a lock description (.lock).

examples:
  gpudiy lock check he-yu-spinlock --models ptx-asplos15
  gpudiy lock fix my-lock.cu --models ptx-6.0"""
EPILOG = epilog_of("lock", ABOUT)

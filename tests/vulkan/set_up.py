"""Installs a driver of Vulkan for the tests of `make test-vulkan`, where there is none: Mesa's lavapipe, by apt-get.

It needs root and Debian's package manager. Elsewhere it says what is missing, and the tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGE = "mesa-vulkan-drivers"
LOOK = "from gpudiy.devices.vulkan_adapters import find_adapters; raise SystemExit(not find_adapters())"


def main() -> None:
    if has_adapter():
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"vulkan: no adapter, and no root to install {PACKAGE}: its tests are skipped", file=sys.stderr)
        return
    install = ["apt-get", "install", "--yes", "--no-install-recommends", PACKAGE]
    if run(install) != 0 and (run(["apt-get", "update"]) != 0 or run(install) != 0):
        print(f"vulkan: {PACKAGE} cannot be installed: its tests are skipped", file=sys.stderr)
    elif not has_adapter():
        print(f"vulkan: no adapter although {PACKAGE} is installed: its tests are skipped", file=sys.stderr)


def has_adapter() -> bool:
    """Whether a new process finds an adapter: drivers are looked for once in a process."""
    return subprocess.run([sys.executable, "-c", LOOK]).returncode == 0


def run(command: list[str]) -> int:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    main()

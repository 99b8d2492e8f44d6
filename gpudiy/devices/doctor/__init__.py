"""What stands between this machine and a good run: driver, tools, permissions, clocks, other users of the GPU."""

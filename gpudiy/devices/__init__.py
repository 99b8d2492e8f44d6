"""Where tests run: CUDA GPUs, OpenCL devices, simulated GPUs, behind one interface."""

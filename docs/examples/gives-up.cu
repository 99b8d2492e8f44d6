__device__ void lock(int *m) {
    for (int i = 0; i < 1000; ++i)
        if (atomicCAS(m, 0, 1) == 0) break;
    __threadfence();
}

__device__ void unlock(int *m) {
    __threadfence();
    atomicExch(m, 0);
}

__device__ void lock_rows(int *m) { while (atomicCAS(m, 0, 1)) ; }
__device__ void lock_columns(int *m) { while (atomicExch(m, 1)) ; }
__device__ void unlock(int *m) { atomicExch(m, 0); }

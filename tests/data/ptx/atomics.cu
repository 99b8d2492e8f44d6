// Atomics of all scopes, fences, 64 bits, a double; a global and a constant variable.
__device__ int counter = 7;
__constant__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, double *d) {
    atomicCAS_block(i, 1, 2);
    u[1] = atomicInc(u, 7);
    atomicAdd_system(l, 1ull);
    atomicAdd(d, 1.0);
    __threadfence_block();
    u[3] = atomicExch(&counter, 2) + table[u[2] & 3];
    __threadfence_system();
    u[4] = __nv_atomic_load_n(i, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_store_n(i, 5, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
    __nanosleep(3);
}

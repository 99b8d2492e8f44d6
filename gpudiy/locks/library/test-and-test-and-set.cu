// Test-and-test-and-set lock: reads the lock before it tries to take it, with acquire and release of the whole GPU.
// Source: L. Rudolph, Z. Segall, "Dynamic decentralized cache schemes for MIMD parallel processors", ISCA 1984; in CUDA C.
__device__ void lock(int *mutex)
{
    do {
        while (__nv_atomic_load_n(mutex, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE) != 0)
            ;
    } while (__nv_atomic_exchange_n(mutex, 1, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) != 0);
}

__device__ void unlock(int *mutex)
{
    __nv_atomic_store_n(mutex, 0, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
}

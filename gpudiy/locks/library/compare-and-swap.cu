// Compare-and-swap lock, with acquire and release of the whole GPU.
// Source: T. E. Anderson, "The performance of spin lock alternatives", TPDS 1(1), 1990; in CUDA C.
__device__ void lock(int *mutex)
{
    int expected;
    do {
        expected = 0;
    } while (!__nv_atomic_compare_exchange_n(mutex, &expected, 1, false,
                                             __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED,
                                             __NV_THREAD_SCOPE_DEVICE));
}

__device__ void unlock(int *mutex)
{
    __nv_atomic_store_n(mutex, 0, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
}

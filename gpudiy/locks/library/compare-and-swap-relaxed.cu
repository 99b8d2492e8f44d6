// Compare-and-swap lock, with relaxed atomics.
// Source: T. E. Anderson, "The performance of spin lock alternatives", TPDS 1(1), 1990; in CUDA C.
// Wrong: relaxed atomics order nothing but themselves; mended: compare-and-swap.
__device__ void lock(int *mutex)
{
    int expected;
    do {
        expected = 0;
    } while (!__nv_atomic_compare_exchange_n(mutex, &expected, 1, false,
                                             __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED,
                                             __NV_THREAD_SCOPE_DEVICE));
}

__device__ void unlock(int *mutex)
{
    __nv_atomic_store_n(mutex, 0, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
}

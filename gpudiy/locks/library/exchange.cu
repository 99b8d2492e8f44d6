// Spin mutex that takes the lock by exchange.
// Source: J. A. Stuart, J. D. Owens, "Efficient synchronization primitives for GPUs", arXiv:1110.4623, 2011.
// Wrong: atomics order nothing but themselves, so a critical section may miss what the one before it wrote.
__device__ void spinMutexLock(int *mutex)
{
    while (atomicExch(mutex, 1) != 0)
        ;
}

__device__ void spinMutexUnlock(int *mutex)
{
    atomicExch(mutex, 0);
}

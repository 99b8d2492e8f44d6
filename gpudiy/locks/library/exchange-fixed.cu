// Spin mutex that takes the lock by exchange, with a fence at either end of the critical section.
// Source: J. A. Stuart, J. D. Owens, "Efficient synchronization primitives for GPUs", arXiv:1110.4623, 2011;
//         J. Alglave et al., "GPU concurrency: weak behaviours and programming assumptions", ASPLOS 2015.
__device__ void spinMutexLock(int *mutex)
{
    while (atomicExch(mutex, 1) != 0)
        ;
    __threadfence();
}

__device__ void spinMutexUnlock(int *mutex)
{
    __threadfence();
    atomicExch(mutex, 0);
}

// Spinlock of He and Yu as repaired in figure 2.12b: fences at both ends, released by an atomic.
// Source: B. He, J. X. Yu, "High-throughput transaction executions on graphics processors", PVLDB 4(5), 2011;
//         J. Alglave et al., "GPU concurrency: weak behaviours and programming assumptions", ASPLOS 2015.
__device__ void transaction(int *lockAddr)
{
    bool leaveLoop = false;
    while (!leaveLoop) {
        int lockValue =
            atomicCAS(lockAddr, 0, 1);
        if (lockValue == 0) {
            leaveLoop = true;
            __threadfence();
            // critical section
            __threadfence();
            atomicExch(lockAddr, 0);
        }
    }
}

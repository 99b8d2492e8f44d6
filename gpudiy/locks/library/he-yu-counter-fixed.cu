// Counter-based spinlock of He and Yu as repaired in figure 2.14b: read by an atomic, fences at both ends.
// Source: B. He, J. X. Yu, "High-throughput transaction executions on graphics processors", PVLDB 4(5), 2011;
//         J. Alglave et al., "GPU concurrency: weak behaviours and programming assumptions", ASPLOS 2015.
__device__ int flag, marked;

__device__ void transaction(int *lockAddr, int keyValue)
{
    bool leaveLoop = false;
    while (!leaveLoop) {
        int lockValue =
            atomicAdd(lockAddr, 0);
        if (lockValue == keyValue) {
            leaveLoop = true;
            __threadfence();
            // critical section
            if (flag == marked) {
                __threadfence();
                atomicAdd(lockAddr, 1);
            }
        }
    }
}

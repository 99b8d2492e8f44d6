// Counter-based spinlock of He and Yu: a transaction waits until the counter has come to its key.
// Source: B. He, J. X. Yu, "High-throughput transaction executions on graphics processors", PVLDB 4(5), 2011.
// Wrong: nothing orders the critical section after the load of the counter or before the release.
__device__ int flag, marked;

__device__ void transaction(int *lockAddr, int keyValue)
{
    bool leaveLoop = false;
    while (!leaveLoop) {
        volatile int lockValue =
            *lockAddr;
        if (lockValue == keyValue) {
            leaveLoop = true;
            // critical section
            if (flag == marked)
                atomicAdd(lockAddr, 1);
        }
        __threadfence();
    }
}

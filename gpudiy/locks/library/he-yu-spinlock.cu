// Spinlock of He and Yu, for transactions of a database on a GPU.
// Source: B. He, J. X. Yu, "High-throughput transaction executions on graphics processors", PVLDB 4(5), 2011.
// Wrong: nothing orders the critical section after the CAS or before the release, which is a plain store.
__device__ void transaction(int *lockAddr)
{
    bool leaveLoop = false;
    while (!leaveLoop) {
        int lockValue =
            atomicCAS(lockAddr, 0, 1);
        if (lockValue == 0) {
            leaveLoop = true;
            // critical section
            *lockAddr = 0;
        }
        __threadfence();
    }
}

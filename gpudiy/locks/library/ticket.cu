// Ticket lock: first come, first served.
// Source: J. M. Mellor-Crummey, M. L. Scott, "Algorithms for scalable synchronization", TOCS 9(1), 1991; in CUDA C.
struct TicketLock {
    unsigned int next;
    unsigned int serving;

    __device__ void lock()
    {
        unsigned int ticket = atomicAdd(&next, 1u);
        while (*(volatile unsigned int *)&serving != ticket)
            ;
        __threadfence();
    }

    __device__ void unlock()
    {
        __threadfence();
        atomicAdd(&serving, 1u);
    }
};

// Ticket lock without fences.
// Source: J. M. Mellor-Crummey, M. L. Scott, "Algorithms for scalable synchronization", TOCS 9(1), 1991; in CUDA C.
// Wrong: neither the atomic nor the volatile load orders what is inside; mended: ticket.
struct TicketLock {
    unsigned int next;
    unsigned int serving;

    __device__ void lock()
    {
        unsigned int ticket = atomicAdd(&next, 1u);
        while (*(volatile unsigned int *)&serving != ticket)
            ;
    }

    __device__ void unlock()
    {
        atomicAdd(&serving, 1u);
    }
};

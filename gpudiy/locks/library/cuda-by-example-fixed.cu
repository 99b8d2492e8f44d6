// Lock of the book "CUDA by Example" with a fence at either end of the critical section.
// Source: J. Sanders, E. Kandrot, "CUDA by Example", Addison-Wesley 2010, appendix A, and its errata;
//         J. Alglave et al., "GPU concurrency: weak behaviours and programming assumptions", ASPLOS 2015.
struct Lock {
    int *mutex;

    __device__ void lock(void)
    {
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
        __threadfence();
    }

    __device__ void unlock(void)
    {
        __threadfence();
        atomicExch(mutex, 0);
    }
};

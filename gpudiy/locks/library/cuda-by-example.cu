// Lock of the book "CUDA by Example".
// Source: J. Sanders, E. Kandrot, "CUDA by Example", Addison-Wesley 2010, appendix A.
// Wrong: atomics order nothing but themselves, so a critical section may miss what the one before it wrote.
struct Lock {
    int *mutex;

    __device__ void lock(void)
    {
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
    }

    __device__ void unlock(void)
    {
        atomicExch(mutex, 0);
    }
};

// Compare-and-swap lock whose fences reach no further than the CTA.
// Source: the lock of "CUDA by Example" with the narrowest fence, a common mistake.
// Wrong: threads of different CTAs are out of the scope of its fences; mended: cuda-by-example-fixed.
__device__ void lock(int *mutex)
{
    while (atomicCAS(mutex, 0, 1) != 0)
        ;
    __threadfence_block();
}

__device__ void unlock(int *mutex)
{
    __threadfence_block();
    atomicExch(mutex, 0);
}

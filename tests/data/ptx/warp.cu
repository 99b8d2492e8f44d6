// Shuffles, votes and a barrier of a warp.
extern "C" __global__ void warp(int *a) {
    int v = a[threadIdx.x];
    v += __shfl_down_sync(~0u, v, 16);
    unsigned voters = __ballot_sync(~0u, v > 3);
    __syncwarp();
    if (__any_sync(~0u, v))
        a[0] = v + __popc(voters);
}

// Shared memory of a fixed and of a dynamic size, a barrier in a loop, floats, an atomic on a float.
extern "C" __global__ void shared_sum(const float *in, float *out, int n) {
    __shared__ float buffer[256];
    extern __shared__ int dynamic[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    buffer[threadIdx.x] = i < n ? in[i] : 0.0f;
    dynamic[threadIdx.x] = i;
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step)
            buffer[threadIdx.x] += buffer[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(out, buffer[0] + dynamic[1]);
}

// Calls: of a function that is not inlined, and through a pointer.
struct Big { double a[5]; int k; };
__noinline__ __device__ double f(double x, Big b) { return x * b.a[b.k]; }
__device__ double (*pointer)(double, Big) = f;
extern "C" __global__ void calls(double *out, Big b) {
    out[threadIdx.x] = f(out[0], b);
    out[1] = pointer(1.0, b);
}

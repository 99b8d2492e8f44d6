// Accesses of 8 and 16 bits, half floats, a volatile flag, a vector of chars.
#include <cuda_fp16.h>
extern "C" __global__ void narrow(unsigned char *c, short *s, half *h, char4 *q) {
    c[0] = c[1] + s[2];
    h[0] = __hadd(h[1], h[2]);
    q[0] = q[1];
    volatile unsigned char *flag = c;
    while (*flag)
        ;
}

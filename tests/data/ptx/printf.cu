// A call of printf: parameters in a block of their own, local memory.
#include <cstdio>
extern "C" __global__ void prints(int x) {
    printf("x = %d, %f\n", x, 1.5 * x);
    printf("done\n");
}

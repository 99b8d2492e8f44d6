// An array in local memory, and a switch.
extern "C" __global__ void local(int *o, int n) {
    int a[8];
    for (int i = 0; i < 8; i++)
        a[i] = o[i] * n;
    switch (n) {
    case 0: o[0] = atomicExch(o + 1, 2); break;
    case 1: o[1] = o[2] * 17; break;
    case 2: o[2] = 5 + o[9] / n; break;
    case 3: __threadfence(); o[3] = a[n]; break;
    case 4: o[7] = clock(); break;
    case 5: return;
    default: __trap();
    }
    o[n] = a[o[n] & 7];
}

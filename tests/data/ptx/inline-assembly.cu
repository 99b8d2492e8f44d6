// Two blocks of inline assembly that declare the same names.
__device__ int take(int *p) {
    int r;
    asm volatile("{\n .reg .pred p;\n .reg .b32 t;\nretry:\n atom.acquire.gpu.global.cas.b32 t, [%1], 0, 1;\n"
                 " setp.ne.s32 p, t, 0;\n @p bra retry;\n mov.u32 %0, t;\n}" : "=r"(r) : "l"(p) : "memory");
    return r;
}
extern "C" __global__ void assembly(int *p) {
    p[3] = take(p);
    p[4] = take(p + 7);
}

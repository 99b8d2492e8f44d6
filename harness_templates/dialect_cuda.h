// The harness in CUDA C++: litmus code is inline PTX, buffers lie in global memory.

typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned char u8;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef u32 SharedAddress;  // in the window of shared memory

#define KERNEL extern "C" __global__ void
#define CLUSTER_KERNEL(groups) extern "C" __global__ void __cluster_dims__(groups, 1, 1)
#define TEST_FUNCTION extern "C" __device__ __noinline__ void
#define TABLE extern "C" __device__
#define FUNCTION static __device__ __noinline__
#define INLINE static __device__ __forceinline__
#define GLOBAL
#define LAUNCH const Launch
#define SHARED
#define SHARED_PARAMETER
#define COMMON_PARAMETERS u64 *shared  // all parameters are in registers
#define COMMON_ARGUMENTS shared
#define SPECIFICATION_PARAMETER , const u64 specification  // where specification results go, or 0
#define SPECIFICATION_ARGUMENT , specification
#define SHARED_ADDRESS(place) ((u32)__cvta_generic_to_shared(place))
#define PRIME_TABLE
#define PRIME(number) constant_memory.primes[number]
#define CONSTANT_LAUNCH (&constant_memory.launch)
// The sum with a zero that the compiler does not know stays in a register: it would read the constant again, among the
// accesses of the test.
#define KEPT_CONSTANT(type, number) ((type)(CONSTANT_LAUNCH->constants[number] + CONSTANT_LAUNCH->zeros[number]))
#define HIDE(value) asm volatile("" : "+r"(value))  // from the compiler, which would store results in each case
#define NOT_UNROLLED _Pragma("unroll 1")
#define VOLATILE_LOAD(space, type, address) (*(volatile type *)(address))
#define VOLATILE_STORE(space, type, address, value) (*(volatile type *)(address) = (value))
#define CACHED_LOAD(address) load_cached((const u32 *)(address))
#define SHARED_MEMORY extern __shared__ u64 shared[];

INLINE u32 load_cached(const u32 *address)  // a load that L1 caches
{
    u32 value;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

INLINE u32 group_number() { return blockIdx.x; }
INLINE u32 group_count() { return gridDim.x; }
INLINE u32 group_size() { return blockDim.x; }
INLINE u32 thread_number() { return threadIdx.x; }
INLINE void group_barrier() { __syncthreads(); }
INLINE void pause_a_moment() {}

INLINE u32 add_to(u32 *word, u32 value) { return atomicAdd(word, value); }
INLINE u32 add_to_far(u32 *word, u32 value)
{
#if __CUDA_ARCH__ >= 600
    return atomicAdd_system(word, value);
#else
    return atomicAdd(word, value);
#endif
}
INLINE u32 add_to_shared(u32 *word, u32 value) { return atomicAdd(word, value); }
INLINE u32 look_at(u32 *word) { return VOLATILE_LOAD(, u32, word); }
INLINE u32 look_at_shared(u32 *word) { return VOLATILE_LOAD(, u32, word); }
INLINE u32 claim(u32 *word, u32 value) { return atomicCAS(word, 0u, value); }
INLINE u32 claim_shared(u32 *word, u32 value) { return atomicCAS(word, 0u, value); }

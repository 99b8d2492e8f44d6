// The harness in OpenCL C: litmus code is scoped C11 atomics, see docs/build.md for the table of what becomes what.

typedef short s16;
typedef ushort u16;
typedef int s32;
typedef uchar u8;
typedef uint u32;
typedef long s64;
typedef ulong u64;
typedef u64 SharedAddress;

#define KERNEL __kernel void
#define TEST_FUNCTION static void
#define FUNCTION static
#define INLINE static inline
#define GLOBAL __global
#define LAUNCH __constant const Launch  // a GPU reads it without a load, also after threads have met
#define SHARED __local
#define SHARED_PARAMETER , __local u64 *shared
#define COMMON_PARAMETERS LAUNCH *launch, SHARED u64 *shared
#define COMMON_ARGUMENTS launch, shared
#define SPECIFICATION_PARAMETER
#define SPECIFICATION_ARGUMENT
#define SHARED_ADDRESS(place) ((u64)(place))
#define PRIME_TABLE __constant const u32 primes[8] = PRIMES;
#define PRIME(number) primes[number]
#define CONSTANT_LAUNCH launch
#define KEPT_CONSTANT(type, number) ((type)CONSTANT_LAUNCH->constants[number])
#define HIDE(value)
#define NOT_UNROLLED
#define SHARED_MEMORY

INLINE u32 group_number() { return get_group_id(0); }
INLINE u32 group_count() { return get_num_groups(0); }
INLINE u32 group_size() { return get_local_size(0); }
INLINE u32 thread_number() { return get_local_id(0); }
#ifdef GROUPS_OF_ONE  // nobody to wait for; and PoCL cannot compile a barrier behind a condition
#define group_barrier()
#else
#define group_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#if defined(GROUPS_TAKE_TURNS) && defined(__x86_64__)  // of Linux: give the core to another group
INLINE void pause_a_moment()
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(24) : "rcx", "r11", "memory");  // sched_yield
}
#elif defined(GROUPS_TAKE_TURNS) && defined(__aarch64__)
INLINE void pause_a_moment()
{
    register long number __asm__("x8") = 124;  // sched_yield
    register long result __asm__("x0");
    __asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "memory");
}
#else
#define pause_a_moment()
#endif

#define ORDER_relaxed memory_order_relaxed
#define ORDER_acquire memory_order_acquire
#define ORDER_release memory_order_release
#define ORDER_acq_rel memory_order_acq_rel
#define ORDER_seq_cst memory_order_seq_cst
#define SCOPE_cta memory_scope_work_group
#define SCOPE_gpu memory_scope_device
#define SCOPE_sys memory_scope_device  // a launch is on one device, and its host looks on only when it is over
#define ATOMIC_s32 atomic_int
#define ATOMIC_u32 atomic_uint
#define ATOMIC_s64 atomic_long
#define ATOMIC_u64 atomic_ulong

#define AT(space, type, address) ((volatile space ATOMIC_##type *)(address))
#define VOLATILE_LOAD(space, type, address) (*(volatile space type *)(address))
#define VOLATILE_STORE(space, type, address, value) (*(volatile space type *)(address) = (value))
#define CACHED_LOAD(address) VOLATILE_LOAD(__global, const u32, address)
#define LOAD(space, type, address, order, scope) \
    atomic_load_explicit(AT(space, type, address), ORDER_##order, SCOPE_##scope)
#define STORE(space, type, address, value, order, scope) \
    atomic_store_explicit(AT(space, type, address), value, ORDER_##order, SCOPE_##scope)
#define EXCHANGE(space, type, address, value, order, scope) \
    atomic_exchange_explicit(AT(space, type, address), value, ORDER_##order, SCOPE_##scope)
#define FETCH(operation, space, type, address, value, order, scope) \
    atomic_fetch_##operation##_explicit(AT(space, type, address), value, ORDER_##order, SCOPE_##scope)
#define COMPARE_EXCHANGE(space, type, address, expected, value, order, failure, scope) \
    atomic_compare_exchange_strong_explicit( \
        AT(space, type, address), expected, value, ORDER_##order, ORDER_##failure, SCOPE_##scope)
#define FENCE(order, scope) \
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, ORDER_##order, SCOPE_##scope)

#define add_to(word, value) FETCH(add, __global, u32, word, value, relaxed, gpu)
#define add_to_far(word, value) FETCH(add, __global, u32, word, value, relaxed, sys)
#define add_to_shared(word, value) FETCH(add, __local, u32, word, value, relaxed, cta)
#define look_at(word) LOAD(__global, u32, word, relaxed, gpu)
#define look_at_shared(word) VOLATILE_LOAD(__local, u32, word)
INLINE u32 claim(__global u32 *word, u32 value)
{
    u32 found = 0;
    COMPARE_EXCHANGE(__global, u32, word, &found, value, relaxed, relaxed, gpu);
    return found;
}
INLINE u32 claim_shared(__local u32 *word, u32 value)
{
    u32 found = 0;
    COMPARE_EXCHANGE(__local, u32, word, &found, value, relaxed, relaxed, cta);
    return found;
}

// The harness in C++ for the processor of this machine: a thread of the device is a thread of the host.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

typedef int16_t s16;
typedef uint16_t u16;
typedef int32_t s32;
typedef uint8_t u8;
typedef uint32_t u32;
typedef long long s64;
typedef unsigned long long u64;
typedef u64 SharedAddress;

#define KERNEL static void
#define CLUSTER_KERNEL(groups) KERNEL
#define TEST_FUNCTION static void
#define TABLE static
#define FUNCTION static __attribute__((unused))
#define INLINE static inline __attribute__((unused))
#define GLOBAL
#define LAUNCH const Launch
#define SHARED
#define SHARED_PARAMETER
#define COMMON_PARAMETERS LAUNCH *launch, SHARED u64 *shared
#define COMMON_ARGUMENTS launch, shared
#define SPECIFICATION_PARAMETER
#define SPECIFICATION_ARGUMENT
#define SHARED_ADDRESS(place) ((u64)(place))
#define PRIME_TABLE static const u32 primes[8] = PRIMES;
#define PRIME(number) primes[number]
#define CONSTANT_LAUNCH launch
#define KEPT_CONSTANT(type, number) ((type)CONSTANT_LAUNCH->constants[number])
#define HIDE(value)
#define NOT_UNROLLED
#define SHARED_MEMORY u64 *const shared = here.group->shared.data();

struct Group {
    std::mutex mutex;
    std::condition_variable changed;
    u32 size = 0, waiting = 0, generation = 0;
    std::vector<u64> shared;

    void barrier()
    {
        std::unique_lock<std::mutex> lock(mutex);
        const u32 mine = generation;
        if (++waiting == size) {
            waiting = 0;
            generation++;
            changed.notify_all();
        } else {
            changed.wait(lock, [&] { return generation != mine; });
        }
    }

    // A barrier of PTX: who waits goes on when so many threads have come, or only arrived.
    void named_barrier(u32 number, u32 count, bool waits)
    {
        std::unique_lock<std::mutex> lock(mutex);
        Named &here = named[number];
        const u32 mine = here.generation;
        if (++here.arrived == count) {
            here.arrived = 0;
            here.generation++;
            changed.notify_all();
        } else if (waits) {
            changed.wait(lock, [&] { return here.generation != mine; });
        }
    }

    struct Named {
        u32 arrived = 0, generation = 0;
    };
    Named named[16];
};

struct Here {
    u32 group_number, group_count, thread_number;
    Group *group;
};
static thread_local Here here;

INLINE u32 group_number() { return here.group_number; }
INLINE u32 group_count() { return here.group_count; }
INLINE u32 group_size() { return here.group->size; }
INLINE u32 thread_number() { return here.thread_number; }
INLINE void group_barrier() { here.group->barrier(); }
#define CTA_BARRIER(number, warps, waits) here.group->named_barrier(number, (warps) * launch->warp_size, waits)
INLINE void pause_a_moment() { std::this_thread::yield(); }
INLINE u32 read_clock() { return (u32)std::chrono::steady_clock::now().time_since_epoch().count(); }

template <typename Work> static void launch_on_host(u32 groups, u32 size, u32 shared_bytes, Work work)
{
    std::vector<Group> all(groups);  // complete before the first thread starts, which reads it
    for (Group &group : all) {
        group.size = size;
        group.shared.resize((shared_bytes + 7) / 8);
    }
    std::vector<std::thread> threads;
    for (u32 g = 0; g < groups; g++) {
        for (u32 t = 0; t < size; t++) {
            threads.emplace_back([&work, &all, groups, g, t] {
                here = Here{g, groups, t, &all[g]};
                work();
            });
        }
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

#define ORDER_relaxed __ATOMIC_RELAXED
#define ORDER_acquire __ATOMIC_ACQUIRE
#define ORDER_release __ATOMIC_RELEASE
#define ORDER_acq_rel __ATOMIC_ACQ_REL
#define ORDER_seq_cst __ATOMIC_SEQ_CST

#define AT(space, type, address) ((volatile type *)(address))
// Accesses that race on purpose. What is volatile on a GPU is a relaxed atomic here: the same instruction, and no data
// race in the sense of C++.
#define VOLATILE_LOAD(space, type, address) LOAD(space, type, address, relaxed, sys)
#define VOLATILE_STORE(space, type, address, value) STORE(space, type, address, (type)(value), relaxed, sys)
#define CACHED_LOAD(address) VOLATILE_LOAD(, const u32, address)
#define LOAD(space, type, address, order, scope) __atomic_load_n(AT(space, type, address), ORDER_##order)
#define STORE(space, type, address, value, order, scope) \
    __atomic_store_n(AT(space, type, address), value, ORDER_##order)
#define EXCHANGE(space, type, address, value, order, scope) \
    __atomic_exchange_n(AT(space, type, address), value, ORDER_##order)
#define FETCH(operation, space, type, address, value, order, scope) \
    __atomic_fetch_##operation(AT(space, type, address), value, ORDER_##order)
#define COMPARE_EXCHANGE(space, type, address, expected, value, order, failure, scope) \
    __atomic_compare_exchange_n( \
        AT(space, type, address), expected, value, false, ORDER_##order, ORDER_##failure)
#define FENCE(order, scope) __atomic_thread_fence(ORDER_##order)

INLINE u32 add_to(u32 *word, u32 value) { return FETCH(add, , u32, word, value, relaxed, gpu); }
INLINE u32 add_to_far(u32 *word, u32 value) { return FETCH(add, , u32, word, value, relaxed, sys); }
INLINE u32 add_to_shared(u32 *word, u32 value) { return FETCH(add, , u32, word, value, relaxed, cta); }
INLINE u32 look_at(u32 *word) { return LOAD(, u32, word, relaxed, gpu); }
INLINE u32 look_at_shared(u32 *word) { return LOAD(, u32, word, relaxed, cta); }
INLINE u32 claim(u32 *word, u32 value)
{
    u32 found = 0;
    COMPARE_EXCHANGE(, u32, word, &found, value, relaxed, relaxed, gpu);
    return found;
}
INLINE u32 claim_shared(u32 *word, u32 value) { return claim(word, value); }

// Stress: threads that access the lines of a scratchpad all the time. Every access is volatile and is counted; the
// stored value names the pattern, so that optcheck finds the loops in the SASS.

#define STRESS_STORE(pattern) VOLATILE_STORE(GLOBAL, u32, place, 0x07f3b000u + pattern)
#define STRESS_LOAD() ((void)VOLATILE_LOAD(GLOBAL, u32, place))

FUNCTION u32 stress(GLOBAL u32 *place, u32 pattern, u32 accesses)
{
    const u32 pairs = (accesses + 1) / 2;
    switch (pattern) {
    case 0:
        for (u32 i = 0; i < pairs; i++) {
            STRESS_STORE(0);
            STRESS_STORE(0);
        }
        break;
    case 1:
        for (u32 i = 0; i < pairs; i++) {
            STRESS_STORE(1);
            STRESS_LOAD();
        }
        break;
    case 2:
        for (u32 i = 0; i < pairs; i++) {
            STRESS_LOAD();
            STRESS_STORE(2);
        }
        break;
    default:
        for (u32 i = 0; i < pairs; i++) {
            STRESS_LOAD();
            STRESS_LOAD();
        }
    }
    return 2 * pairs;
}

// A warp stresses one of the lines that this launch has drawn; its lanes access adjacent words or, for bank conflicts, words of the same bank.
INLINE GLOBAL u32 *stress_place(LAUNCH *launch, GLOBAL u32 *scratchpad, u32 round)
{
    const u32 warp = (group_number() * group_size() + thread_number()) / launch->warp_size;
    const u32 line = (warp + random_number(launch->seed, round, 7)) % launch->stress_lines;
    const u32 lane = thread_number() % launch->warp_size;
    return scratchpad + launch->stress_line_at[line] + lane * launch->stress_lane_stride;
}

// Stress of shared memory: words behind the shared variables of the tests, one for each lane, which all warps of a CTA access.
FUNCTION u32 stress_shared(LAUNCH *launch, SHARED u64 *shared, u32 accesses)
{
    const u32 lane = thread_number() % launch->warp_size;
    SHARED u32 *place = (SHARED u32 *)shared + launch->shared_stress_at + lane * launch->stress_lane_stride;
    const u32 pairs = (accesses + 1) / 2;
    const u32 nothing = (u32)launch->zeros[0];
    u32 done = 0;
    NOT_UNROLLED
    for (u32 i = 0; i < pairs; i++) {
        VOLATILE_STORE(SHARED, u32, place, i);
        done += 2 + (VOLATILE_LOAD(SHARED, u32, place) & nothing);
    }
    return done;
}

// In some rounds shared memory is stressed, in all others the scratchpad.
INLINE u32 stress_in_round(
    LAUNCH *launch, GLOBAL u32 *scratchpad, SHARED u64 *shared, u32 round, u32 pattern, u32 accesses)
{
    if (happens(launch->shared_stress_percent, launch->seed, round, 20)) {
        return stress_shared(launch, shared, accesses);
    }
    return stress(stress_place(launch, scratchpad, round), pattern, accesses);
}

INLINE void count_many(LAUNCH *launch, GLOBAL u32 *low, GLOBAL u32 *high, u32 number)
{
    const u32 before = add_for_all(launch, low, number);
    if (before + number < before) {
        add_for_all(launch, high, 1);
    }
}

// What a stressing CTA does: it stops early when the testing CTAs are done.
FUNCTION void only_stress(
    LAUNCH *launch, GLOBAL u32 *scratchpad, SHARED u64 *shared, GLOBAL u32 *counters)
{
    for (u32 round = 0; round < launch->rounds; round++) {
        if (look_at(counters + COUNT_FINISHED) >= launch->finished_threads) {
            break;
        }
        if (happens(launch->stress_percent, launch->seed, round, 8)) {
            const u32 done = stress_in_round(
                launch, scratchpad, shared, round, launch->stress_pattern, launch->stress_iterations);
            count_many(launch, counters + COUNT_STRESS_LOW, counters + COUNT_STRESS_HIGH, done);
        }
    }
}

FUNCTION u32 stress_before(LAUNCH *launch, GLOBAL u32 *scratchpad, SHARED u64 *shared, u32 round)
{
    if (!happens(launch->pre_stress_percent, launch->seed, round, 9)) {
        return 0;
    }
    return stress_in_round(
        launch, scratchpad, shared, round, launch->pre_stress_pattern, launch->pre_stress_iterations);
}

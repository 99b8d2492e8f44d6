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

// A warp stresses one line; its lanes access adjacent words or, for bank conflicts, words of the same bank.
INLINE GLOBAL u32 *stress_place(GLOBAL const Launch *launch, GLOBAL u32 *scratchpad, u32 round)
{
    const u32 warp = (group_number() * group_size() + thread_number()) / launch->warp_size;
    const u32 line = (warp + random_number(launch->seed, round, 7)) % launch->stress_lines;
    const u32 lane = thread_number() % launch->warp_size;
    return scratchpad + line * launch->stress_line_size + lane * launch->stress_lane_stride;
}

INLINE void count_many(GLOBAL u32 *low, GLOBAL u32 *high, u32 number)
{
    const u32 before = add_to(low, number);
    if (before + number < before) {
        add_to(high, 1);
    }
}

// What a stressing CTA does: it stops early when the testing CTAs are done.
FUNCTION void only_stress(GLOBAL const Launch *launch, GLOBAL u32 *scratchpad, GLOBAL u32 *counters)
{
    for (u32 round = 0; round < launch->rounds; round++) {
        if (look_at(counters + COUNT_FINISHED) >= launch->finished_threads) {
            break;
        }
        if (happens(launch->stress_percent, launch->seed, round, 8)) {
            GLOBAL u32 *place = stress_place(launch, scratchpad, round);
            const u32 done = stress(place, launch->stress_pattern, launch->stress_iterations);
            count_many(counters + COUNT_STRESS_LOW, counters + COUNT_STRESS_HIGH, done);
        }
    }
}

FUNCTION u32 stress_before(GLOBAL const Launch *launch, GLOBAL u32 *scratchpad, u32 round)
{
    if (!happens(launch->pre_stress_percent, launch->seed, round, 9)) {
        return 0;
    }
    GLOBAL u32 *place = stress_place(launch, scratchpad, round);
    return stress(place, launch->pre_stress_pattern, launch->pre_stress_iterations);
}

// Where the locations and results of an instance are, and the initial values of locations.

// The first instance of an instance group in a round; the others of the round follow in steps of `instance_step`. Either
// the instances of a round are adjacent, or those of an instance group: then consecutive rounds lie in the same lines.
INLINE u32 first_instance(LAUNCH *launch, u32 round, u32 instance_group)
{
    return round * launch->round_step + instance_group * launch->group_step;
}

// Variable `v` of an instance lies among the variables of the instance `instance ^ launch->masks[v]`.
INLINE u64 location_offset(LAUNCH *launch, u32 instance, u32 variable)
{
    return (u64)(instance ^ launch->masks[variable]) * launch->pitch + variable * launch->location_bytes;
}

INLINE u64 initial_value(LAUNCH *launch, GLOBAL u8 *locations, u32 instance, u32 variable)
{
    const u32 target = launch->initial_address[variable];  // 1 + the variable whose address it holds
    if (target == 0) {
        return launch->initial_value[variable];
    }
    return (u64)(locations + location_offset(launch, instance, target - 1));
}

INLINE void put(GLOBAL u8 *place, u32 wide, u64 value)
{
    if (wide) {
        *(GLOBAL u64 *)place = value;
    } else {
        *(GLOBAL u32 *)place = (u32)value;
    }
}

INLINE u64 got(GLOBAL const u8 *place, u32 wide)
{
    return wide ? *(GLOBAL const u64 *)place : *(GLOBAL const u32 *)place;
}

// The results of an instance are adjacent.
INLINE u64 got_result(LAUNCH *launch, GLOBAL const u8 *results, u32 instance, u32 row)
{
    const u64 at = (u64)instance * launch->rows + row;
    return launch->wide ? ((GLOBAL const u64 *)results)[at] : ((GLOBAL const u32 *)results)[at];
}

// Before they meet, threads read lines of the instances that they are about to run, each thread lines of other variables,
// so that L1 may hold what the test then makes stale. Every word is used once: what a test can read from a stale line is
// the initial value of its own instance. What is read is added, as 0, so that a thread goes on only when it has it.
FUNCTION u32 warm_lines(
    LAUNCH *launch, GLOBAL const u8 *locations, u32 test_thread, u32 first, u32 end, u32 round)
{
    if (!happens(launch->warm_percent, launch->seed, round, 11)) {
        return 0;
    }
    const u32 chosen = random_number(launch->seed, first, 12 + test_thread);
    const u32 nothing = (u32)launch->zeros[0];
    u32 reads = 0;
    NOT_UNROLLED
    for (u32 instance = first; instance < end; instance += launch->instance_step) {
        u32 left = chosen;
        NOT_UNROLLED
        for (u32 v = 0; v < launch->variables; v++, left >>= 1) {
            if (left & 1) {
                reads += 1 + (CACHED_LOAD(locations + location_offset(launch, instance, v)) & nothing);
            }
        }
    }
    return reads;
}

// Shared variables live in the CTA: they are initialised in every round, and their values at its end are results.
FUNCTION void begin_shared(LAUNCH *launch, SHARED u64 *shared)
{
    const u32 count = launch->shared_variables * launch->warp_groups * launch->lane_groups * launch->batch;
    for (u32 i = thread_number(); i < count; i += group_size()) {
        shared[i * launch->shared_stride] = launch->shared_initial[i % launch->shared_variables];
    }
    group_barrier();
}

FUNCTION void end_shared(
    LAUNCH *launch, SHARED u64 *shared, GLOBAL u8 *results, u32 round, u32 home, u32 first_group)
{
    const u32 groups = launch->warp_groups * launch->lane_groups;
    const u32 variables = launch->shared_variables;
    const u32 count = variables * groups * launch->batch;
    group_barrier();
    for (u32 i = thread_number(); i < count; i += group_size()) {
        const u32 variable = i % variables;
        const u32 row = launch->shared_row[variable];  // 1 + its row of the results
        if (row != 0 && launch->shared_home[variable] == home) {
            const u32 slot = i / variables;
            const u32 instance =
                first_instance(launch, round, first_group + slot % groups) + slot / groups * launch->instance_step;
            const u64 at = ((u64)instance * launch->rows + row - 1) * (launch->wide ? 8 : 4);
            put(results + at, launch->wide, shared[i * launch->shared_stride]);
        }
    }
    group_barrier();
}

KERNEL reset(PARAMETERS)
{
    const u32 variables = launch->variables;
    const u32 first = group_number() * group_size() + thread_number();
    const u32 step = group_count() * group_size();
    for (u32 instance = first; instance < launch->instances; instance += step) {
        for (u32 v = 0; v < variables; v++) {
            put(locations + location_offset(launch, instance, v), launch->wide, initial_value(launch, locations, instance, v));
        }
    }
    for (u32 i = first; i < launch->rounds * launch->instance_groups; i += step) {
        meetings[i] = 0;
    }
    for (u32 i = first; i < 2 * launch->table_slots; i += step) {
        table[i] = 0;
    }
    for (u32 i = first; i < COUNTERS; i += step) {
        counters[i] = 0;
    }
}

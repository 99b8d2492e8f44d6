// Counts outcomes exactly, in a table of slots; the first instance with an outcome owns its slot. Instances are compared
// with the owner by value, first in a small table of the CTA, then in the table of the launch.
// The table of the launch: `slots` owners (1 + instance), `slots` counts, then the values of each owner.

#define NEARBY_SLOTS 64u
#define ADDRESS_TAG 0x6164647200000000ull  // a value that is the address of a variable: the tag and its number

INLINE u64 observed(
    LAUNCH *launch, GLOBAL const u8 *locations, GLOBAL const u8 *results, u32 instance, u32 k)
{
    const u32 source = launch->sources[k];  // 1 + a row of results, or 0x100 + a variable
    u64 value;
    if (source < 0x100) {
        value = got_result(launch, results, instance, source - 1);
    } else {
        value = got(locations + location_offset(launch, instance, source - 0x100), launch->wide);
    }
    if (launch->addresses) {
        for (u32 v = 0; v < launch->variables; v++) {
            if (value == (u64)(locations + location_offset(launch, instance, v))) {
                value = ADDRESS_TAG | v;
            }
        }
    }
    return value;
}

INLINE u32 hash_of(
    LAUNCH *launch, GLOBAL const u8 *locations, GLOBAL const u8 *results, u32 instance)
{
    u32 hash = 0;
    for (u32 k = 0; k < launch->observed; k++) {
        const u64 value = observed(launch, locations, results, instance, k);
        hash = (hash ^ (u32)value ^ (u32)(value >> 32)) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    return hash;
}

INLINE u32 same_outcome(
    LAUNCH *launch, GLOBAL const u8 *locations, GLOBAL const u8 *results, u32 one, u32 other)
{
    for (u32 k = 0; k < launch->observed; k++) {
        if (observed(launch, locations, results, one, k) != observed(launch, locations, results, other, k)) {
            return 0;
        }
    }
    return 1;
}

typedef struct {
    u32 timed;       // instances whose clock told whether all threads ran at the same time
    u32 overlaps;    // those in which they did: the last one began before the first one ended
    u32 inversions;  // those in which a thread began before an earlier one of its warp
    u64 skew;        // from the first beginning to the last one, in ticks, summed up
} TimeCounts;

// Times are words that wrap around: only differences count. A clock that did not tick from the last beginning to the first
// end does not tell which was first.
INLINE void count_times(
    LAUNCH *launch, GLOBAL const u8 *results, u32 instance, TimeCounts *counts)
{
    const u32 origin = (u32)got_result(launch, results, instance, launch->first_row[0]);
    s32 earliest = 0, latest = 0;
    s32 first_end = (s32)((u32)got_result(launch, results, instance, launch->first_row[0] + 1) - origin);
    u32 inverted = 0;
    for (u32 thread = 1; thread < launch->threads; thread++) {
        const u32 row = launch->first_row[thread];
        const s32 begin = (s32)((u32)got_result(launch, results, instance, row) - origin);
        const s32 end = (s32)((u32)got_result(launch, results, instance, row + 1) - origin);
        const u32 earlier = launch->earlier[thread];
        if (earlier != 0) {
            inverted |= begin < (s32)((u32)got_result(launch, results, instance, launch->first_row[earlier - 1]) - origin);
        }
        earliest = begin < earliest ? begin : earliest;
        latest = begin > latest ? begin : latest;
        first_end = end < first_end ? end : first_end;
    }
    if (latest == first_end) {
        return;
    }
    counts->timed++;
    counts->overlaps += latest < first_end;
    counts->inversions += inverted;
    counts->skew += (u32)(latest - earliest);
}

INLINE void add_times(GLOBAL u32 *counters, const TimeCounts *counts)
{
    const u32 low = (u32)counts->skew;
    add_to(counters + COUNT_TIMED, counts->timed);
    add_to(counters + COUNT_OVERLAPS, counts->overlaps);
    add_to(counters + COUNT_INVERSIONS, counts->inversions);
    const u32 before = add_to(counters + COUNT_SKEW_LOW, low);
    add_to(counters + COUNT_SKEW_HIGH, (u32)(counts->skew >> 32) + (before + low < before));
}

FUNCTION void count_outcome(
    LAUNCH *launch, GLOBAL const u8 *locations, GLOBAL const u8 *results, GLOBAL u32 *table,
    GLOBAL u32 *counters, u32 instance, u32 number)
{
    const u32 slots = launch->table_slots;
    u32 slot = hash_of(launch, locations, results, instance) & (slots - 1);
    for (u32 tried = 0; tried < slots; tried++, slot = (slot + 1) & (slots - 1)) {
        const u32 owner = claim(table + slot, instance + 1);
        if (owner == 0) {
            GLOBAL u64 *values = (GLOBAL u64 *)(table + 2 * slots) + slot * launch->observed;
            for (u32 k = 0; k < launch->observed; k++) {
                values[k] = observed(launch, locations, results, instance, k);
            }
        }
        if (owner == 0 || same_outcome(launch, locations, results, owner - 1, instance)) {
            add_to(table + slots + slot, number);
            return;
        }
    }
    add_to(counters + COUNT_OVERFLOW, number);
}

KERNEL reduce(PARAMETERS)
{
    SHARED_MEMORY
    SHARED u32 *owners = (SHARED u32 *)shared;
    SHARED u32 *counts = (SHARED u32 *)shared + NEARBY_SLOTS;
    for (u32 i = thread_number(); i < 2 * NEARBY_SLOTS; i += group_size()) {
        owners[i] = 0;
    }
    group_barrier();
    TimeCounts times = {0, 0, 0, 0};
    const u32 step = group_count() * group_size();
    for (u32 instance = group_number() * group_size() + thread_number(); instance < launch->instances;
         instance += step) {
        if (launch->timed) {
            count_times(launch, results, instance, &times);
        }
        u32 slot = hash_of(launch, locations, results, instance) % NEARBY_SLOTS;
        u32 tried = 0;
        for (; tried < NEARBY_SLOTS; tried++, slot = (slot + 1) % NEARBY_SLOTS) {
            u32 owner = look_at_shared(owners + slot);
            if (owner == 0) {
                owner = claim_shared(owners + slot, instance + 1);
            }
            if (owner == 0 || same_outcome(launch, locations, results, owner - 1, instance)) {
                add_to_shared(counts + slot, 1);
                break;
            }
        }
        if (tried == NEARBY_SLOTS) {
            count_outcome(launch, locations, results, table, counters, instance, 1);
        }
    }
    group_barrier();
    for (u32 i = thread_number(); i < NEARBY_SLOTS; i += group_size()) {
        if (owners[i] != 0) {
            count_outcome(launch, locations, results, table, counters, owners[i] - 1, counts[i]);
        }
    }
    if (launch->timed) {
        add_times(counters, &times);
    }
}

// The threads of a team meet before they run their instances. A meeting is a word that is used once: bits 0-7 count
// those who came, bits 8-15 those who have run their instances, bits 16-23 those who gave up waiting for the others.

#define CAME 1u
#define DONE (1u << 8)
#define GAVE_UP (1u << 16)
#define START_UP 64u  // times as long are the first looks of a launch: not all threads start at once

INLINE u32 tell(GLOBAL const Launch *launch, GLOBAL u32 *meeting, u32 what)
{
    return launch->devices > 1 ? add_to_far(meeting, what) : add_to(meeting, what);
}

FUNCTION void meet(GLOBAL const Launch *launch, GLOBAL u32 *meeting, u32 round)
{
    const u32 threads = launch->threads;
    u32 seen = tell(launch, meeting, CAME) + CAME;
    if (!happens(launch->barrier_percent, launch->seed, round, 10)) {
        return;
    }
    const u32 limit = round == 0 ? START_UP * launch->spin_limit : launch->spin_limit;
    for (u32 looks = 0; (seen & 0xff) < threads; looks++) {
        if (looks == limit) {
            tell(launch, meeting, GAVE_UP);
            return;
        }
        pause_a_moment();
        seen = look_at(meeting);
    }
}

// The first to be done knows whether all ran at the same time, the last whether anybody gave up.
// What it knows is added to `told`: instances run at the same time, meetings that came about, meetings given up.
INLINE void part_company(GLOBAL const Launch *launch, GLOBAL u32 *meeting, u32 round, u32 *told)
{
    const u32 threads = launch->threads;
    const u32 before = tell(launch, meeting, DONE);
    const u32 done = (before >> 8) & 0xff;
    told[0] += done == 0 && (before & 0xff) == threads;
    if (done + 1 == threads && happens(launch->barrier_percent, launch->seed, round, 10)) {
        told[1] += before >> 16 == 0;
        told[2] += before >> 16 != 0;
    }
}

INLINE void hand_in(GLOBAL u32 *counters, const u32 *told, u32 stressed)
{
    add_to(counters + COUNT_OVERLAPS, told[0]);
    add_to(counters + COUNT_MEETINGS, told[1]);
    add_to(counters + COUNT_TIMEOUTS, told[2]);
    count_many(counters + COUNT_STRESS_LOW, counters + COUNT_STRESS_HIGH, stressed);
    add_to(counters + COUNT_FINISHED, 1);
}

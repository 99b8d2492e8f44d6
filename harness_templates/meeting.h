// The threads of an instance group meet before they run their instances. A meeting is a word that is used once: bits 0-7 count
// those who came, bits 8-15 those who have run their instances, bits 16-23 those who gave up waiting for the others.

#define CAME 1u
#define DONE (1u << 8)
#define GAVE_UP (1u << 16)
#define START_UP 64u  // in the first round threads wait so many times longer: not all start at once

INLINE u32 announce(GLOBAL const Launch *launch, GLOBAL u32 *meeting, u32 what)
{
    return launch->devices > 1 ? add_to_far(meeting, what) : add_to(meeting, what);
}

FUNCTION void meet(GLOBAL const Launch *launch, GLOBAL u32 *meeting, u32 round)
{
    const u32 threads = launch->threads;
    u32 seen = announce(launch, meeting, CAME) + CAME;
    if (!happens(launch->barrier_percent, launch->seed, round, 10)) {
        return;
    }
    const u32 limit = round == 0 ? START_UP * launch->spin_limit : launch->spin_limit;
    for (u32 looks = 0; (seen & 0xff) < threads; looks++) {
        if (looks == limit) {
            announce(launch, meeting, GAVE_UP);
            return;
        }
        pause_a_moment();
        seen = look_at(meeting);
    }
}

typedef struct {
    u32 overlaps;  // runs of instances in which all threads ran at the same time
    u32 complete;  // meetings that came about
    u32 given_up;  // meetings that a thread gave up
} MeetingCounts;

// The first thread that is done knows whether all ran at the same time, the last one whether anybody gave up.
INLINE void leave_meeting(GLOBAL const Launch *launch, GLOBAL u32 *meeting, u32 round, MeetingCounts *counts)
{
    const u32 threads = launch->threads;
    const u32 before = announce(launch, meeting, DONE);
    const u32 done = (before >> 8) & 0xff;
    counts->overlaps += done == 0 && (before & 0xff) == threads;
    if (done + 1 == threads && happens(launch->barrier_percent, launch->seed, round, 10)) {
        counts->complete += before >> 16 == 0;
        counts->given_up += before >> 16 != 0;
    }
}

INLINE void add_counts(GLOBAL u32 *counters, const MeetingCounts *counts, u32 stressed)
{
    add_to(counters + COUNT_OVERLAPS, counts->overlaps);
    add_to(counters + COUNT_MEETINGS, counts->complete);
    add_to(counters + COUNT_TIMEOUTS, counts->given_up);
    count_many(counters + COUNT_STRESS_LOW, counters + COUNT_STRESS_HIGH, stressed);
    add_to(counters + COUNT_FINISHED, 1);
}

// The threads of an instance group meet before they run their instances. A meeting is a word that is used once: bits 0-7 count
// those who came, bits 8-15 those who have run their instances, bits 16-23 those who gave up waiting for the others.

#define CAME 1u
#define DONE (1u << 8)
#define GAVE_UP (1u << 16)
#define START_UP 64u  // in the first round threads wait so many times longer: not all start at once

FUNCTION void meet(LAUNCH *launch, GLOBAL u32 *meeting, u32 round)
{
    const u32 threads = launch->threads;
    u32 seen = add_for_all(launch, meeting, CAME) + CAME;
    if (!happens(launch->barrier_percent, launch->seed, round, 10)) {
        return;
    }
    const u32 limit = round == 0 ? START_UP * launch->spin_limit : launch->spin_limit;
    for (u32 looks = 0; (seen & 0xff) < threads; looks++) {
        if (looks == limit) {
            add_for_all(launch, meeting, GAVE_UP);
            return;
        }
        pause_a_moment();
        seen = look_at(meeting);
    }
}

typedef struct {
    u32 complete;  // meetings that came about
    u32 given_up;  // meetings that a thread gave up
} MeetingCounts;

// The last thread that is done knows whether anybody gave up.
INLINE void leave_meeting(LAUNCH *launch, GLOBAL u32 *meeting, u32 round, MeetingCounts *counts)
{
    const u32 threads = launch->threads;
    const u32 before = add_for_all(launch, meeting, DONE);
    const u32 done = (before >> 8) & 0xff;
    if (done + 1 == threads && happens(launch->barrier_percent, launch->seed, round, 10)) {
        counts->complete += before >> 16 == 0;
        counts->given_up += before >> 16 != 0;
    }
}

INLINE void add_counts(LAUNCH *launch, GLOBAL u32 *counters, const MeetingCounts *counts, u32 stressed)
{
    add_for_all(launch, counters + COUNT_MEETINGS, counts->complete);
    add_for_all(launch, counters + COUNT_TIMEOUTS, counts->given_up);
    count_many(launch, counters + COUNT_STRESS_LOW, counters + COUNT_STRESS_HIGH, stressed);
    add_for_all(launch, counters + COUNT_FINISHED, 1);
}

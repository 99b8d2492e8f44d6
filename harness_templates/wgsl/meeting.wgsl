// The threads of an instance group meet before they run their instances, as in meeting.h: bits 0-7 of the word of a meeting
// count those who came, bits 8-15 those who have run their instances, bits 16-23 those who gave up waiting for the others.

const CAME = 1u;
const DONE = 0x100u;
const GAVE_UP = 0x10000u;
const START_UP = 64u;  // in the first round threads wait so many times longer: not all start at once

// Passes that loops which wait may still make in this launch: some devices end all loops of a thread after so many passes.
var<private> passes_left: u32;

fn may_wait() -> bool {
    if (passes_left == 0u) {
        return false;
    }
    passes_left -= 1u;
    return true;
}

fn meet(meeting: u32, round: u32) {
    var seen = atomicAdd(&meetings[meeting], CAME) + CAME;
    if (!happens(launch.barrier_percent, round, 10u)) {
        return;
    }
    let limit = select(launch.spin_limit, START_UP * launch.spin_limit, round == 0u);
    for (var looks = 0u; (seen & 0xffu) < launch.threads; looks++) {
        if (looks == limit || !may_wait()) {
            atomicAdd(&meetings[meeting], GAVE_UP);
            return;
        }
        seen = atomicLoad(&meetings[meeting]);
    }
}

struct MeetingCounts {
    overlaps: u32,  // runs of instances in which all threads ran at the same time
    complete: u32,  // meetings that came about
    given_up: u32,  // meetings that a thread gave up
}

// The first thread that is done knows whether all ran at the same time, the last one whether anybody gave up.
fn leave_meeting(meeting: u32, round: u32, counts: ptr<function, MeetingCounts>) {
    let before = atomicAdd(&meetings[meeting], DONE);
    let done = (before >> 8u) & 0xffu;
    if (done == 0u && (before & 0xffu) == launch.threads) {
        (*counts).overlaps += 1u;
    }
    if (done + 1u == launch.threads && happens(launch.barrier_percent, round, 10u)) {
        if (before >> 16u == 0u) {
            (*counts).complete += 1u;
        } else {
            (*counts).given_up += 1u;
        }
    }
}

fn add_counts(counts: MeetingCounts, ran: u32, stressed: u32) {
    atomicAdd(&counters[COUNT_RAN], ran);
    atomicAdd(&counters[COUNT_OVERLAPS], counts.overlaps);
    atomicAdd(&counters[COUNT_MEETINGS], counts.complete);
    atomicAdd(&counters[COUNT_TIMEOUTS], counts.given_up);
    count_stress(stressed);
    atomicAdd(&counters[COUNT_FINISHED], 1u);
}

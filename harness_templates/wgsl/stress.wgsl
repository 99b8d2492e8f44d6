// Stress: threads that access the lines of a scratchpad all the time. Every access is an atomic and is counted. What is
// read is below 1 << 31, which no compiler knows, and goes into the count as 0: so the reads cannot be removed.

const STRESS_VALUE = 0x07f3b000u;

fn stress(place: u32, pattern: u32, accesses: u32) -> u32 {
    let pairs = (accesses + 1u) / 2u;
    var seen = 0u;
    for (var i = 0u; i < pairs; i++) {
        switch pattern {
            case 0u: {
                atomicStore(&scratchpad[place], STRESS_VALUE);
                atomicStore(&scratchpad[place], STRESS_VALUE + 1u);
            }
            case 1u: {
                atomicStore(&scratchpad[place], STRESS_VALUE);
                seen |= atomicLoad(&scratchpad[place]);
            }
            case 2u: {
                seen |= atomicLoad(&scratchpad[place]);
                atomicStore(&scratchpad[place], STRESS_VALUE);
            }
            default: {
                seen |= atomicLoad(&scratchpad[place]);
                seen |= atomicLoad(&scratchpad[place]);
            }
        }
    }
    return 2u * pairs + (seen >> 31u);
}

// A subgroup stresses one line; its lanes access adjacent words or, for bank conflicts, words of the same bank.
fn stress_place(round: u32) -> u32 {
    let warp = (group_number * group_size + thread_number) / launch.warp_size;
    let line = (warp + random_number(round, 7u)) % launch.stress_lines;
    let lane = thread_number % launch.warp_size;
    return launch.stress_line_at[line] + lane * launch.stress_lane_stride;
}

fn count_stress(number: u32) {
    let before = atomicAdd(&counters[COUNT_STRESS_LOW], number);
    if (before + number < before) {
        atomicAdd(&counters[COUNT_STRESS_HIGH], 1u);
    }
}

// What a stressing workgroup does: it stops early when the testing workgroups are done.
fn only_stress() {
    for (var round = 0u; round < launch.rounds; round++) {
        if (atomicLoad(&counters[COUNT_FINISHED]) >= launch.finished_threads) {
            break;
        }
        if (happens(launch.stress_percent, round, 8u)) {
            count_stress(stress(stress_place(round), launch.stress_pattern, launch.stress_iterations));
        }
    }
}

fn stress_before(round: u32) -> u32 {
    if (!happens(launch.pre_stress_percent, round, 9u)) {
        return 0u;
    }
    return stress(stress_place(round), launch.pre_stress_pattern, launch.pre_stress_iterations);
}

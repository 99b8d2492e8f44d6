// Which thread of the test a thread runs in a round, as in placement.h: workgroups, and the subgroups of a workgroup, are
// permuted, then assigned. All lanes of a subgroup run the same thread of the test, in different instances.

const NOBODY = 0xffffffffu;

struct Position {
    test_thread: u32,  // the thread of the test that is run, or NOBODY
    instance_group: u32,  // runs its own instances of the round
    group_in_cta: u32,  // the number of the instance group among those that have threads in this workgroup
    home: u32,  // the place of this workgroup
}

// Workgroups are shuffled once per launch: the first `testing_groups` run instances, the others stress.
fn group_position() -> u32 {
    if (launch.shuffle_percent != 0u) {
        return shuffled(group_number, group_count, random_number(0u, 1u));
    }
    return group_number;
}

fn find_position(round: u32) -> Position {
    var cta = group_position();
    var warp = thread_number / launch.warp_size;
    var lane = thread_number % launch.warp_size;
    let era = round & launch.era_mask;  // in the rounds of an era workgroups keep their places
    if (happens(launch.shuffle_percent, era, 2u)) {
        cta = shuffled(cta, launch.places_clusters * launch.cta_groups, random_number(era, 3u));
    }
    if (happens(launch.shuffle_percent, round, 2u)) {
        warp = shuffled(warp, group_size / launch.warp_size, random_number(round, 5u));
        lane = shuffled(lane, launch.warp_size, random_number(round, 6u));
    }
    var position: Position;
    position.home = cta / launch.cta_groups;
    position.group_in_cta = (warp % launch.warp_groups) * launch.lane_groups + lane;
    position.instance_group =
        (cta % launch.cta_groups) * launch.warp_groups * launch.lane_groups + position.group_in_cta;
    position.test_thread = NOBODY;
    warp /= launch.warp_groups;
    if (warp < launch.places_warps) {
        position.test_thread = launch.thread_at[position.home * launch.places_warps + warp];
    }
    return position;
}

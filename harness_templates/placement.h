// Which thread of the test a thread runs in a round: at every level of the scope tree the units (clusters, CTAs of a
// cluster, warps of a CTA, lanes of a warp) are permuted, then assigned so that each instance group gets one unit for
// every place it needs. README.md has a drawing.

#define NOBODY 0xffffffffu

typedef struct {
    u32 test_thread;     // the thread of the test that is run, or NOBODY
    u32 instance_group;  // memory.h says which instances it runs in a round
    u32 group_in_cta;    // the number of the instance group among those that have threads in this CTA
    u32 home;            // the place of this CTA: ((kernel, cluster), CTA)
} Position;

// Clusters of CTAs are shuffled once per launch: the first `testing_groups` run instances, the others stress.
INLINE u32 group_position(LAUNCH *launch)
{
    const u32 size = launch->cluster_groups;
    u32 cluster = group_number() / size;
    if (launch->shuffle_percent != 0) {
        cluster = shuffled(cluster, group_count() / size, random_number(launch->seed, 0, 1));
    }
    return cluster * size + group_number() % size;
}

FUNCTION Position find_position(LAUNCH *launch, u32 kernel_number, u32 round)
{
    const u32 seed = launch->seed;
    const u32 era = round & launch->era_mask;  // in the rounds of an era CTAs keep their places
    const u32 group = group_position(launch);
    const u32 size = launch->cluster_groups;

    u32 cluster = group / size;
    u32 cta = group % size;
    u32 warp = thread_number() / launch->warp_size;
    u32 lane = thread_number() % launch->warp_size;
    if (happens(launch->shuffle_percent, seed, era, 2)) {
        cluster = shuffled(cluster, launch->places_clusters * launch->cta_groups, random_number(seed, era, 3));
        cta = shuffled(cta, size, random_number(seed, era, 4));
    }
    if (happens(launch->shuffle_percent, seed, round, 2)) {
        warp = shuffled(warp, group_size() / launch->warp_size, random_number(seed, round, 5));
        lane = shuffled(lane, launch->warp_size, random_number(seed, round, 6));
    }

    Position position;
    position.home = (kernel_number * launch->places_clusters + cluster / launch->cta_groups) * size + cta;
    position.group_in_cta = (warp % launch->warp_groups) * launch->lane_groups + lane % launch->lane_groups;
    position.instance_group = (cluster % launch->cta_groups) * launch->warp_groups * launch->lane_groups + position.group_in_cta;
    warp /= launch->warp_groups;
    lane /= launch->lane_groups;
    position.test_thread = NOBODY;
    if (warp < launch->places_warps && lane < launch->places_lanes) {
        position.test_thread = launch->thread_at[(position.home * launch->places_warps + warp) * launch->places_lanes + lane];
    }
    return position;
}

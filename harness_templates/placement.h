// Which role a thread plays in a round: at every level of the scope tree the units (clusters, CTAs of a cluster, warps
// of a CTA, lanes of a warp) are permuted, then dealt out so that each team gets one unit for every place it needs.

#define NOBODY 0xffffffffu

typedef struct {
    u32 role;    // the thread of the test that is played, or NOBODY
    u32 team;    // runs the instances team, team + teams, ... of the round
    u32 nearby;  // the number of the team among those whose threads stand in this CTA
    u32 home;    // the place of this CTA: ((part, cluster), CTA)
} Seat;

// CTAs are shuffled a cluster at a time, once a launch: the first `testing_groups` run instances, the others stress.
INLINE u32 group_position(GLOBAL const Launch *launch)
{
    const u32 size = launch->cluster_groups;
    u32 cluster = group_number() / size;
    if (launch->shuffle_percent != 0) {
        cluster = shuffled(cluster, group_count() / size, random_number(launch->seed, 0, 1));
    }
    return cluster * size + group_number() % size;
}

FUNCTION Seat take_seat(GLOBAL const Launch *launch, u32 part, u32 round)
{
    const u32 seed = launch->seed;
    const u32 shuffle = happens(launch->shuffle_percent, seed, round, 2);
    const u32 group = group_position(launch);
    const u32 size = launch->cluster_groups;

    u32 cluster = group / size;
    u32 cta = group % size;
    u32 warp = thread_number() / launch->warp_size;
    u32 lane = thread_number() % launch->warp_size;
    if (shuffle) {
        cluster = shuffled(cluster, launch->places_clusters * launch->constellations, random_number(seed, round, 3));
        cta = shuffled(cta, size, random_number(seed, round, 4));
        warp = shuffled(warp, group_size() / launch->warp_size, random_number(seed, round, 5));
        lane = shuffled(lane, launch->warp_size, random_number(seed, round, 6));
    }

    Seat seat;
    seat.home = (part * launch->places_clusters + cluster / launch->constellations) * size + cta;
    seat.nearby = (warp % launch->warp_teams) * launch->lane_teams + lane % launch->lane_teams;
    seat.team = (cluster % launch->constellations) * launch->warp_teams * launch->lane_teams + seat.nearby;
    warp /= launch->warp_teams;
    lane /= launch->lane_teams;
    seat.role = NOBODY;
    if (warp < launch->places_warps && lane < launch->places_lanes) {
        seat.role = launch->thread_at[(seat.home * launch->places_warps + warp) * launch->places_lanes + lane];
    }
    return seat;
}

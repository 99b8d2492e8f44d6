// Pseudo-random numbers without a state, as in random.h: a function of the seed, the round and the purpose.

fn random_number(round: u32, purpose: u32) -> u32 {
    var mixed = (launch.seed ^ (round * 0x9e3779b9u)) + purpose * 0x85ebca6bu;
    mixed = (mixed ^ (mixed >> 16u)) * 0x7feb352du;
    mixed = (mixed ^ (mixed >> 15u)) * 0x846ca68bu;
    return mixed ^ (mixed >> 16u);
}

fn happens(percent: u32, round: u32, purpose: u32) -> bool {
    return percent != 0u && random_number(round, purpose) % 100u < percent;
}

// A permutation of the numbers below `count`: a multiplier coprime to it, then a shift.
fn shuffled(unit: u32, count: u32, number: u32) -> u32 {
    if (count < 2u) {
        return unit;
    }
    var primes = array<u32, 8>(3u, 7u, 13u, 31u, 61u, 127u, 251u, 509u);
    var prime = primes[number & 7u];
    if (count % prime == 0u) {
        prime = 1u;
    }
    return (unit * prime + (number >> 8u) % count) % count;
}

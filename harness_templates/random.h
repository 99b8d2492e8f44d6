// Pseudo-random numbers without a state: a function of the seed, the round and the purpose, the same on every device.

PRIME_TABLE

INLINE u32 random_number(u32 seed, u32 round, u32 purpose)
{
    u32 mixed = (seed ^ (round * 0x9e3779b9u)) + purpose * 0x85ebca6bu;
    mixed = (mixed ^ (mixed >> 16)) * 0x7feb352du;
    mixed = (mixed ^ (mixed >> 15)) * 0x846ca68bu;
    return mixed ^ (mixed >> 16);
}

INLINE u32 happens(u32 percent, u32 seed, u32 round, u32 purpose)
{
    return percent != 0 && random_number(seed, round, purpose) % 100 < percent;
}

// A permutation of the numbers below `count`: a multiplier coprime to it, then a shift.
INLINE u32 shuffled(u32 unit, u32 count, u32 number)
{
    if (count < 2) {
        return unit;
    }
    u32 prime = PRIME(number & 7);
    if (count % prime == 0) {
        prime = 1;
    }
    return (unit * prime + (number >> 8) % count) % count;
}

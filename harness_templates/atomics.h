// Atomics on words that the kernels of all GPUs of a launch share: meetings and counters. An atomic of one GPU loses updates
// of another on the same word, so with several GPUs they have the scope of the system. `reset` and `reduce` run on
// one GPU, before and after all others, and need none of this.

INLINE u32 add_for_all(LAUNCH *launch, GLOBAL u32 *word, u32 value)
{
    return launch->devices > 1 ? add_to_far(word, value) : add_to(word, value);
}

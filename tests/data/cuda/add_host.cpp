#include <cstdint>

// What add.cu does, for the processor of this machine.
extern "C" void run_add(uint32_t groups, uint32_t size, uint32_t, void **arguments)
{
    uint32_t *sums = *(uint32_t **)arguments[0];
    const uint32_t *numbers = *(const uint32_t **)arguments[1];
    const uint64_t more = *(uint64_t *)arguments[2];
    const uint32_t count = *(uint32_t *)arguments[3];
    for (uint32_t number = 0; number < groups * size; number++) {
        if (number < count) {
            sums[number] = numbers[number] + (uint32_t)more;
        }
    }
}

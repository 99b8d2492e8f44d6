"""A host build whose CTAs have an L1 that is not coherent: a line that was read once keeps its words until the end.

Stores go to memory, and change the line in the L1 of their own CTA only. Loads of the scope of a CTA, as `ld.ca` is on
the host, and the reads that warm L1, are answered by L1; all others go to memory.
"""

from __future__ import annotations

L1 = """
#include <map>
#include <array>
static const u64 LINE = 128;
typedef std::map<u64, std::array<u8, 128>> Lines;
struct L1 {
    std::mutex mutex;
    Lines lines;
};

template <typename Type> static Type load_l1(L1 &l1, u64 address)
{
    std::lock_guard<std::mutex> lock(l1.mutex);
    const u64 start = address / LINE * LINE;
    auto found = l1.lines.find(start);
    if (found == l1.lines.end()) {
        std::array<u8, 128> line;
        for (u64 at = 0; at < LINE; at += 4) {
            const u32 word = __atomic_load_n((u32 *)(start + at), __ATOMIC_RELAXED);
            memcpy(line.data() + at, &word, 4);
        }
        found = l1.lines.emplace(start, line).first;
    }
    Type value;
    memcpy(&value, found->second.data() + (address - start), sizeof value);
    return value;
}

template <typename Type> static void store_l1(L1 &l1, u64 address, Type value)
{
    std::lock_guard<std::mutex> lock(l1.mutex);
    auto found = l1.lines.find(address / LINE * LINE);
    if (found != l1.lines.end()) {
        memcpy(found->second.data() + address % LINE, &value, sizeof value);
    }
    __atomic_store_n((Type *)address, value, __ATOMIC_RELAXED);
}
"""
CHANGES = {  # of the source of a host build
    "struct Group {\n": L1 + "\nstruct Group {\n    L1 l1;\n",
    "#define LOAD(space, type, address, order, scope) __atomic_load_n(AT(space, type, address), ORDER_##order)": (
        "#define LOAD(space, type, address, order, scope) LOAD_##scope(type, address, order)\n"
        "#define LOAD_cta(type, address, order) load_l1<type>(here.group->l1, (u64)(address))\n"
        "#define LOAD_gpu(type, address, order) __atomic_load_n(AT(, type, address), ORDER_##order)\n"
        "#define LOAD_sys LOAD_gpu"
    ),
    "__atomic_store_n(AT(space, type, address), value, ORDER_##order)": (
        "store_l1<type>(here.group->l1, (u64)(address), value)"
    ),
    "#define CACHED_LOAD(address) VOLATILE_LOAD(, const u32, address)": (
        "#define CACHED_LOAD(address) load_l1<u32>(here.group->l1, (u64)(address))"
    ),
}


def give_l1(source: str) -> str:
    """The source of a host build, with an L1 in every CTA."""
    for old, new in CHANGES.items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source

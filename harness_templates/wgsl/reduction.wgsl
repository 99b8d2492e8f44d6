// Counts outcomes exactly, in a table of slots, as in reduction.h: `slots` owners (1 + instance), `slots` counts, then the
// values of each owner. An instance whose loop was cut has no outcome: it is discarded.

fn observed(instance: u32, k: u32) -> u32 {
    let source = launch.sources[k];  // 1 + a row of results, or 0x100 + a variable
    if (source < 0x100u) {
        return results[instance * launch.rows + source - 1u];
    }
    return atomicLoad(&locations[location(instance, source - 0x100u) >> 2u]);
}

fn hash_of(instance: u32) -> u32 {
    var hash = 0u;
    for (var k = 0u; k < launch.observed; k++) {
        hash = (hash ^ observed(instance, k)) * 0x9e3779b1u;
        hash ^= hash >> 15u;
    }
    return hash;
}

fn same_outcome(one: u32, other: u32) -> bool {
    for (var k = 0u; k < launch.observed; k++) {
        if (observed(one, k) != observed(other, k)) {
            return false;
        }
    }
    return true;
}

// Make an instance the owner of an empty slot; returns the owner before, 0 if there was none.
fn claim(slot: u32, owner: u32) -> u32 {
    loop {
        let answer = atomicCompareExchangeWeak(&table[slot], 0u, owner);
        if (answer.exchanged) {
            return 0u;
        }
        if (answer.old_value != 0u) {
            return answer.old_value;
        }
    }
    return 0u;
}

fn count_outcome(instance: u32, number: u32) {
    let slots = launch.table_slots;
    var slot = hash_of(instance) & (slots - 1u);
    for (var tried = 0u; tried < slots; tried++) {
        let owner = claim(slot, instance + 1u);
        if (owner == 0u) {
            for (var k = 0u; k < launch.observed; k++) {
                atomicStore(&table[2u * slots + slot * launch.observed + k], observed(instance, k));
            }
        }
        if (owner == 0u || same_outcome(max(owner, 1u) - 1u, instance)) {
            atomicAdd(&table[slots + slot], number);
            return;
        }
        slot = (slot + 1u) & (slots - 1u);
    }
    atomicAdd(&counters[COUNT_OVERFLOW], number);
}

@compute @workgroup_size(group_size)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32
) {
    let step = groups.x * group_size;
    var last = 0u;  // `pending` instances up to now have had the outcome of this one
    var pending = 0u;
    var discarded = 0u;
    for (var instance = group.x * group_size + thread; instance < launch.instances; instance += step) {
        if (instance < arrayLength(&cuts) && atomicLoad(&cuts[instance]) != 0u) {
            discarded += 1u;
            continue;
        }
        if (pending != 0u && same_outcome(last, instance)) {
            pending += 1u;
            continue;
        }
        if (pending != 0u) {
            count_outcome(last, pending);
        }
        last = instance;
        pending = 1u;
    }
    if (pending != 0u) {
        count_outcome(last, pending);
    }
    atomicAdd(&counters[COUNT_DISCARDED], discarded);
}

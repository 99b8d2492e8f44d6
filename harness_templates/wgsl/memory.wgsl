// Where the locations and results of an instance are, and the initial values of locations.

// The first instance of an instance group in a round; the others of the round follow in steps of `instance_step`.
fn first_instance(round: u32, instance_group: u32) -> u32 {
    return round * launch.round_step + instance_group * launch.group_step;
}

// The bytes from the first location to a variable of an instance, which are its address in the code of tests; it lies
// among the variables of the instance `instance ^ launch.masks[variable]`.
fn location(instance: u32, variable: u32) -> u32 {
    return (instance ^ launch.masks[variable]) * launch.pitch + variable * launch.location_bytes;
}

// The bytes from the beginning of shared memory to a shared variable; a slot has the variables of one instance.
fn shared_location(slot: u32, variable: u32) -> u32 {
    return (slot * launch.shared_variables + variable) * launch.shared_stride * 8u;
}

// Shared variables live in the workgroup: they are initialised in every round, and their values at its end are results.
fn begin_shared() {
    let count = launch.shared_variables * launch.warp_groups * launch.lane_groups * launch.batch;
    for (var i = thread_number; i < count; i += group_size) {
        let variable = i % launch.shared_variables;
        atomicStore(
            &shared_memory[shared_location(i / launch.shared_variables, variable) >> 2u], launch.shared_initial[variable]
        );
    }
    workgroupBarrier();
}

fn end_shared(round: u32, home: u32, first_group: u32) {
    let groups = launch.warp_groups * launch.lane_groups;
    let count = launch.shared_variables * groups * launch.batch;
    workgroupBarrier();
    for (var i = thread_number; i < count; i += group_size) {
        let variable = i % launch.shared_variables;
        let row = launch.shared_row[variable];  // 1 + its row of the results
        if (row != 0u && launch.shared_home[variable] == home) {
            let slot = i / launch.shared_variables;
            let instance =
                first_instance(round, first_group + slot % groups) + slot / groups * launch.instance_step;
            results[instance * launch.rows + row - 1u] = atomicLoad(&shared_memory[shared_location(slot, variable) >> 2u]);
        }
    }
    workgroupBarrier();
}

// The host has set all counters to 0 before.
@compute @workgroup_size(group_size)
fn reset(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32
) {
    let first = group.x * group_size + thread;
    let step = groups.x * group_size;
    var initialised = 0u;
    for (var instance = first; instance < launch.instances; instance += step) {
        for (var v = 0u; v < launch.variables; v++) {
            atomicStore(&locations[location(instance, v) >> 2u], launch.initial_value[v]);
        }
        initialised += 1u;
    }
    for (var i = first; i < launch.rounds * launch.instance_groups; i += step) {
        atomicStore(&meetings[i], 0u);
    }
    for (var i = first; i < arrayLength(&cuts); i += step) {
        atomicStore(&cuts[i], 0u);
    }
    for (var i = first; i < 2u * launch.table_slots; i += step) {
        atomicStore(&table[i], 0u);
    }
    atomicAdd(&counters[COUNT_INITIALISED], initialised);
}

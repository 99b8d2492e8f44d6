/* Launches: the geometry fits the device, the arguments are what the cubin declares, every CTA is resident at once. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARP 32
#define REGISTER_UNIT 256 /* registers are handed out to a warp in these */
#define WARP_UNIT 4       /* and warps to the four parts of an SM */
#define SHARED_UNIT 128

typedef struct {
    CUfunction function;
    CUcontext context;
    CUstream stream;
    unsigned grid[3], block[3], shared, groups, cluster;
    bool cooperative;
    Allocation *uses[MAX_PARAMETERS];
    unsigned char arguments[4096];
    char described[256]; /* the name of the kernel and its arguments that are no addresses: run:0:1:0 */
} Launch;

static unsigned resident_groups[MAX_DEVICES]; /* of kernels that run; guarded by the state lock */

static int rounded_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

static int warps_with_registers(const Chip *chip, const KernelImage *kernel) {
    int of_a_warp = rounded_up(kernel->registers * WARP, REGISTER_UNIT);
    return of_a_warp ? chip->registers_per_sm / of_a_warp / WARP_UNIT * WARP_UNIT : 64;
}

int most_threads(const Chip *chip, const KernelImage *kernel) {
    int threads = WARP * warps_with_registers(chip, kernel);
    return threads < kernel->max_threads ? threads : kernel->max_threads;
}

int occupancy(const Chip *chip, const KernelImage *kernel, int threads, int dynamic_shared) {
    int warps = rounded_up(threads, WARP) / WARP;
    int groups = chip->blocks_per_sm;
    if (groups > chip->threads_per_sm / (warps * WARP))
        groups = chip->threads_per_sm / (warps * WARP);
    if (groups > warps_with_registers(chip, kernel) / warps)
        groups = warps_with_registers(chip, kernel) / warps;
    int shared = kernel->shared + dynamic_shared + chip->reserved_shared_per_block;
    if (shared && groups > chip->shared_per_sm / rounded_up(shared, SHARED_UNIT))
        groups = chip->shared_per_sm / rounded_up(shared, SHARED_UNIT);
    return groups;
}

/* Whether an address is memory of this process that is none of the device's. */
static bool is_host_address(uint64_t address) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char permissions[8];
        if (sscanf(line, "%lx-%lx %7s", &start, &end, permissions) == 3)
            found = address >= start && address < end && permissions[0] == 'r' && !is_device_address(address);
    }
    if (maps)
        fclose(maps);
    return found;
}

static bool check_geometry(const Launch *launch) {
    const char *name = launch->function->image->name;
    const KernelImage *image = launch->function->image;
    const Chip *chip = devices[launch->context->device];
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    for (int i = 0; i < 3; i++)
        if (!launch->grid[i] || !launch->block[i]) {
            violation("%s: grid and block have no zero extent", name);
            return false;
        }
    if (launch->grid[1] > 65535 || launch->grid[2] > 65535 || launch->grid[0] > 2147483647u) {
        violation("%s: the grid is larger than any device allows", name);
        return false;
    }
    if (launch->grid[0] != launch->groups || launch->block[0] != threads) {
        violation("%s: grid and block of the harness have one dimension", name);
        return false;
    }
    if ((int)threads > most_threads(chip, image)) {
        violation("%s: %u threads a CTA, and it runs with %d", name, threads, most_threads(chip, image));
        return false;
    }
    if (image->shared + (int)launch->shared > chip->shared_per_block) {
        violation("%s: %d + %u bytes of shared memory", name, image->shared, launch->shared);
        return false;
    }
    if (launch->cluster && (int)launch->cluster != image->cluster) {
        violation("%s: launched in clusters of %u CTAs, and built for %d", name, launch->cluster, image->cluster);
        return false;
    }
    if (launch->cooperative && lacks("cooperative")) {
        violation("%s: launched cooperatively on a device that cannot", name);
        return false;
    }
    if (image->cluster > 1 && (chip->major < 9 || launch->grid[0] % (unsigned)image->cluster)) {
        violation("%s: %u CTAs in clusters of %d", name, launch->grid[0], image->cluster);
        return false;
    }
    return true;
}

/* CTAs may wait for each other, so all must be there at once, also beside those of other streams. */
static bool check_residency(const Launch *launch, unsigned resident) {
    const Chip *chip = devices[launch->context->device];
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    unsigned room = (unsigned)(chip->sms * occupancy(chip, launch->function->image, (int)threads, (int)launch->shared));
    if (launch->groups + resident <= room)
        return true;
    violation("%s: %u CTAs beside %u under way, and the device holds %u", launch->function->image->name,
              launch->groups, resident, room);
    return false;
}

static bool check_pointer(Launch *launch, int number, uint64_t value) {
    const char *name = launch->function->image->name;
    if (!is_device_address(value)) {
        if (!is_host_address(value))
            return true;
        violation("%s: argument %d is an address of the host", name, number);
        return false;
    }
    Allocation *allocation = allocation_at(value);
    if (!allocation || allocation->freed) {
        violation("%s: argument %d is an address of %s memory", name, number, allocation ? "freed" : "no");
        return false;
    }
    if (!reaches(launch->context, allocation)) {
        violation("%s: argument %d is memory of device %d, to which there is no access", name, number,
                  allocation->context->device);
        return false;
    }
    launch->uses[number] = allocation;
    return true;
}

static bool check_arguments(Launch *launch, const unsigned char *bytes, size_t size) {
    const KernelImage *image = launch->function->image;
    if (size != (size_t)image->parameter_bytes) {
        violation("%s: %zu bytes of arguments, and it takes %d", image->name, size, image->parameter_bytes);
        return false;
    }
    memcpy(launch->arguments, bytes, size);
    char text[1024];
    int length = 0, described = snprintf(launch->described, sizeof launch->described, "%s", image->name);
    for (int i = 0; i < image->parameters; i++) {
        uint64_t value = 0;
        memcpy(&value, bytes + image->offsets[i], image->sizes[i] < 8 ? (size_t)image->sizes[i] : 8);
        if (image->sizes[i] == 8 && !check_pointer(launch, i, value))
            return false;
        if (launch->uses[i]) {
            length += snprintf(text + length, sizeof text - (size_t)length, " p%zu", launch->uses[i]->size);
        } else {
            char *room = launch->described + described;
            length += snprintf(text + length, sizeof text - (size_t)length, " %llu", (unsigned long long)value);
            described += snprintf(room, sizeof launch->described - (size_t)described, ":%llu", (unsigned long long)value);
        }
    }
    journal("launch kernel=%s device=%d stream=%p grid=%u block=%u shared=%u cluster=%d cooperative=%d arguments=%s",
            image->name, launch->context->device, (void *)launch->stream, launch->groups, launch->block[0],
            launch->shared, image->cluster, launch->cooperative, text);
    return true;
}

static CUresult run_launch(void *data) {
    Launch *launch = data;
    const KernelImage *image = launch->function->image;
    Fault fault = fault_at("kernel", launch->described);
    if (fault.kind == FAULT_HANG)
        for (;;)
            pause();
    if (fault.kind == FAULT_ABORT)
        abort();
    if (fault.kind == FAULT_CODE)
        return fault.code;
    if (getenv("STANDIN_IDLE"))
        return CUDA_SUCCESS;
    unsigned *resident = &resident_groups[launch->context->device];
    pthread_mutex_lock(&state_lock);
    check_residency(launch, *resident);
    *resident += launch->groups;
    pthread_mutex_unlock(&state_lock);
    check_constants(launch->function, launch->arguments);
    CUresult result = run_on_host(launch->function->module->build, image, launch->groups, launch->block[0],
                                  launch->shared, launch->arguments);
    pthread_mutex_lock(&state_lock);
    *resident -= launch->groups;
    pthread_mutex_unlock(&state_lock);
    check_slack(launch->context, image->name);
    return result;
}

static void launch_finished(void *data) {
    Launch *launch = data;
    for (int i = 0; i < MAX_PARAMETERS; i++)
        if (launch->uses[i])
            launch->uses[i]->pending--;
    free(launch);
}

/* Both bindings pass arguments as one buffer. */
static bool find_buffer(void **extra, const unsigned char **bytes, size_t *size) {
    *bytes = NULL;
    *size = 0;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *bytes = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(size_t *)extra[1];
        else
            return false;
    return *bytes != NULL;
}

static CUresult start(const char *name, Launch wanted, CUstream handle, void **parameters, void **extra) {
    CUstream stream = stream_of(handle, name);
    const unsigned char *bytes;
    size_t size;
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!function_lives(wanted.function) || wanted.function->module->context != current_context()) {
        violation("%s: the function is not one of the current context", name);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (parameters || !find_buffer(extra, &bytes, &size)) {
        violation("%s: arguments are not one buffer", name);
        return CUDA_ERROR_INVALID_VALUE;
    }
    Launch *launch = malloc(sizeof *launch);
    *launch = wanted;
    launch->context = current_context();
    launch->stream = stream;
    launch->groups = launch->grid[0] * launch->grid[1] * launch->grid[2];
    pthread_mutex_lock(&state_lock);
    bool fits = check_geometry(launch) && check_residency(launch, 0) && check_arguments(launch, bytes, size);
    for (int i = 0; fits && i < MAX_PARAMETERS; i++)
        if (launch->uses[i])
            launch->uses[i]->pending++;
    pthread_mutex_unlock(&state_lock);
    if (!fits) {
        free(launch);
        return CUDA_ERROR_INVALID_VALUE;
    }
    enqueue(stream, run_launch, launch_finished, launch);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                       unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                       unsigned int block_z, unsigned int shared, CUstream stream, void **parameters,
                                       void **extra) {
    ENTER();
    Launch wanted = {.function = function,
                     .grid = {grid_x, grid_y, grid_z},
                     .block = {block_x, block_y, block_z},
                     .shared = shared};
    return start("cuLaunchKernel", wanted, stream, parameters, extra);
}

EXPORT CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *given, CUfunction function, void **parameters,
                                         void **extra) {
    ENTER_AS("cuLaunchKernel");
    Launch wanted = {.function = function,
                     .grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
                     .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
                     .shared = given->sharedMemBytes};
    for (unsigned i = 0; i < given->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &given->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            wanted.cluster = attribute->value.clusterDim.x * attribute->value.clusterDim.y * attribute->value.clusterDim.z;
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            wanted.cooperative = attribute->value.cooperative != 0;
        else
            violation("cuLaunchKernelEx: attribute %d is unknown here", (int)attribute->id);
    }
    return start("cuLaunchKernelEx", wanted, given->hStream, parameters, extra);
}

EXPORT CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *groups, CUfunction function, int threads,
                                                                    size_t shared) {
    ENTER();
    if (!function_lives(function) || threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *groups = occupancy(devices[function->module->context->device], function->image, threads, (int)shared);
    journal("occupancy kernel=%s block=%d groups=%d", function->image->name, threads, *groups);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *given) {
    ENTER();
    unsigned size = 0;
    if (!function_lives(function))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < given->numAttrs; i++)
        if (given->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            size = given->attrs[i].value.clusterDim.x;
    if (size != (unsigned)function->image->cluster) {
        violation("cuOccupancyMaxActiveClusters: clusters of %u CTAs, and built for %d", size, function->image->cluster);
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    const Chip *chip = devices[function->module->context->device];
    int groups = occupancy(chip, function->image, (int)given->blockDimX, (int)given->sharedMemBytes);
    *clusters = chip->sms * groups / (int)size;
    journal("occupancy kernel=%s block=%u clusters=%d", function->image->name, given->blockDimX, *clusters);
    return CUDA_SUCCESS;
}

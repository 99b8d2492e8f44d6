/* The devices of the machine: real chips with their real limits, and small ones whose threads a host can run. */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

#define KIB(n) ((n) << 10)
#define GIB(n) ((size_t)(n) << 30)
#define MIB(n) ((size_t)(n) << 20)

static const Chip known_chips[] = {
    /* key, name, capability, SMs, per SM: threads, blocks, registers, shared; per block: shared, reserved; memory */
    {"t4", "Tesla T4", 7, 5, 40, 1024, 16, 65536, KIB(64), KIB(48), 0, GIB(15)},
    {"a100", "NVIDIA A100-SXM4-40GB", 8, 0, 108, 2048, 32, 65536, KIB(164), KIB(48), KIB(1), GIB(40)},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 2048, 32, 65536, KIB(228), KIB(48), KIB(1), GIB(80)},
    {"small75", "Stand-in 75", 7, 5, 2, 256, 4, 65536, KIB(64), KIB(48), 0, MIB(256)},
    {"small80", "Stand-in 80", 8, 0, 2, 256, 4, 65536, KIB(100), KIB(48), KIB(1), MIB(256)},
    {"small90", "Stand-in 90", 9, 0, 4, 256, 4, 65536, KIB(228), KIB(48), KIB(1), MIB(256)},
    {"tiny80", "Stand-in 80, one SM", 8, 0, 1, 256, 1, 65536, KIB(100), KIB(48), KIB(1), MIB(64)},
};

int device_count;
const Chip *devices[MAX_DEVICES];

void find_devices(void) {
    const char *setting = getenv("STANDIN_CHIPS");
    char *names = strdup(setting ? setting : "small80"), *rest = names, *name;
    device_count = 0;
    while ((name = strsep(&rest, ",")) != NULL && device_count < MAX_DEVICES)
        for (size_t i = 0; i < sizeof known_chips / sizeof *known_chips; i++)
            if (strcmp(name, known_chips[i].key) == 0)
                devices[device_count++] = &known_chips[i];
    free(names);
}

bool lacks(const char *what) {
    const char *setting = getenv("STANDIN_LACKS");
    size_t length = strlen(what);
    while (setting && *setting) {
        size_t word = strcspn(setting, ",");
        if (word == length && strncmp(setting, what, length) == 0)
            return true;
        setting += word + (setting[word] == ',');
    }
    return false;
}

static bool is_device(CUdevice device, const char *function) {
    if (device >= 0 && device < device_count)
        return true;
    violation("%s: there is no device %d", function, device);
    return false;
}

EXPORT CUresult CUDAAPI cuInit(unsigned int flags) {
    ENTER();
    (void)flags;
    return device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* STANDIN_CUDA is the version of CUDA that the driver supports, as 12040 for 12.4. */
EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version) {
    const char *chosen = getenv("STANDIN_CUDA");
    *version = chosen ? atoi(chosen) : CUDA_VERSION;
    return CUDA_SUCCESS;
}

/* Asked for by NVIDIA's compiler, which looks whether there is a driver: this one has no inner tables to give. */
EXPORT CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *identity) {
    (void)identity;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count) {
    ENTER();
    *count = device_count;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER();
    if (ordinal < 0 || ordinal >= device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER();
    if (!is_device(device, "cuDeviceGetName"))
        return CUDA_ERROR_INVALID_DEVICE;
    strncpy(name, devices[device]->name, (size_t)length - 1);
    name[length - 1] = 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    ENTER();
    if (!is_device(device, "cuDeviceComputeCapability"))
        return CUDA_ERROR_INVALID_DEVICE;
    *major = devices[device]->major;
    *minor = devices[device]->minor;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    ENTER();
    if (!is_device(device, "cuDeviceTotalMem"))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = devices[device]->memory;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    ENTER();
    if (!is_device(device, "cuDeviceCanAccessPeer") || !is_device(peer, "cuDeviceCanAccessPeer"))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer && !getenv("STANDIN_NO_PEER");
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device,
                                                CUdevice peer) {
    ENTER();
    if (!is_device(device, "cuDeviceGetP2PAttribute") || !is_device(peer, "cuDeviceGetP2PAttribute"))
        return CUDA_ERROR_INVALID_DEVICE;
    if (attribute != CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value = device != peer && !getenv("STANDIN_NO_PEER") && !lacks("peer-atomics");
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    ENTER();
    if (!is_device(device, "cuDeviceGetAttribute"))
        return CUDA_ERROR_INVALID_DEVICE;
    const Chip *chip = devices[device];
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = chip->sms; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = chip->threads_per_sm; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = chip->blocks_per_sm; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = chip->registers_per_sm; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = chip->shared_per_block; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = chip->shared_per_sm; break;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *value = chip->reserved_shared_per_block; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = chip->major; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = chip->minor; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT: *value = getenv("STANDIN_WATCHDOG") != NULL; break;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = !lacks("cooperative"); break;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: *value = !lacks("managed"); break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *value = !lacks("concurrent-managed"); break;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: *value = !lacks("mapped-host"); break;
    case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED: *value = !lacks("host-atomics"); break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: *value = CU_COMPUTEMODE_DEFAULT; break;
    default:
        /* A caller that asks for more must be taught here; a made-up answer would hide that. */
        journal("cuDeviceGetAttribute unknown=%d", (int)attribute);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

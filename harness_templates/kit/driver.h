/* NVIDIA's driver, found when the program runs: neither cuda.h nor a toolkit is needed to build it. */
#include <dlfcn.h>
#include <stddef.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUmodule, *CUfunction, *CUstream, *CUlinkState;

typedef struct { unsigned char bytes[16]; } CUuuid;

typedef struct { /* CUlaunchAttribute: the size of a cluster */
    int id;
    char padding[4];
    unsigned x, y, z;
    char more[52];
} ClusterSize;

typedef struct { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared;
    CUstream stream;
    ClusterSize *attributes;
    unsigned count;
} LaunchConfig;

enum { CLUSTER_DIMENSION = 4, LINK_PTX = 1 };
enum { JIT_MAX_REGISTERS = 0, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6, JIT_LEVEL = 7 };
enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, NO_BINARY = 209, UNSUPPORTED_PTX = 222 };
enum { PARAM_END = 0, PARAM_BUFFER = 1, PARAM_SIZE = 2 };
enum { OPTIONAL, NEEDED }; /* functions: some are newer than the oldest driver that can run a kit */

#define FUNCTIONS(F)                                                                                                  \
    F(NEEDED, cuInit, "cuInit", (unsigned))                                                                           \
    F(NEEDED, cuDriverGetVersion, "cuDriverGetVersion", (int *))                                                      \
    F(NEEDED, cuGetErrorString, "cuGetErrorString", (CUresult, const char **))                                        \
    F(NEEDED, cuDeviceGetCount, "cuDeviceGetCount", (int *))                                                          \
    F(NEEDED, cuDeviceGet, "cuDeviceGet", (CUdevice *, int))                                                          \
    F(NEEDED, cuDeviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                                            \
    F(OPTIONAL, cuDeviceGetUuidOfInstance, "cuDeviceGetUuid_v2", (CUuuid *, CUdevice))                                \
    F(OPTIONAL, cuDeviceGetUuid, "cuDeviceGetUuid", (CUuuid *, CUdevice))                                             \
    F(NEEDED, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))                                   \
    F(NEEDED, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                          \
    F(NEEDED, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                                  \
    F(NEEDED, cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                                                   \
    F(NEEDED, cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                                                   \
    F(NEEDED, cuMemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                                  \
    F(NEEDED, cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                   \
    F(NEEDED, cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                                               \
    F(NEEDED, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))               \
    F(NEEDED, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))                     \
    F(NEEDED, cuMemsetD32Async, "cuMemsetD32Async", (CUdeviceptr, unsigned, size_t, CUstream))                        \
    F(NEEDED, cuStreamCreate, "cuStreamCreate", (CUstream *, unsigned))                                               \
    F(NEEDED, cuStreamDestroy, "cuStreamDestroy_v2", (CUstream))                                                      \
    F(NEEDED, cuStreamSynchronize, "cuStreamSynchronize", (CUstream))                                                 \
    F(NEEDED, cuModuleLoadDataEx, "cuModuleLoadDataEx", (CUmodule *, const void *, unsigned, int *, void **))         \
    F(NEEDED, cuModuleUnload, "cuModuleUnload", (CUmodule))                                                           \
    F(NEEDED, cuModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                     \
    F(NEEDED, cuModuleGetGlobal, "cuModuleGetGlobal_v2", (CUdeviceptr *, size_t *, CUmodule, const char *))           \
    F(NEEDED, cuFuncGetAttribute, "cuFuncGetAttribute", (int *, int, CUfunction))                                     \
    F(NEEDED, cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",             \
      (int *, CUfunction, int, size_t))                                                                               \
    F(OPTIONAL, cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters",                                         \
      (int *, CUfunction, const LaunchConfig *))                                                                      \
    F(OPTIONAL, cuLinkCreate, "cuLinkCreate_v2", (unsigned, int *, void **, CUlinkState *))                           \
    F(OPTIONAL, cuLinkAddData, "cuLinkAddData_v2",                                                                    \
      (CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **))                                     \
    F(OPTIONAL, cuLinkComplete, "cuLinkComplete", (CUlinkState, void **, size_t *))                                   \
    F(OPTIONAL, cuLinkDestroy, "cuLinkDestroy", (CUlinkState))                                                        \
    F(NEEDED, cuLaunchKernel, "cuLaunchKernel",                                                                       \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#define DECLARE(needed, name, symbol, parameters) static CUresult(*name) parameters;
FUNCTIONS(DECLARE)

/* Finds the driver; returns what is missing, or null. */
static const char *find_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int missing = 0;
    if (!library)
        return "libcuda.so.1, NVIDIA's driver, does not load: install the driver (nvidia-smi must work)";
#define FIND(needed, name, symbol, parameters)                                                                        \
    *(void **)&name = dlsym(library, symbol);                                                                         \
    missing |= needed && !name;
    FUNCTIONS(FIND)
    return missing ? "this libcuda.so.1 is older than CUDA 11: update the driver" : NULL;
}

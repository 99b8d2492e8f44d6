/* A stand-in for NVIDIA's driver: enough of libcuda for PyCUDA, made to find mistakes of its caller.
 *
 * Every call is written to a journal, and what a real driver would forgive, misread or punish much later is written
 * there as a `violation`: wrong sizes, launches that do not fit, arguments that are not what the cubin declares,
 * memory used after it was freed or never freed. Kernels are executed by host builds of the same harness.
 *
 * Settings, all from the environment:
 *   STANDIN_CHIPS    names of chips (chips.c), separated by commas: the devices of this machine
 *   STANDIN_JOURNAL  file to append the journal to
 *   STANDIN_KERNELS  directory with host builds of cubins (kernels.c)
 *   STANDIN_FAULTS   what goes wrong, and when (faults.c)
 *   STANDIN_IDLE     set: kernels do nothing, for chips with more threads than a host can run
 *   STANDIN_NO_PEER  set: devices cannot reach each other's memory
 *   STANDIN_WATCHDOG set: a watchdog ends long kernels, as on a device that drives a display
 *   STANDIN_LACKS    what the devices lack, separated by commas: managed, concurrent-managed, mapped-host, host-atomics,
 *                    peer-atomics, cooperative
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_DEVICES 8

/* ---- chips.c: the devices of the machine ---- */

typedef struct {
    const char *key, *name;
    int major, minor;
    int sms, threads_per_sm, blocks_per_sm;
    int registers_per_sm, shared_per_sm, shared_per_block, reserved_shared_per_block;
    size_t memory;
} Chip;

extern int device_count;
extern const Chip *devices[MAX_DEVICES];
void find_devices(void);
bool lacks(const char *what);

/* ---- journal.c ---- */

void journal(const char *format, ...) __attribute__((format(printf, 1, 2)));
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *plain_name(const char *function); /* without `_v2`; valid until the next call in this thread */

/* ---- faults.c ---- */

typedef enum { NO_FAULT, FAULT_CODE, FAULT_HANG, FAULT_MISCOUNT, FAULT_ABORT } FaultKind;
typedef struct {
    FaultKind kind;
    CUresult code;
} Fault;

/* The fault that strikes at this call; `detail` is the name of the kernel where there is one. */
Fault fault_at(const char *function, const char *detail);

/* Begins every call: finds faults, errors that stick to the context, and use before cuInit. */
CUresult enter(const char *function);
#define ENTER_AS(function)                        \
    do {                                          \
        CUresult early_result = enter(function);  \
        if (early_result != CUDA_SUCCESS)         \
            return early_result;                  \
    } while (0)
#define ENTER() ENTER_AS(__func__) /* the other one: both bindings meet the same faults */

/* ---- contexts.c ---- */

struct CUctx_st {
    CUcontext next;
    int device, uses;
    bool primary;
    bool peers[MAX_DEVICES];
    _Atomic CUresult stuck; /* an error after which nothing works in this context; streams set it, callers read it */
    CUstream streams, default_stream;
};

extern pthread_mutex_t state_lock; /* guards every list of the driver */
CUcontext current_context(void);
bool context_lives(CUcontext context);
void stick(CUcontext context, CUresult code);

/* ---- memory.c ---- */

typedef enum { DEVICE_MEMORY, MANAGED_MEMORY, HOST_MEMORY } MemoryKind;

typedef struct Allocation {
    struct Allocation *next;
    CUdeviceptr start;
    size_t size, pages, slack; /* slack: bytes from the end of the memory to the guard page */
    CUcontext context;
    int pending; /* launches and copies under way that use it */
    bool freed;
    MemoryKind kind;
} Allocation;

Allocation *allocation_at(CUdeviceptr address); /* also freed ones; null outside of all */
bool is_device_address(CUdeviceptr address);
bool reaches(CUcontext context, const Allocation *allocation); /* whether the context may use the memory */
void check_slack(CUcontext context, const char *when);
void report_leaks(void);
void forget_context_memory(CUcontext context);

/* ---- streams.c ---- */

typedef struct Job {
    struct Job *next;
    CUresult (*work)(void *);
    void (*finished)(void *); /* with the state lock held */
    void *data;
} Job;

struct CUstream_st {
    CUstream next;
    CUcontext context;
    bool blocking; /* waits for the default stream, and the default stream for it */
    Job *first, *last;
    uint64_t enqueued, done;
    bool closing;
    pthread_t worker;
};

CUstream stream_of(CUstream handle, const char *function); /* null with a violation when it is none */
void enqueue(CUstream stream, CUresult (*work)(void *), void (*finished)(void *), void *data);
void drain(CUstream stream);
void drain_context(CUcontext context);
CUstream new_stream(CUcontext context, bool blocking);
void close_stream(CUstream stream);

/* ---- cubin.c: what the image itself declares ---- */

#define MAX_PARAMETERS 64

typedef struct {
    char *name;
    int parameters, parameter_bytes;
    int offsets[MAX_PARAMETERS], sizes[MAX_PARAMETERS];
    int registers, shared, max_threads, cluster;
} KernelImage;

typedef struct {
    char *name;
    size_t size;
} GlobalImage;

typedef struct {
    int architecture;
    size_t size;
    int kernels;
    KernelImage *kernel;
    int globals;
    GlobalImage *global; /* variables of the module */
} CubinImage;

/* Null with a reason when the image is no cubin. */
CubinImage *read_cubin(const void *image, const char **reason);
void free_cubin(CubinImage *cubin);

/* ---- modules.c ---- */

struct CUmod_st {
    CUmodule next;
    CUcontext context;
    CubinImage *cubin;
    CUdeviceptr constants; /* where `constant_memory` is, once somebody asked for it */
    struct HostBuild *build;
    CUfunction functions;
};

struct CUfunc_st {
    CUfunction next;
    CUmodule module;
    const KernelImage *image;
};

bool function_lives(CUfunction function);
void check_constants(CUfunction function, const unsigned char *arguments);
void report_modules(CUcontext context);
int most_threads(const Chip *chip, const KernelImage *kernel); /* of a CTA, with these registers */
int occupancy(const Chip *chip, const KernelImage *kernel, int threads, int dynamic_shared);

/* ---- kernels.c: host builds of the harness ---- */

typedef struct HostBuild HostBuild;

uint64_t hash_of(const unsigned char *bytes, size_t size);
HostBuild *host_build(const void *image, size_t size);
void close_host_build(HostBuild *build);
/* Runs every thread of the grid; returns when all have ended. */
CUresult run_on_host(HostBuild *build, const KernelImage *kernel, uint32_t groups, uint32_t threads, uint32_t shared,
                     unsigned char *arguments);

#endif

/* Device memory: pages of a reserved range, each allocation against a guard page, addresses never used twice.
 *
 * What is beyond the end or freed faults at once when a kernel touches it; new memory is full of a pattern, so that
 * who forgets to set it sees nonsense, not zeros.
 */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANGE ((size_t)1 << 38)
#define PAGE 4096u
#define ALIGNMENT 256u
#define UNSET 0xCB
#define SLACK 0xE7

static Allocation *allocations;
static char *range_start, *range_next;
static size_t in_use[MAX_DEVICES];

static void reserve_range(void) {
    if (range_start)
        return;
    range_start = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range_start == MAP_FAILED)
        abort();
    range_next = range_start + PAGE;
}

static size_t rounded_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

bool is_device_address(CUdeviceptr address) {
    return range_start && address >= (CUdeviceptr)range_start && address < (CUdeviceptr)(range_start + RANGE);
}

Allocation *allocation_at(CUdeviceptr address) {
    for (Allocation *each = allocations; each; each = each->next)
        if (address >= each->start && address < each->start + each->size)
            return each;
    return NULL;
}

/* Managed memory and memory of the host belong to every device. */
bool reaches(CUcontext context, const Allocation *allocation) {
    return allocation->kind != DEVICE_MEMORY || allocation->context->device == context->device ||
           context->peers[allocation->context->device];
}

static size_t pages_on_device(const Allocation *allocation) {
    return allocation->kind == DEVICE_MEMORY ? allocation->pages : 0;
}

static CUresult allocate(const char *function, MemoryKind kind, CUdeviceptr *address, size_t size) {
    static const char *const kinds[] = {"device", "managed", "host"};
    CUcontext context = current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!size) {
        violation("%s of nothing", function);
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t pages = rounded_up(rounded_up(size, ALIGNMENT), PAGE);
    pthread_mutex_lock(&state_lock);
    reserve_range();
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if ((kind != DEVICE_MEMORY || in_use[context->device] + pages <= devices[context->device]->memory) &&
        range_next + pages + PAGE < range_start + RANGE &&
        mprotect(range_next, pages, PROT_READ | PROT_WRITE) == 0) {
        Allocation *allocation = calloc(1, sizeof *allocation);
        allocation->slack = rounded_up(size, ALIGNMENT) - size;
        allocation->start = (CUdeviceptr)(range_next + pages - rounded_up(size, ALIGNMENT));
        allocation->size = size;
        allocation->pages = pages;
        allocation->kind = kind;
        allocation->context = context;
        allocation->next = allocations;
        allocations = allocation;
        memset((void *)allocation->start, UNSET, size);
        memset((char *)allocation->start + size, SLACK, allocation->slack);
        range_next += pages + PAGE;
        in_use[context->device] += pages_on_device(allocation);
        *address = allocation->start;
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&state_lock);
    journal("alloc device=%d bytes=%zu memory=%s result=%d", context->device, size, kinds[kind], (int)result);
    return result;
}

EXPORT CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t size) {
    ENTER();
    return allocate("cuMemAlloc", DEVICE_MEMORY, address, size);
}

EXPORT CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags) {
    ENTER();
    if (lacks("managed"))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (flags != CU_MEM_ATTACH_GLOBAL) {
        violation("cuMemAllocManaged: memory that kernels of all streams use is attached to all");
        return CUDA_ERROR_INVALID_VALUE;
    }
    return allocate("cuMemAllocManaged", MANAGED_MEMORY, address, size);
}

EXPORT CUresult CUDAAPI cuMemHostAlloc(void **host, size_t size, unsigned int flags) {
    ENTER();
    if (!(flags & CU_MEMHOSTALLOC_DEVICEMAP) || !(flags & CU_MEMHOSTALLOC_PORTABLE)) {
        violation("cuMemHostAlloc: memory that kernels use is mapped, and for every context");
        return CUDA_ERROR_INVALID_VALUE;
    }
    return lacks("mapped-host") ? CUDA_ERROR_NOT_SUPPORTED
                                : allocate("cuMemHostAlloc", HOST_MEMORY, (CUdeviceptr *)host, size);
}

/* With unified addressing memory of the host has one address. */
EXPORT CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *address, void *host, unsigned int flags) {
    ENTER();
    Allocation *allocation = allocation_at((CUdeviceptr)host);
    if (flags || !allocation || allocation->kind != HOST_MEMORY || allocation->freed) {
        violation("cuMemHostGetDevicePointer of what cuMemHostAlloc did not give");
        return CUDA_ERROR_INVALID_VALUE;
    }
    *address = (CUdeviceptr)host;
    return CUDA_SUCCESS;
}

static void check_one_slack(const Allocation *allocation, const char *when) {
    const unsigned char *end = (const unsigned char *)allocation->start + allocation->size;
    for (size_t i = 0; i < allocation->slack; i++)
        if (end[i] != SLACK) {
            violation("%s: written %zu bytes beyond the end of an allocation of %zu bytes", when, i, allocation->size);
            return;
        }
}

void check_slack(CUcontext context, const char *when) {
    pthread_mutex_lock(&state_lock);
    for (Allocation *each = allocations; each; each = each->next)
        if (!each->freed && each->context == context)
            check_one_slack(each, when);
    pthread_mutex_unlock(&state_lock);
}

static void give_back(Allocation *allocation) {
    char *pages = (char *)allocation->start + rounded_up(allocation->size, ALIGNMENT) - allocation->pages;
    check_one_slack(allocation, "cuMemFree");
    allocation->freed = true;
    in_use[allocation->context->device] -= pages_on_device(allocation);
    madvise(pages, allocation->pages, MADV_DONTNEED);
    mprotect(pages, allocation->pages, PROT_NONE);
}

static CUresult free_memory(const char *function, CUdeviceptr address, bool host) {
    if (!current_context())
        return CUDA_ERROR_INVALID_CONTEXT;
    drain_context(current_context()); /* as the real one does */
    pthread_mutex_lock(&state_lock);
    Allocation *allocation = allocation_at(address);
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (!allocation || allocation->start != address || (allocation->kind == HOST_MEMORY) != host) {
        violation("%s of what %s did not give", function, host ? "cuMemHostAlloc" : "cuMemAlloc");
    } else if (allocation->freed) {
        violation("%s of %zu bytes twice", function, allocation->size);
    } else {
        if (allocation->pending)
            violation("%s of %zu bytes that work under way uses", function, allocation->size);
        journal("free device=%d bytes=%zu", allocation->context->device, allocation->size);
        give_back(allocation);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&state_lock);
    return result;
}

EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
    ENTER();
    return free_memory("cuMemFree", address, false);
}

EXPORT CUresult CUDAAPI cuMemFreeHost(void *host) {
    ENTER();
    return free_memory("cuMemFreeHost", (CUdeviceptr)host, true);
}

EXPORT CUresult CUDAAPI cuMemGetInfo(size_t *free_bytes, size_t *total) {
    ENTER();
    CUcontext context = current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *total = devices[context->device]->memory;
    *free_bytes = *total - in_use[context->device];
    return CUDA_SUCCESS;
}

void forget_context_memory(CUcontext context) {
    pthread_mutex_lock(&state_lock);
    for (Allocation *each = allocations; each; each = each->next)
        if (each->context == context && !each->freed) {
            if (context->stuck == CUDA_SUCCESS)
                violation("%zu bytes are never freed", each->size);
            give_back(each);
        }
    pthread_mutex_unlock(&state_lock);
}

void report_leaks(void) {
    for (Allocation *each = allocations; each; each = each->next)
        if (!each->freed && each->context->stuck == CUDA_SUCCESS)
            violation("%zu bytes are never freed", each->size);
}

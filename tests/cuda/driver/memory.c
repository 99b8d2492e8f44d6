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

EXPORT CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t size) {
    ENTER();
    CUcontext context = current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!size) {
        violation("cuMemAlloc of nothing");
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t pages = rounded_up(rounded_up(size, ALIGNMENT), PAGE);
    pthread_mutex_lock(&state_lock);
    reserve_range();
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (in_use[context->device] + pages <= devices[context->device]->memory &&
        range_next + pages + PAGE < range_start + RANGE &&
        mprotect(range_next, pages, PROT_READ | PROT_WRITE) == 0) {
        Allocation *allocation = calloc(1, sizeof *allocation);
        allocation->slack = rounded_up(size, ALIGNMENT) - size;
        allocation->start = (CUdeviceptr)(range_next + pages - rounded_up(size, ALIGNMENT));
        allocation->size = size;
        allocation->pages = pages;
        allocation->context = context;
        allocation->next = allocations;
        allocations = allocation;
        memset((void *)allocation->start, UNSET, size);
        memset((char *)allocation->start + size, SLACK, allocation->slack);
        range_next += pages + PAGE;
        in_use[context->device] += pages;
        *address = allocation->start;
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&state_lock);
    journal("alloc device=%d bytes=%zu result=%d", context->device, size, (int)result);
    return result;
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
    in_use[allocation->context->device] -= allocation->pages;
    madvise(pages, allocation->pages, MADV_DONTNEED);
    mprotect(pages, allocation->pages, PROT_NONE);
}

EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
    ENTER();
    if (!current_context())
        return CUDA_ERROR_INVALID_CONTEXT;
    drain_context(current_context()); /* as the real one does */
    pthread_mutex_lock(&state_lock);
    Allocation *allocation = allocation_at(address);
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (!allocation || allocation->start != address) {
        violation("cuMemFree of what cuMemAlloc did not give");
    } else if (allocation->freed) {
        violation("cuMemFree of %zu bytes twice", allocation->size);
    } else {
        if (allocation->pending)
            violation("cuMemFree of %zu bytes that work under way uses", allocation->size);
        journal("free device=%d bytes=%zu", allocation->context->device, allocation->size);
        give_back(allocation);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&state_lock);
    return result;
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

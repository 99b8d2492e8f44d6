/* Copies and memsets: inside one live allocation each, and never beside work that still uses it. */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

typedef enum { TO_DEVICE, TO_HOST, BETWEEN, SET8, SET16, SET32 } CopyKind;

typedef struct {
    CopyKind kind;
    char *to;
    const char *from;
    size_t bytes;
    unsigned value;
    bool miscount;
    char *staged; /* what a copy from the host brings: the caller may change its memory when the call returns */
    Allocation *uses[2];
} Copy;

/* The allocation that holds all the bytes; null with a violation. */
static Allocation *target(const char *function, CUdeviceptr address, size_t bytes) {
    Allocation *allocation = allocation_at(address);
    CUcontext context = current_context();
    if (!allocation)
        violation("%s: the address is not in device memory", function);
    else if (allocation->freed)
        violation("%s: %zu bytes that were freed", function, allocation->size);
    else if (address + bytes > allocation->start + allocation->size)
        violation("%s: %zu bytes at byte %zu of an allocation of %zu", function, bytes,
                  (size_t)(address - allocation->start), allocation->size);
    else if (!context || !reaches(context, allocation))
        violation("%s: memory of another device", function);
    else
        return allocation;
    return NULL;
}

static void add_one(char *bytes, size_t count) {
    for (size_t i = 0; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, 4);
        if (word) {
            word++;
            memcpy(bytes + i, &word, 4);
        }
    }
}

static CUresult do_copy(void *data) {
    Copy *copy = data;
    switch (copy->kind) {
    case SET8: memset(copy->to, (int)copy->value, copy->bytes); break;
    case SET16:
        for (size_t i = 0; i < copy->bytes / 2; i++)
            ((uint16_t *)copy->to)[i] = (uint16_t)copy->value;
        break;
    case SET32:
        for (size_t i = 0; i < copy->bytes / 4; i++)
            ((uint32_t *)copy->to)[i] = copy->value;
        break;
    default: memmove(copy->to, copy->from, copy->bytes);
    }
    if (copy->miscount)
        add_one(copy->to, copy->bytes);
    return CUDA_SUCCESS;
}

static void copy_finished(void *data) {
    Copy *copy = data;
    for (int i = 0; i < 2; i++)
        if (copy->uses[i])
            copy->uses[i]->pending--;
    free(copy->staged);
    free(copy);
}

/* Work on a stream that nothing orders before this one must be over. */
static void check_order(const char *function, CUstream stream, const Allocation *allocation) {
    bool elsewhere = false;
    for (CUstream each = stream->context->streams; each; each = each->next) {
        bool ordered = each == stream || (each->blocking && stream == stream->context->default_stream) ||
                       (stream->blocking && each == stream->context->default_stream);
        elsewhere |= !ordered && each->done != each->enqueued;
    }
    if (allocation->pending && (elsewhere || allocation->context != stream->context))
        violation("%s: %zu bytes that work on another stream may still use", function, allocation->size);
}

static CUresult start_copy(const char *function, Copy wanted, CUdeviceptr first, CUdeviceptr second, CUstream handle,
                           bool wait) {
    CUstream stream = stream_of(handle, function);
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUdeviceptr addresses[2] = {first, second};
    pthread_mutex_lock(&state_lock);
    for (int i = 0; i < 2 && addresses[i]; i++) {
        wanted.uses[i] = target(function, addresses[i], wanted.bytes);
        if (!wanted.uses[i]) {
            pthread_mutex_unlock(&state_lock);
            return CUDA_ERROR_INVALID_VALUE;
        }
        check_order(function, stream, wanted.uses[i]);
    }
    for (int i = 0; i < 2; i++)
        if (wanted.uses[i])
            wanted.uses[i]->pending++;
    pthread_mutex_unlock(&state_lock);
    wanted.miscount = wanted.kind == TO_HOST && fault_at("copy", NULL).kind == FAULT_MISCOUNT;
    if (wanted.kind == TO_DEVICE) { /* as the real driver does with memory that is not pinned */
        wanted.staged = malloc(wanted.bytes + 1);
        wanted.from = memcpy(wanted.staged, wanted.from, wanted.bytes);
    }
    Copy *copy = malloc(sizeof *copy);
    *copy = wanted;
    uint64_t hash = wanted.kind == TO_DEVICE ? hash_of((const unsigned char *)wanted.from, wanted.bytes) : 0;
    journal("%s bytes=%zu hash=%016llx", function, wanted.bytes, (unsigned long long)hash);
    enqueue(stream, do_copy, copy_finished, copy);
    if (wait)
        drain(stream);
    return stream->context->stuck;
}

static CUresult host_copy(const char *function, CopyKind kind, void *host, CUdeviceptr device, size_t bytes,
                          CUstream stream, bool wait) {
    if (is_device_address((CUdeviceptr)host))
        violation("%s: the host's side is device memory", function);
    Copy copy = {.kind = kind, .bytes = bytes};
    copy.to = kind == TO_HOST ? host : (char *)device;
    copy.from = kind == TO_HOST ? (const char *)device : host;
    return start_copy(function, copy, device, 0, stream, wait);
}

EXPORT CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    ENTER();
    return host_copy("cuMemcpyHtoD", TO_DEVICE, (void *)from, to, bytes, NULL, true);
}

EXPORT CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    ENTER();
    return host_copy("cuMemcpyHtoDAsync", TO_DEVICE, (void *)from, to, bytes, stream, false);
}

EXPORT CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    ENTER();
    return host_copy("cuMemcpyDtoH", TO_HOST, to, from, bytes, NULL, true);
}

EXPORT CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER();
    return host_copy("cuMemcpyDtoHAsync", TO_HOST, to, from, bytes, stream, false);
}

EXPORT CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER();
    Copy copy = {.kind = BETWEEN, .to = (char *)to, .from = (const char *)from, .bytes = bytes};
    return start_copy("cuMemcpyDtoD", copy, to, from, NULL, true);
}

#define MEMSET(NAME, TYPE, KIND)                                                                                  \
    EXPORT CUresult CUDAAPI NAME(CUdeviceptr to, TYPE value, size_t count) {                                      \
        ENTER();                                                                                                  \
        Copy copy = {.kind = KIND, .to = (char *)to, .bytes = count * sizeof value, .value = value};              \
        return start_copy(plain_name(#NAME), copy, to, 0, NULL, false);                                           \
    }                                                                                                             \
    EXPORT CUresult CUDAAPI NAME##Async(CUdeviceptr to, TYPE value, size_t count, CUstream stream) {              \
        ENTER();                                                                                                  \
        Copy copy = {.kind = KIND, .to = (char *)to, .bytes = count * sizeof value, .value = value};              \
        return start_copy(plain_name(#NAME "Async"), copy, to, 0, stream, false);                                 \
    }

MEMSET(cuMemsetD8, unsigned char, SET8)
MEMSET(cuMemsetD16, unsigned short, SET16)
MEMSET(cuMemsetD32, unsigned int, SET32)

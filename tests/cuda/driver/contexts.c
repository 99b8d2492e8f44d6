/* Contexts: made, entered and left, given back; what is still there when the process ends is a violation. */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64

pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts;
static _Thread_local CUcontext entered[MAX_DEPTH];
static _Thread_local int depth;

CUcontext current_context(void) { return depth ? entered[depth - 1] : NULL; }

bool context_lives(CUcontext context) {
    for (CUcontext each = contexts; each; each = each->next)
        if (each == context)
            return true;
    return false;
}

static CUcontext new_context(CUdevice device) {
    CUcontext context = calloc(1, sizeof *context);
    context->device = device;
    context->uses = 1;
    context->default_stream = new_stream(context, true);
    pthread_mutex_lock(&state_lock);
    context->next = contexts;
    contexts = context;
    pthread_mutex_unlock(&state_lock);
    journal("context device=%d", device);
    return context;
}

static void end_context(CUcontext context) {
    int streams = -1; /* the default one is nobody's */
    drain_context(context);
    for (; context->streams; streams++)
        close_stream(context->streams);
    if (streams && context->stuck == CUDA_SUCCESS)
        violation("%d streams are never destroyed", streams);
    report_modules(context);
    pthread_mutex_lock(&state_lock);
    for (CUcontext *each = &contexts; *each; each = &(*each)->next)
        if (*each == context) {
            *each = context->next;
            break;
        }
    pthread_mutex_unlock(&state_lock);
    forget_context_memory(context);
    journal("context-end device=%d", context->device);
    /* The structure stays: a handle that is used again is recognised, not reused. */
}

static bool is_context(CUcontext context, const char *function) {
    if (context_lives(context))
        return true;
    violation("%s: no such context", function);
    return false;
}

#if CUDA_VERSION >= 13000
EXPORT CUresult CUDAAPI cuCtxCreate(CUcontext *context, CUctxCreateParams *parameters, unsigned int flags, CUdevice device) {
    (void)parameters;
#else
EXPORT CUresult CUDAAPI cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device) {
#endif
    ENTER();
    (void)flags;
    if (device < 0 || device >= device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *context = new_context(device);
    entered[depth++] = *context;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxDetach(CUcontext context) {
    ENTER();
    if (!is_context(context, "cuCtxDetach"))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->uses == 0)
        end_context(context);
    if (current_context() == context)
        depth--;
    return CUDA_SUCCESS;
}

static CUcontext primary_context(CUdevice device) {
    for (CUcontext each = contexts; each; each = each->next)
        if (each->primary && each->device == device)
            return each;
    return NULL;
}

EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER_AS("cuCtxCreate");
    if (device < 0 || device >= device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *context = primary_context(device);
    if (*context) {
        (*context)->uses++;
    } else {
        *context = new_context(device);
        (*context)->primary = true;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
    ENTER();
    CUcontext context = primary_context(device);
    if (!context) {
        violation("cuDevicePrimaryCtxRelease: device %d has no primary context", device);
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--context->uses == 0)
        end_context(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
    ENTER();
    if (!is_context(context, "cuCtxPushCurrent") || depth == MAX_DEPTH)
        return CUDA_ERROR_INVALID_CONTEXT;
    entered[depth++] = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context) {
    ENTER();
    if (!depth) {
        violation("cuCtxPopCurrent: no context is current");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = entered[--depth];
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) {
    ENTER();
    if (!current_context())
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current_context()->device;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxSynchronize(void) {
    ENTER();
    CUcontext context = current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    drain_context(context);
    return context->stuck;
}

EXPORT CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned int *version) {
    ENTER();
    (void)context;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    ENTER();
    CUcontext context = current_context();
    if (!context || !is_context(peer, "cuCtxEnablePeerAccess") || flags)
        return CUDA_ERROR_INVALID_CONTEXT;
    int can = 0;
    cuDeviceCanAccessPeer(&can, context->device, peer->device);
    if (!can)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (context->peers[peer->device])
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers[peer->device] = true;
    journal("peer from=%d to=%d", context->device, peer->device);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
    ENTER();
    CUcontext context = current_context();
    if (!context || !is_context(peer, "cuCtxDisablePeerAccess"))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->peers[peer->device])
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers[peer->device] = false;
    return CUDA_SUCCESS;
}

__attribute__((destructor)) static void check_at_exit(void) {
    for (CUcontext each = contexts; each; each = each->next)
        violation("a context of device %d is never given back", each->device);
    report_leaks();
    journal("exit");
}

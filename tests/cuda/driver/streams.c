/* Streams: a queue and a thread each, so that work of two streams really runs at the same time. */
#include "standin.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* some queue has moved */

typedef struct {
    CUstream stream;
    uint64_t ticket;
} Wait;

struct CUevent_st {
    CUcontext context;
    CUstream stream;
    uint64_t ticket;
    struct timespec reached;
    bool recorded;
};

static void *work_off(void *data) {
    CUstream stream = data;
    pthread_mutex_lock(&state_lock);
    for (;;) {
        while (!stream->first && !stream->closing)
            pthread_cond_wait(&progress, &state_lock);
        Job *job = stream->first;
        if (!job)
            break;
        pthread_mutex_unlock(&state_lock);
        CUresult result = stream->context->stuck == CUDA_SUCCESS ? job->work(job->data) : CUDA_SUCCESS;
        pthread_mutex_lock(&state_lock);
        if (result != CUDA_SUCCESS)
            stick(stream->context, result);
        if (job->finished)
            job->finished(job->data);
        stream->first = job->next;
        if (!stream->first)
            stream->last = NULL;
        stream->done++;
        free(job);
        pthread_cond_broadcast(&progress);
    }
    pthread_mutex_unlock(&state_lock);
    return NULL;
}

CUstream new_stream(CUcontext context, bool blocking) {
    CUstream stream = calloc(1, sizeof *stream);
    stream->context = context;
    stream->blocking = blocking;
    pthread_mutex_lock(&state_lock);
    stream->next = context->streams;
    context->streams = stream;
    pthread_mutex_unlock(&state_lock);
    pthread_create(&stream->worker, NULL, work_off, stream);
    return stream;
}

void close_stream(CUstream stream) {
    drain(stream);
    pthread_mutex_lock(&state_lock);
    stream->closing = true;
    for (CUstream *each = &stream->context->streams; *each; each = &(*each)->next)
        if (*each == stream) {
            *each = stream->next;
            break;
        }
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&state_lock);
    pthread_join(stream->worker, NULL);
    /* The structure stays, so that a handle used later is not taken for another stream. */
}

static void append(CUstream stream, Job job) {
    Job *copy = malloc(sizeof *copy);
    *copy = job;
    copy->next = NULL;
    if (stream->last)
        stream->last->next = copy;
    else
        stream->first = copy;
    stream->last = copy;
    stream->enqueued++;
}

static void wait_until(CUstream stream, uint64_t ticket) {
    pthread_mutex_lock(&state_lock);
    while (stream->done < ticket)
        pthread_cond_wait(&progress, &state_lock);
    pthread_mutex_unlock(&state_lock);
}

static CUresult do_wait(void *data) {
    Wait *wait = data;
    wait_until(wait->stream, wait->ticket);
    return CUDA_SUCCESS;
}

static void append_wait(CUstream stream, CUstream other, uint64_t ticket) {
    if (other->done >= ticket)
        return;
    Wait *wait = malloc(sizeof *wait);
    *wait = (Wait){other, ticket};
    append(stream, (Job){.work = do_wait, .finished = free, .data = wait});
}

void enqueue(CUstream stream, CUresult (*work)(void *), void (*finished)(void *), void *data) {
    CUstream default_stream = stream->context->default_stream;
    pthread_mutex_lock(&state_lock);
    if (stream == default_stream) {
        for (CUstream each = stream->context->streams; each; each = each->next)
            if (each->blocking && each != stream)
                append_wait(stream, each, each->enqueued);
    } else if (stream->blocking) {
        append_wait(stream, default_stream, default_stream->enqueued);
    }
    append(stream, (Job){.work = work, .finished = finished, .data = data});
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&state_lock);
}

void drain(CUstream stream) { wait_until(stream, stream->enqueued); }

void drain_context(CUcontext context) {
    for (CUstream each = context->streams; each; each = each->next)
        drain(each);
}

CUstream stream_of(CUstream handle, const char *function) {
    CUcontext context = current_context();
    if (!context) {
        violation("%s: no context is current", function);
        return NULL;
    }
    if (!handle)
        return context->default_stream;
    for (CUstream each = context->streams; each; each = each->next)
        if (each == handle)
            return each;
    violation("%s: the stream is not one of the current context", function);
    return NULL;
}

EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags) {
    ENTER();
    if (!current_context())
        return CUDA_ERROR_INVALID_CONTEXT;
    *stream = new_stream(current_context(), !(flags & CU_STREAM_NON_BLOCKING));
    journal("stream device=%d", current_context()->device);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
    ENTER();
    if (!stream || !stream_of(stream, "cuStreamDestroy"))
        return CUDA_ERROR_INVALID_HANDLE;
    close_stream(stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
    ENTER();
    CUstream stream = stream_of(handle, "cuStreamSynchronize");
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    drain(stream);
    return stream->context->stuck;
}

EXPORT CUresult CUDAAPI cuStreamQuery(CUstream handle) {
    ENTER();
    CUstream stream = stream_of(handle, "cuStreamQuery");
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&state_lock);
    bool idle = stream->done == stream->enqueued;
    pthread_mutex_unlock(&state_lock);
    return idle ? stream->context->stuck : CUDA_ERROR_NOT_READY;
}

EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
    ENTER();
    (void)flags;
    CUstream stream = stream_of(handle, "cuStreamWaitEvent");
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!event->recorded)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&state_lock);
    append_wait(stream, event->stream, event->ticket);
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&state_lock);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags) {
    ENTER();
    (void)flags;
    if (!current_context())
        return CUDA_ERROR_INVALID_CONTEXT;
    *event = calloc(1, sizeof **event);
    (*event)->context = current_context();
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuEventDestroy(CUevent event) {
    ENTER();
    if (event->recorded && context_lives(event->context))
        wait_until(event->stream, event->ticket);
    free(event);
    return CUDA_SUCCESS;
}

static CUresult reach_event(void *data) {
    clock_gettime(CLOCK_MONOTONIC, &((CUevent)data)->reached);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle) {
    ENTER();
    CUstream stream = stream_of(handle, "cuEventRecord");
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->context != stream->context) {
        violation("cuEventRecord: the event is of another context");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    enqueue(stream, reach_event, NULL, event);
    event->stream = stream;
    event->ticket = stream->enqueued;
    event->recorded = true;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent event) {
    ENTER();
    if (event->recorded)
        wait_until(event->stream, event->ticket);
    return event->context->stuck;
}

EXPORT CUresult CUDAAPI cuEventQuery(CUevent event) {
    ENTER();
    pthread_mutex_lock(&state_lock);
    bool reached = !event->recorded || event->stream->done >= event->ticket;
    pthread_mutex_unlock(&state_lock);
    return reached ? event->context->stuck : CUDA_ERROR_NOT_READY;
}

EXPORT CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    ENTER();
    if (!start->recorded || !end->recorded)
        return CUDA_ERROR_INVALID_HANDLE;
    if (cuEventQuery(start) == CUDA_ERROR_NOT_READY || cuEventQuery(end) == CUDA_ERROR_NOT_READY)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((double)(end->reached.tv_sec - start->reached.tv_sec) * 1e3 +
                            (double)(end->reached.tv_nsec - start->reached.tv_nsec) * 1e-6);
    return CUDA_SUCCESS;
}

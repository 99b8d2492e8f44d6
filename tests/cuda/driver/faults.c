/* Faults: STANDIN_FAULTS is a list, separated by commas, of
 *
 *     CALL[/KERNEL][#N]=WHAT[@FILE]
 *
 * CALL is a function of the driver, `kernel` for what happens while a kernel runs, or `copy` for what a copy brings to
 * the host; KERNEL is how a launch begins: `run:0:1:` is the kernel `run` with 0 and 1 as its first arguments that are
 * no addresses; N counts calls that match, from 1, and without it every one is struck. WHAT is a CUresult (719), `hang`,
 * `abort`, or, for a copy, `miscount`: its words that are not zero are one more. With @FILE the fault strikes once for
 * all processes: whoever removes the file is struck.
 */
#include "standin.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FAULTS 16

typedef struct {
    char call[64], kernel[128], file[512];
    int number, seen;
    Fault fault;
} Plan;

static Plan plans[MAX_FAULTS];
static int plan_count;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static Fault parse_what(const char *what) {
    if (strcmp(what, "hang") == 0)
        return (Fault){FAULT_HANG, CUDA_SUCCESS};
    if (strcmp(what, "miscount") == 0)
        return (Fault){FAULT_MISCOUNT, CUDA_SUCCESS};
    if (strcmp(what, "abort") == 0)
        return (Fault){FAULT_ABORT, CUDA_SUCCESS};
    if (atoi(what) > 0)
        return (Fault){FAULT_CODE, (CUresult)atoi(what)};
    fprintf(stderr, "STANDIN_FAULTS: unknown fault %s\n", what);
    abort();
}

static void read_plan(char *text) {
    Plan *plan = &plans[plan_count++];
    char *what = strchr(text, '='), *file = strchr(text, '@');
    if (!what) {
        fprintf(stderr, "STANDIN_FAULTS: no `=` in %s\n", text);
        abort();
    }
    *what++ = 0;
    if (file) {
        *file++ = 0;
        strncpy(plan->file, file, sizeof plan->file - 1);
    }
    plan->fault = parse_what(what);
    char *number = strchr(text, '#');
    if (number) {
        *number++ = 0;
        plan->number = atoi(number);
    }
    char *kernel = strchr(text, '/');
    if (kernel) {
        *kernel++ = 0;
        strncpy(plan->kernel, kernel, sizeof plan->kernel - 1);
    }
    strncpy(plan->call, text, sizeof plan->call - 1);
}

static void read_plans(void) {
    const char *setting = getenv("STANDIN_FAULTS");
    char *text = strdup(setting ? setting : ""), *rest = text, *item;
    while ((item = strsep(&rest, ",")) != NULL && plan_count < MAX_FAULTS)
        if (*item)
            read_plan(item);
    free(text);
}

Fault fault_at(const char *function, const char *detail) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    Fault found = {NO_FAULT, CUDA_SUCCESS};
    pthread_once(&read_once, read_plans);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < plan_count && found.kind == NO_FAULT; i++) {
        Plan *plan = &plans[i];
        if (strcmp(plan->call, function) != 0 || (*plan->kernel && !(detail && strncmp(detail, plan->kernel, strlen(plan->kernel)) == 0)))
            continue;
        plan->seen++;
        if (plan->number && plan->seen != plan->number)
            continue;
        if (*plan->file && unlink(plan->file) != 0)
            continue;
        found = plan->fault;
        journal("fault call=%s kernel=%s kind=%d code=%d", function, detail ? detail : "", found.kind, found.code);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Errors after which a real context is of no more use. */
static bool sticks(CUresult code) {
    switch ((int)code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
    }
}

void stick(CUcontext context, CUresult code) {
    CUresult none = CUDA_SUCCESS; /* the first error stays */
    if (context && sticks(code))
        atomic_compare_exchange_strong(&context->stuck, &none, code);
}

/* A context that is of no more use can still be left and given back. */
static bool works_when_stuck(const char *name) {
    return strncmp(name, "cuDevice", 8) == 0 || strncmp(name, "cuCtxP", 6) == 0 || strcmp(name, "cuCtxDetach") == 0 ||
           strcmp(name, "cuInit") == 0 ||
           strcmp(name, "cuCtxGetDevice") == 0;
}

CUresult enter(const char *function) {
    static atomic_bool initialised;
    const char *name = plain_name(function);
    if (strcmp(name, "cuInit") == 0) {
        find_devices();
        initialised = true;
    } else if (!initialised) {
        violation("%s before cuInit", name);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    CUcontext context = current_context();
    Fault fault = fault_at(name, NULL);
    if (fault.kind == FAULT_ABORT)
        abort();
    if (fault.kind == FAULT_HANG)
        for (;;)
            pause();
    if (fault.kind == FAULT_CODE) {
        stick(context, fault.code);
        return fault.code;
    }
    return context && !works_when_stuck(name) ? context->stuck : CUDA_SUCCESS;
}

/* Modules and functions: the cubin is read, refused when it is for another architecture, and joined to its host build. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANTS "constant_memory"

static CUmodule modules;

/* A cubin runs on its own major capability, from its own minor upwards. */
static bool runs_on(const CubinImage *cubin, const Chip *chip) {
    return cubin->architecture / 10 == chip->major && cubin->architecture % 10 <= chip->minor;
}

static CUresult load(CUmodule *module, const void *image, const char **reason) {
    CUcontext context = current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    CubinImage *cubin = read_cubin(image, reason);
    if (!cubin)
        return CUDA_ERROR_INVALID_IMAGE;
    journal("module device=%d architecture=%d kernels=%d bytes=%zu", context->device, cubin->architecture,
            cubin->kernels, cubin->size);
    if (!runs_on(cubin, devices[context->device])) {
        free_cubin(cubin);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    CUmodule loaded = calloc(1, sizeof *loaded);
    loaded->context = context;
    loaded->cubin = cubin;
    loaded->build = host_build(image, cubin->size);
    pthread_mutex_lock(&state_lock);
    loaded->next = modules;
    modules = loaded;
    pthread_mutex_unlock(&state_lock);
    *module = loaded;
    return CUDA_SUCCESS;
}

static bool module_lives(CUmodule module) {
    for (CUmodule each = modules; each; each = each->next)
        if (each == module)
            return true;
    return false;
}

/* The logs a caller gave room for: the reason as the error log, nothing as the other. */
static void fill_logs(const char *reason, unsigned int count, const CUjit_option *options, void **values) {
    char *error_log = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            error_log = values[i];
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            values[i] = (void *)0;
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            size_t room = (size_t)values[i], length = strlen(reason);
            if (error_log && length < room)
                memcpy(error_log, reason, length);
            values[i] = (void *)length;
        }
    }
}

EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                                           CUjit_option *options, void **values) {
    const char *reason = "";
    CUresult result = enter(__func__);
    if (result == CUDA_SUCCESS)
        result = load(module, image, &reason);
    fill_logs(reason, count, options, values);
    return result;
}

EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module) {
    ENTER();
    if (!module_lives(module)) {
        violation("cuModuleUnload: no such module");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    drain_context(module->context);
    pthread_mutex_lock(&state_lock);
    for (CUmodule *each = &modules; *each; each = &(*each)->next)
        if (*each == module) {
            *each = module->next;
            break;
        }
    pthread_mutex_unlock(&state_lock);
    while (module->functions) {
        CUfunction next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    if (module->constants)
        cuMemFree(module->constants);
    close_host_build(module->build);
    free_cubin(module->cubin);
    free(module);
    journal("module-end");
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    ENTER();
    if (!module_lives(module)) {
        violation("cuModuleGetFunction: no such module");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (int i = 0; i < module->cubin->kernels; i++)
        if (strcmp(module->cubin->kernel[i].name, name) == 0) {
            CUfunction found = calloc(1, sizeof *found);
            *found = (struct CUfunc_st){module->functions, module, &module->cubin->kernel[i]};
            module->functions = found;
            *function = found;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *address, size_t *size, CUmodule module, const char *name) {
    ENTER();
    if (!module_lives(module)) {
        violation("cuModuleGetGlobal: no such module");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (int i = 0; i < module->cubin->globals; i++)
        if (strcmp(module->cubin->global[i].name, name) == 0 && strcmp(name, CONSTANTS) == 0) {
            CUresult result = module->constants ? CUDA_SUCCESS : cuMemAlloc(&module->constants, module->cubin->global[i].size);
            *address = module->constants;
            *size = module->cubin->global[i].size;
            return result;
        }
    return CUDA_ERROR_NOT_FOUND;
}

/* The functions of tests read the launch from constant memory, which host builds do not have: it must be the same. */
void check_constants(CUfunction function, const unsigned char *arguments) {
    if (strncmp(function->image->name, "run", 3) != 0)
        return;
    CUdeviceptr launch, constants = function->module->constants;
    memcpy(&launch, arguments + function->image->offsets[0], sizeof launch);
    pthread_mutex_lock(&state_lock);
    const Allocation *given = allocation_at(launch);
    pthread_mutex_unlock(&state_lock);
    if (given && (!constants || memcmp((void *)constants, (void *)launch, given->start + given->size - launch) != 0))
        violation("%s: the launch in constant memory is not the one it is given", function->image->name);
}

void report_modules(CUcontext context) {
    for (CUmodule each = modules; each; each = each->next)
        if (each->context == context && context->stuck == CUDA_SUCCESS)
            violation("a module with %d kernels is never unloaded", each->cubin->kernels);
}

bool function_lives(CUfunction function) {
    for (CUmodule module = modules; module; module = module->next)
        for (CUfunction each = module->functions; each; each = each->next)
            if (each == function)
                return true;
    return false;
}

EXPORT CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    ENTER();
    if (!function_lives(function)) {
        violation("cuFuncGetAttribute: no such function");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = most_threads(devices[function->module->context->device], function->image);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = function->image->shared; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = function->image->registers; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = function->module->cubin->architecture; break;
    default: journal("cuFuncGetAttribute unknown=%d", (int)attribute); return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    ENTER();
    if (!function_lives(function) || x < 1 || y < 1 || z < 1) {
        violation("cuFuncSetBlockShape(%d, %d, %d)", x, y, z);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static const struct {
    CUresult code;
    const char *text;
} error_texts[] = {
    /* As the real driver words them, for messages are made of them. */
    {CUDA_SUCCESS, "no error"},
    {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"},
    {CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"},
    {CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "unknown error"},
};

EXPORT CUresult CUDAAPI cuGetErrorString(CUresult code, const char **text) {
    *text = "an error the stand-in has no text for";
    for (size_t i = 0; i < sizeof error_texts / sizeof *error_texts; i++)
        if (error_texts[i].code == code)
            *text = error_texts[i].text;
    return CUDA_SUCCESS;
}

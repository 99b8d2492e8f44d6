/* PTX that the driver compiles: STANDIN_KERNELS/<hash>.compiled is the cubin that it makes, where the hash is FNV-1a of
 * all texts, with the zero at the end of each, in 16 hexadecimal digits. Without such a file the PTX is invalid. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUlinkState_st {
    unsigned char *texts;
    size_t size;
    void *cubin;
};

EXPORT CUresult CUDAAPI cuLinkCreate(unsigned int count, CUjit_option *options, void **values, CUlinkState *state) {
    ENTER();
    if (!current_context())
        return CUDA_ERROR_INVALID_CONTEXT;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_OPTIMIZATION_LEVEL)
            journal("link level=%d", (int)(intptr_t)values[i]);
    *state = calloc(1, sizeof **state);
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                                      unsigned int count, CUjit_option *options, void **values) {
    ENTER();
    (void)options;
    (void)values;
    if (type != CU_JIT_INPUT_PTX || !size || ((char *)data)[size - 1] || count) {
        violation("cuLinkAddData: %s is not PTX that ends with a zero", name);
        return CUDA_ERROR_INVALID_VALUE;
    }
    state->texts = realloc(state->texts, state->size + size);
    memcpy(state->texts + state->size, data, size);
    state->size += size;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubin, size_t *size) {
    ENTER();
    const char *directory = getenv("STANDIN_KERNELS");
    char path[4096];
    snprintf(path, sizeof path, "%s/%016llx.compiled", directory ? directory : ".",
             (unsigned long long)hash_of(state->texts, state->size));
    FILE *file = fopen(path, "rb");
    if (!file)
        return CUDA_ERROR_INVALID_PTX;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    state->cubin = malloc(*size);
    *size = fread(state->cubin, 1, *size, file);
    fclose(file);
    *cubin = state->cubin;
    return CUDA_SUCCESS;
}

EXPORT CUresult CUDAAPI cuLinkDestroy(CUlinkState state) {
    ENTER();
    free(state->texts);
    free(state->cubin);
    free(state);
    journal("link-end");
    return CUDA_SUCCESS;
}

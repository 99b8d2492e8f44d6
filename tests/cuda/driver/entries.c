/* Functions by name, as cuda-bindings asks for them; those that the stand-in does not have are not found. */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>
#include <stdio.h>

/* The newest version that this library exports: it has one of each function, that of the headers it is built with. */
EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
                                         CUdriverProcAddressQueryResult *status) {
    static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
    char name[256];
    Dl_info here;
    (void)version;
    (void)flags;
    *function = NULL;
    void *library = dladdr((void *)cuGetProcAddress, &here) ? dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    for (size_t i = 0; library && !*function && i < sizeof versions / sizeof *versions; i++) {
        snprintf(name, sizeof name, "%s%s", symbol, versions[i]);
        *function = dlsym(library, name);
    }
    if (library)
        dlclose(library);
    if (status)
        *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

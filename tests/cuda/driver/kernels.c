/* Host builds: the harness a cubin was made of, built for this processor, in a shared object named after the cubin.
 *
 * STANDIN_KERNELS/<hash>.so, where the hash is FNV-1a of the image in 16 hexadecimal digits, has for every kernel
 *     void run_<kernel>(uint32_t groups, uint32_t threads, uint32_t shared_bytes, void **arguments)
 * which returns when every thread has ended.
 */
#include "standin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct HostBuild {
    void *library;
};

typedef void HostKernel(uint32_t groups, uint32_t threads, uint32_t shared_bytes, void **arguments);

static uint64_t hash_of(const unsigned char *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

HostBuild *host_build(const void *image, size_t size) {
    const char *directory = getenv("STANDIN_KERNELS");
    char path[4096];
    snprintf(path, sizeof path, "%s/%016llx.so", directory ? directory : ".", (unsigned long long)hash_of(image, size));
    HostBuild *build = calloc(1, sizeof *build);
    build->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!build->library)
        journal("no-host-build %s", dlerror());
    return build;
}

void close_host_build(HostBuild *build) {
    if (build->library)
        dlclose(build->library);
    free(build);
}

CUresult run_on_host(HostBuild *build, const KernelImage *kernel, uint32_t groups, uint32_t threads, uint32_t shared,
                     unsigned char *arguments) {
    char symbol[512];
    void *places[MAX_PARAMETERS];
    snprintf(symbol, sizeof symbol, "run_%s", kernel->name);
    HostKernel *run = build->library ? (HostKernel *)dlsym(build->library, symbol) : NULL;
    if (!run) {
        violation("%s: there is no host build of it", kernel->name);
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    for (int i = 0; i < kernel->parameters; i++)
        places[i] = arguments + kernel->offsets[i];
    run(groups, threads, shared, places);
    return CUDA_SUCCESS;
}

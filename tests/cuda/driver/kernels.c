/* Host builds: the harness a cubin was made of, built for this processor, in a shared object named after the cubin.
 *
 * STANDIN_KERNELS/<hash>.so, where the hash is FNV-1a of the image in 16 hexadecimal digits, has for every kernel
 *     void run_<kernel>(uint32_t groups, uint32_t threads, uint32_t shared_bytes, void **arguments)
 * which returns when every thread has ended.
 */
#include "standin.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct HostBuild {
    void *library;
};

typedef void HostKernel(uint32_t groups, uint32_t threads, uint32_t shared_bytes, void **arguments);

uint64_t hash_of(const unsigned char *bytes, size_t size) {
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

static _Atomic(const char *) running = "no kernel"; /* the last that started: kernels may run side by side */

static void tell_of_bad_address(int number, siginfo_t *info, void *context) {
    (void)context;
    violation("%s: touches %p, which is no memory of the device", running, info->si_addr);
    signal(number, SIG_DFL); /* the process dies of it when the instruction is tried again */
}

static void watch_addresses(void) {
    struct sigaction action = {.sa_sigaction = tell_of_bad_address, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
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
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_addresses);
    running = kernel->name;
    run(groups, threads, shared, places);
    return CUDA_SUCCESS;
}

/* A libcuda.so.1 in front of the stand-in, for kits and for the doctor: its GPUs have UUIDs and places on the bus, and some
 * of its calls are slow. Everything else is done by the stand-in, INNER, on which it depends.
 *
 *   IDENTIFIED_UUIDS  a letter for each GPU, of which its UUID consists: "ab"
 *   SLOW_LOAD         seconds that the driver takes to load a module
 *   SLOW_COPIES       so many copies to the host take 20 ms, two for each launch
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50, MAX_REGISTERS = 0, ERROR_LOG = 5 };

static void *find(const char *name) {
    static void *inner;
    if (!inner)
        inner = dlopen(INNER, RTLD_NOW);
    void *found = inner ? dlsym(inner, name) : NULL;
    if (!found)
        abort();
    return found;
}

static void journal(const char *what, const char *name, const char *value) {
    const char *path = getenv("STANDIN_JOURNAL");
    char line[256];
    int length = snprintf(line, sizeof line, "%d %s %s=%s\n", (int)getpid(), what, name, value);
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    if (file < 0 || write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

EXPORT int cuInit(unsigned flags) {
    const char *order = getenv("CUDA_DEVICE_ORDER");
    journal("init", "order", order ? order : "none");
    return ((int (*)(unsigned))find("cuInit"))(flags);
}

EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    const char *letters = getenv("IDENTIFIED_UUIDS");
    memset(uuid, letters[device], 16);
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case PCI_BUS: *value = 0x60 + device; return 0;
    case PCI_DEVICE:
    case PCI_DOMAIN: *value = 0; return 0;
    default: return ((int (*)(int *, int, int))find("cuDeviceGetAttribute"))(value, attribute, device);
    }
}

/* cuda-bindings asks for functions by their names. */
EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *status) {
    if (strcmp(name, "cuDeviceGetAttribute") != 0)
        return ((int (*)(const char *, void **, int, unsigned long long, int *))find("cuGetProcAddress_v2"))(name, function, version, flags, status);
    *function = (void *)cuDeviceGetAttribute;
    if (status)
        *status = 0;
    return 0;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    const char *slow = getenv("SLOW_LOAD");
    if (slow)
        sleep((unsigned)atoi(slow));
    return ((int (*)(void **, const void *, unsigned, int *, void **))find("cuModuleLoadDataEx"))(module, image, count, options, values);
}

EXPORT int cuLinkCreate_v2(unsigned count, int *options, void **values, void **link) {
    char number[32] = "none";
    for (unsigned i = 0; i < count; i++)
        if (options[i] == MAX_REGISTERS)
            snprintf(number, sizeof number, "%ld", (long)values[i]);
        else if (options[i] == ERROR_LOG)
            strcpy(values[i], "the linker says why");
    journal("linker", "registers", number);
    return ((int (*)(unsigned, int *, void **, void **))find("cuLinkCreate_v2"))(count, options, values, link);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, void *stream) {
    static int copies;
    const char *slow = getenv("SLOW_COPIES");
    if (slow && copies++ < atoi(slow))
        usleep(20000);
    return ((int (*)(void *, unsigned long long, size_t, void *))find("cuMemcpyDtoHAsync_v2"))(to, from, size, stream);
}

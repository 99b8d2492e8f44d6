/* The GPU: which one it is, and how a child opens and closes it. */
#define MOST_KERNELS 8
enum { ENDED = 0, FAILED = 10, CANNOT_OPEN = 11 }; /* how a child ends: FAILED was written down */
enum { GROUPS, GROUP_SIZE, SHARED_BYTES, HELPER_GROUPS, HELPER_SIZE, HELPER_SHARED }; /* the first numbers of a row */
enum { CLOCK = 13, SM_COUNT = 16, WATCHDOG = 17, PCI_BUS = 33, PCI_DEVICE = 34, SM_THREADS = 39, PCI_DOMAIN = 50 };
enum { MAJOR = 75, MINOR = 76, REGISTERS = 4 };

static int device_number, quiet; /* `quiet`: what is wrong was said before */
static char identity[320];       /* of the GPU that was asked for: its UUID */

static struct {
    CUdevice device;
    int major, minor, sms, sm_threads, driver, target, without_cubins, cold;
    char name[256], identity[320], pci[32];
    size_t free_bytes, all_bytes;
    CUcontext context;
    CUstream streams[MOST_KERNELS];
    CUmodule *modules; /* of each image, as the two below */
    char (*hashes)[65], (*compiled)[64];
    CUdeviceptr buffers[MAX_BUFFERS];
    size_t sizes[MAX_BUFFERS];
} gpu;

static const char *advice(CUresult code) {
    switch (code) {
    case OUT_OF_MEMORY: return "other programs use the memory of the GPU (nvidia-smi lists them)";
    case 46: return "another program has the GPU for itself (compute mode, MPS), or it must be reset: see nvidia-smi";
    case 100: return "there is no NVIDIA GPU, or this user may not use it: nvidia-smi must show one";
    case INVALID_IMAGE:
    case UNSUPPORTED_PTX:
        return "the driver is older than the CUDA that built the kit: update it, or ask for a kit that is built with an older CUDA";
    case NO_BINARY: return "the kit has nothing for this chip: ask for a kit with its architecture";
    case 214: return "the memory of the GPU is damaged (ECC): see nvidia-smi -q -d ECC";
    case 702: return "a display's watchdog ended it: use a GPU without a display";
    case 803: return "the driver and its library are of different versions: restart the machine";
    default: return "";
    }
}

/* A child that cannot open the GPU says so, once, and ends. */
static void leave(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!quiet) {
        fprintf(stderr, "run: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
    }
    va_end(arguments);
    _exit(CANNOT_OPEN);
}

/* A call of the driver that failed ends this child; what was under way is written down. */
static void check_call(CUresult code, const char *call) {
    const char *text = NULL;
    if (code == 0)
        return;
    if (cuGetErrorString(code, &text) || !text)
        text = "unknown";
    const char *more = advice(code), *between = *more ? "\n  " : "";
    if (running < 0)
        leave("%s: error %d: %s%s%s", call, code, text, between, more);
    fprintf(stderr, "run: %s: error %d: %s%s%s\n", call, code, text, between, more);
    write_entry("{\"end\":%d,\"how\":\"error\",\"launches\":%d,\"code\":%d,\"call\":\"%s\",\"message\":\"%s\"", running,
                written_launches, code, call, quoted(text));
    _exit(FAILED);
}
#define CALL(function, ...) check_call(function(__VA_ARGS__), #function)

static int attribute(int which) {
    int value = -1;
    return cuDeviceGetAttribute(&value, which, gpu.device) == 0 ? value : -1;
}

/* The UUID of the GPU; of a driver that does not tell it, its name and place. */
static void find_identity(void) {
    CUuuid uuid;
    const unsigned char *b = uuid.bytes;
    int bus = attribute(PCI_BUS);
    if (bus >= 0)
        snprintf(gpu.pci, sizeof gpu.pci, "%08x:%02x:%02x.0", (unsigned)attribute(PCI_DOMAIN), (unsigned)bus,
                 (unsigned)attribute(PCI_DEVICE));
    if ((cuDeviceGetUuidOfInstance && cuDeviceGetUuidOfInstance(&uuid, gpu.device) == 0) ||
        (cuDeviceGetUuid && cuDeviceGetUuid(&uuid, gpu.device) == 0))
        snprintf(gpu.identity, sizeof gpu.identity,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4],
                 b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    else
        snprintf(gpu.identity, sizeof gpu.identity, "%s, number %d %s", quoted(gpu.name), device_number, gpu.pci);
}

/* Finds the driver and the GPU; the GPUs are counted as nvidia-smi counts them, unless the user says otherwise. */
static void find_gpu(void) {
    const char *missing = find_driver();
    int count = 0;
    if (missing)
        leave("error: %s", missing);
    if (setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0))
        leave("error: the environment cannot be changed: %s", strerror(errno));
    CALL(cuInit, 0);
    CALL(cuDriverGetVersion, &gpu.driver);
    CALL(cuDeviceGetCount, &count);
    if (device_number >= count)
        leave("error: there is no GPU %d: there are %d, counted from 0", device_number, count);
    CALL(cuDeviceGet, &gpu.device, device_number);
    CALL(cuDeviceGetName, gpu.name, sizeof gpu.name - 1, gpu.device);
    find_identity();
}

/* What a child does that only says which GPU it is. */
static void tell_identity(void) {
    find_gpu();
    size_t length = strlen(gpu.identity);
    _exit(write(messages, gpu.identity, length) == (ssize_t)length ? ENDED : 1);
}

static int choose_target(void);

static void write_device(void) {
    char module[256] = "";
    FILE *version = fopen("/proc/driver/nvidia/version", "r");
    if (version && !fgets(module, sizeof module, version))
        module[0] = 0;
    if (version)
        fclose(version);
    const Image *image = gpu.target < 0 ? NULL : &kit.images[gpu.target];
    write_entry("{\"device\":%d,\"program\":\"run.c\",\"gpu\":\"%s\",\"pci\":\"%s\",\"name\":\"%s\",\"major\":%d,\"minor\":%d,"
                "\"multiprocessors\":%d,\"memory\":%zu,\"free\":%zu,\"driver\":%d,\"module\":\"%s\",\"clock_khz\":%d,"
                "\"watchdog\":%d,\"target\":%d,\"kind\":\"%s\",\"started\":\"%s\"",
                device_number, gpu.identity, gpu.pci, quoted(gpu.name), gpu.major, gpu.minor, gpu.sms, gpu.all_bytes,
                gpu.free_bytes, gpu.driver, quoted(module), attribute(CLOCK), attribute(WATCHDOG), image ? image->number : 0,
                image ? image->kind : "", now());
}

static void open_gpu(void) {
    find_gpu();
    if (strcmp(gpu.identity, identity) != 0)
        leave("error: GPU %d is another one now: %s, not %s", device_number, gpu.identity, identity);
    gpu.major = attribute(MAJOR);
    gpu.minor = attribute(MINOR);
    gpu.sms = attribute(SM_COUNT);
    gpu.sm_threads = attribute(SM_THREADS);
    gpu.cold = 1;
    gpu.modules = allocate((size_t)kit.image_count * sizeof *gpu.modules);
    gpu.hashes = allocate((size_t)kit.image_count * sizeof *gpu.hashes);
    gpu.compiled = allocate((size_t)kit.image_count * sizeof *gpu.compiled);
    CALL(cuDevicePrimaryCtxRetain, &gpu.context, gpu.device);
    CALL(cuCtxPushCurrent, gpu.context);
    CALL(cuMemGetInfo, &gpu.free_bytes, &gpu.all_bytes);
    for (int i = 0; i < MOST_KERNELS; i++)
        CALL(cuStreamCreate, &gpu.streams[i], 0);
    gpu.target = choose_target();
    write_device();
    tell_parent('o', 0);
}

static void close_gpu(void) {
    for (int i = 0; i < kit.buffer_count; i++)
        if (gpu.sizes[i])
            CALL(cuMemFree, gpu.buffers[i]);
    for (int i = 0; i < kit.image_count; i++)
        if (gpu.modules[i])
            CALL(cuModuleUnload, gpu.modules[i]);
    for (int i = 0; i < MOST_KERNELS; i++)
        CALL(cuStreamDestroy, gpu.streams[i]);
    CALL(cuCtxPopCurrent, &gpu.context);
    CALL(cuDevicePrimaryCtxRelease, gpu.device);
}

/* The images of a kit: which one this GPU loads, and how many CTAs of a kernel it runs at the same time. */
static char *sums; /* SHA256SUMS */

static int is_ptx(const Image *image) { return strcmp(image->kind, "ptx") == 0; }

/* Whether this GPU may run an image, as the driver decides it for the parts of a fatbin. */
static int serves(const Image *image) {
    int chip = 10 * gpu.major + gpu.minor;
    if (is_ptx(image))
        return image->number <= chip;
    if (gpu.without_cubins || image->number / 10 != gpu.major)
        return 0;
    return strcmp(image->kind, "exact") == 0 ? image->number == chip : image->number <= chip;
}

/* The image for this GPU: its own cubin, one of an older chip of its family, else PTX; -1 if there is none. */
static int choose_target(void) {
    int best = -1;
    for (int i = 0; i < kit.image_count; i++) {
        const Image *image = &kit.images[i], *before = best < 0 ? NULL : &kit.images[best];
        if (!serves(image))
            continue;
        if (!before || is_ptx(before) > is_ptx(image) ||
            (is_ptx(before) == is_ptx(image) && image->number > before->number))
            best = i;
    }
    return best;
}

/* The content of a file of the kit, which must be what was exported. */
static char *read_checked(const char *name, size_t *size) {
    char digits[65], line[512];
    char *content = read_file(name, size);
    if (!content)
        stop("this file of the kit is missing", name);
    sha256(content, *size, digits);
    snprintf(line, sizeof line, "%s  %s\n", digits, name);
    if (!strstr(sums, line))
        stop("this file was changed since the kit was made: copy the kit again", name);
    return content;
}

/* Every file of the kit must be what was exported, the programs too. */
static void check_files(void) {
    size_t size;
    for (const char *line = sums; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char name[256] = "";
        if (sscanf(line, "%*64[0-9a-f]  %255[^\n]", name) != 1)
            stop("this file was changed since the kit was made: copy the kit again", "SHA256SUMS");
        free(read_checked(name, &size));
    }
}

static void check_link(CUresult code, const char *call, const char *errors) {
    if (code)
        fprintf(stderr, "run: %s\n", errors);
    check_call(code, call);
}

/* Keeps the cubin that the driver made beside the log, so that optcheck can look at it later. */
static void keep_compiled(int number, const void *cubin, size_t size) {
    char *name = gpu.compiled[number];
    snprintf(name, sizeof gpu.compiled[number], "compiled-sm_%d%d-%.16s.cubin", gpu.major, gpu.minor, gpu.hashes[number]);
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(cubin, 1, size, file) != size || fclose(file))
        stop("cannot be written", name);
}

/* Lets the driver compile PTX, with as many registers as the cubins have. */
static void *compile_ptx(int number, size_t *size) {
    const Image *image = &kit.images[number];
    static char errors[4096];
    int options[] = {JIT_LEVEL, JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE, JIT_MAX_REGISTERS};
    void *values[] = {(void *)(intptr_t)kit.level, errors, (void *)sizeof errors, (void *)(intptr_t)kit.registers};
    void *made, *kept;
    CUlinkState link;
    if (!cuLinkCreate || !cuLinkAddData || !cuLinkComplete || !cuLinkDestroy)
        check_call(UNSUPPORTED_PTX, "cuLinkCreate");
    CALL(cuLinkCreate, kit.registers ? 4 : 3, options, values, &link);
    for (int i = 0; i < image->count; i++) {
        char *text = read_checked(image->files[i], size);
        CUresult code = cuLinkAddData(link, LINK_PTX, text, *size + 1, image->files[i], 0, NULL, NULL);
        check_link(code, "cuLinkAddData", errors);
        free(text);
    }
    check_link(cuLinkComplete(link, &made, size), "cuLinkComplete", errors);
    kept = memcpy(allocate(*size), made, *size);
    CALL(cuLinkDestroy, link);
    return kept;
}

/* Whether PTX serves this GPU, in place of a cubin that its driver refuses. */
static int has_ptx(void) {
    for (int i = 0; i < kit.image_count; i++)
        if (is_ptx(&kit.images[i]) && serves(&kit.images[i]))
            return 1;
    return 0;
}

/* The module of an image; null if the driver says that this cubin is not for this chip, and there is PTX instead. */
static CUmodule load_image(int number) {
    const Image *image = &kit.images[number];
    size_t size;
    if (gpu.modules[number])
        return gpu.modules[number];
    void *cubin = is_ptx(image) ? compile_ptx(number, &size) : read_checked(image->files[0], &size);
    sha256(cubin, size, gpu.hashes[number]);
    if (is_ptx(image))
        keep_compiled(number, cubin, size);
    CUresult code = cuModuleLoadDataEx(&gpu.modules[number], cubin, 0, NULL, NULL);
    free(cubin);
    if (code == NO_BINARY && !is_ptx(image) && has_ptx()) {
        gpu.modules[number] = NULL;
        return NULL;
    }
    if (code == INVALID_IMAGE || code == UNSUPPORTED_PTX)
        fprintf(stderr, "run: the driver, for CUDA %d.%d, does not load what %s made\n", gpu.driver / 1000,
                gpu.driver % 1000 / 10, image->maker ? image->maker : "this CUDA");
    check_call(code, "cuModuleLoadDataEx");
    return gpu.modules[number];
}

static CUfunction find_function(CUmodule module, const char *name) {
    CUfunction function;
    CALL(cuModuleGetFunction, &function, module, name);
    return function;
}

/* The CTAs of one SM, or 0 if not even one fits. */
static int groups_of_sm(CUfunction function, int threads, size_t shared) {
    int groups = 0;
    CUresult code = cuOccupancyMaxActiveBlocksPerMultiprocessor(&groups, function, threads, shared);
    if (code != INVALID_VALUE)
        check_call(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return code ? 0 : groups;
}

/* The CTAs that the GPU runs at the same time; `cluster` is the size of a cluster. */
static int count_resident(CUfunction function, int threads, size_t shared, unsigned cluster) {
    if (cluster < 2)
        return groups_of_sm(function, threads, shared) * gpu.sms;
    ClusterSize size = {.id = CLUSTER_DIMENSION, .x = cluster, .y = 1, .z = 1};
    LaunchConfig config = {{cluster, 1, 1}, {(unsigned)threads, 1, 1}, (unsigned)shared, NULL, &size, 1};
    int clusters = 0;
    if (!cuOccupancyMaxActiveClusters)
        return 0;
    CUresult code = cuOccupancyMaxActiveClusters(&clusters, function, &config);
    if (code != INVALID_VALUE)
        check_call(code, "cuOccupancyMaxActiveClusters");
    return code ? 0 : clusters * (int)cluster;
}

/* The first room whose CTAs all run at the same time, in memory that is free; -1 if there is none. */
static int choose_room(const Test *test, const Binary *binary, CUfunction function, int *most) {
    static int64_t row[MOST_WORDS];
    int64_t size = -1, shared = -1;
    int resident = 0;
    *most = 0;
    for (int room = 0; room < kit.tables[test->table].room_count; room++) {
        make_row(row, test, binary, room, 0);
        int64_t bytes = 0;
        for (int i = 0; i < kit.buffer_count; i++)
            bytes += row[kit.buffers_place + i];
        if (size != row[GROUP_SIZE] || shared != row[SHARED_BYTES])
            resident = count_resident(function, (int)row[GROUP_SIZE], (size_t)row[SHARED_BYTES], (unsigned)test->cluster);
        size = row[GROUP_SIZE];
        shared = row[SHARED_BYTES];
        *most = resident > *most ? resident : *most;
        if (row[GROUPS] * test->kernels <= resident && bytes <= (int64_t)gpu.free_bytes / 2)
            return room;
    }
    return -1;
}


/* Launches of a test: one row of numbers each, and what the GPU counted. */
#define MOST_SLOTS 65536
#define TRIES 16 /* launches without any outcome before a test is given up */

static void fit_buffers(const int64_t *row) {
    for (int i = 0; i < kit.buffer_count; i++) {
        size_t size = (size_t)row[kit.buffers_place + i];
        if (gpu.sizes[i] >= size)
            continue;
        if (gpu.sizes[i])
            CALL(cuMemFree, gpu.buffers[i]);
        gpu.sizes[i] = 0;
        CALL(cuMemAlloc, &gpu.buffers[i], size);
        gpu.sizes[i] = size;
    }
}

static int buffer_named(const char *name) {
    for (int i = 0; i < kit.buffer_count; i++)
        if (strcmp(kit.buffers[i], name) == 0)
            return i;
    stop("there is no such buffer", name);
    return 0;
}

static void launch(CUfunction function, const KernelArgument *arguments, int count, unsigned kernel, unsigned test,
                   int64_t groups, int64_t threads, int64_t shared, CUstream stream) {
    unsigned char bytes[8 * MAX_ARGUMENTS] = {0};
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size_t each = (size_t)arguments[i].bytes;
        size = (size + each - 1) / each * each;
        switch (arguments[i].what) {
        case 'b': memcpy(bytes + size, &gpu.buffers[arguments[i].buffer], each); break;
        case 'k': memcpy(bytes + size, &kernel, each); break;
        case 't': memcpy(bytes + size, &test, each); break;
        default: break;
        }
        size += each;
    }
    void *extra[] = {(void *)PARAM_BUFFER, bytes, (void *)PARAM_SIZE, &size, (void *)PARAM_END};
    CALL(cuLaunchKernel, function, (unsigned)groups, 1, 1, (unsigned)threads, 1, 1, (unsigned)shared, stream, NULL, extra);
}

static void launch_helper(CUfunction function, const int64_t *row) {
    int resident = count_resident(function, (int)row[HELPER_SIZE], (size_t)row[HELPER_SHARED], 1);
    int64_t groups = row[HELPER_GROUPS] < resident ? row[HELPER_GROUPS] : resident;
    launch(function, kit.helpers, kit.helper_count, 0, 0, groups > 0 ? groups : 1, row[HELPER_SIZE], row[HELPER_SHARED],
           gpu.streams[0]);
}

typedef struct { CUfunction run, reset, reduce; CUdeviceptr global; } Kernels;

/* One launch of a row: reset, every kernel of the test, reduce; brings the table of outcomes and the counters. */
static void run_row(const Test *test, const Binary *binary, const Kernels *kernels, const int64_t *row, uint32_t *table,
                    uint32_t *counters) {
    static uint32_t words[MOST_WORDS];
    int scratchpad = buffer_named("scratchpad"), of_table = buffer_named("table"), of_counters = buffer_named("counters");
    for (int i = 0; i < kit.launch_words; i++)
        words[i] = (uint32_t)row[kit.launch_place + i];
    fit_buffers(row);
    CALL(cuMemcpyHtoDAsync, gpu.buffers[buffer_named("launch")], words, 4 * (size_t)kit.launch_words, gpu.streams[0]);
    if (kernels->global)
        CALL(cuMemcpyHtoDAsync, kernels->global, words, 4 * (size_t)kit.launch_words, gpu.streams[0]);
    CALL(cuMemsetD32Async, gpu.buffers[scratchpad], 0, (size_t)row[kit.buffers_place + scratchpad] / 4, gpu.streams[0]);
    launch_helper(kernels->reset, row);
    if (test->kernels > 1)
        CALL(cuStreamSynchronize, gpu.streams[0]); /* the other streams start when memory is ready */
    for (int i = 0; i < test->kernels; i++)
        launch(kernels->run, kit.run, kit.run_count, (unsigned)i, (unsigned)binary->number, row[GROUPS], row[GROUP_SIZE],
               row[SHARED_BYTES], gpu.streams[i]);
    for (int i = 1; i < test->kernels; i++)
        CALL(cuStreamSynchronize, gpu.streams[i]);
    launch_helper(kernels->reduce, row);
    CALL(cuMemcpyDtoHAsync, table, gpu.buffers[of_table], (size_t)row[kit.buffers_place + of_table], gpu.streams[0]);
    CALL(cuMemcpyDtoHAsync, counters, gpu.buffers[of_counters], 4 * (size_t)kit.counter_count, gpu.streams[0]);
    CALL(cuStreamSynchronize, gpu.streams[0]);
}

/* The table has an owner of each slot, then their counts, then their values of 64 bits. Returns how many outcomes. */
static long long write_outcomes(FILE *line, const uint32_t *table, uint32_t slots, int observed) {
    const uint64_t *values = (const uint64_t *)(table + 2 * slots);
    long long total = 0;
    for (uint32_t slot = 0, written = 0; slot < slots; slot++)
        if (table[slot]) {
            fprintf(line, "%s[%u", written++ ? "," : "", table[slots + slot]);
            for (int i = 0; i < observed; i++)
                fprintf(line, ",%llu", (unsigned long long)values[(uint64_t)slot * (uint64_t)observed + (uint64_t)i]);
            fprintf(line, "]");
            total += table[slots + slot];
        }
    return total;
}

static long long write_launch(int number, int warm, uint32_t slots, long long microseconds, const uint32_t *table,
                              const uint32_t *counters) {
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);
    if (!line)
        stop("there is not enough memory", NULL);
    fprintf(line, "{\"launch\":%d,\"number\":%d,\"warm\":%s,\"slots\":%u,\"microseconds\":%lld,\"counters\":[", running,
            number, warm ? "true" : "false", slots, microseconds);
    for (int i = 0; i < kit.counter_count; i++)
        fprintf(line, "%s%u", i ? "," : "", counters[i]);
    fprintf(line, "],\"outcomes\":[");
    long long total = write_outcomes(line, table, slots, kit.tests[running].observed);
    fprintf(line, "]");
    if (fclose(line))
        stop("there is not enough memory", NULL);
    write_entry("%s", text);
    free(text);
    written_launches++;
    return total;
}

static double clock_seconds(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC, &time))
        stop("this machine has no clock", NULL);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What the launches of a test have in common; `slots` of the table of outcomes grow as they are needed. */
typedef struct { const Test *test; const Binary *binary; Kernels kernels; int room; uint32_t slots; } Series;

/* A launch of the test under way, with a table that holds all its outcomes; returns how many they are. A launch that
 * warms the GPU up has another seed than the one of the same number that counts. */
static long long run_launch(Series *series, int number, int warm, long long *microseconds) {
    static int64_t row[MOST_WORDS];
    static uint32_t counters[MAX_COUNTERS];
    const Test *test = series->test;
    int draws = kit.tables[test->table].draw_count, table_place = kit.buffers_place + buffer_named("table");
    for (;; series->slots *= 4) {
        make_row(row, test, series->binary, series->room, number % draws);
        uint32_t seed = (uint32_t)row[kit.seed_place] ^ (uint32_t)(number / draws) * 0x9e3779b9u;
        row[kit.seed_place] = warm ? ~seed : seed;
        if (series->slots < row[kit.slots_place])
            series->slots = (uint32_t)row[kit.slots_place];
        row[kit.slots_place] = series->slots;
        row[table_place] = (int64_t)series->slots * (8 + 8 * test->observed);
        uint32_t *table = allocate((size_t)row[table_place]);
        double start = clock_seconds();
        run_row(test, series->binary, &series->kernels, row, table, counters);
        *microseconds = (long long)(1e6 * (clock_seconds() - start) + 0.5);
        uint32_t overflow = 0;
        for (int i = 0; i < kit.counter_count; i++)
            overflow |= strcmp(kit.counters[i], "overflow") == 0 ? counters[i] : 0;
        long long total = -1;
        if (!overflow || series->slots >= MOST_SLOTS)
            total = write_launch(number, warm, series->slots, *microseconds, table, counters);
        free(table);
        tell_parent('l', running);
        if (total >= 0)
            return total;
    }
}

/* Whether the last launches took the same time; all launches of a test have the same number of instances. */
static int is_settled(const long long *times, int count) {
    long long least = 0, most = 0;
    if (count < kit.warm_window)
        return 0;
    for (int i = count - (int)kit.warm_window; i < count; i++) {
        least = i == count - kit.warm_window || times[i] < least ? times[i] : least;
        most = times[i] > most ? times[i] : most;
    }
    return 100 * most <= kit.warm_percent * least;
}

/* Launches that do not count, until the clocks of the GPU have settled; low clocks of an idle one are steady, too. */
static void warm_up(Series *series) {
    long long *times = allocate((size_t)kit.warm_launches * sizeof *times), sum = 0;
    for (int number = 0; number < kit.warm_launches;) {
        run_launch(series, number, 1, &times[number]);
        sum += times[number++];
        if (is_settled(times, number) && sum >= (gpu.cold ? kit.cold_microseconds : 0))
            break;
        if (sum >= kit.warm_microseconds)
            break;
    }
    gpu.cold = gpu.cold && !kit.warm_launches;
    free(times);
}

static const char *run_launches(Series *series) {
    warm_up(series);
    double start = clock_seconds();
    long long done = 0, microseconds;
    for (int number = 0, empty = 0;; number++) {
        double milliseconds = 1000 * (clock_seconds() - start);
        if (done >= kit.iterations && number >= kit.launches && milliseconds >= (double)kit.least_milliseconds)
            return "finished";
        if (kit.most_milliseconds && milliseconds >= (double)kit.most_milliseconds)
            return "time";
        long long outcomes = run_launch(series, number, 0, &microseconds);
        empty = outcomes ? 0 : empty + 1;
        if (empty == TRIES)
            return "no outcomes";
        done += outcomes;
    }
}

static Kernels find_kernels(CUmodule module, const char *name) {
    Kernels kernels = {find_function(module, name), find_function(module, "reset"), find_function(module, "reduce"), 0};
    size_t bytes;
    if (kit.global[0])
        CALL(cuModuleGetGlobal, &kernels.global, &bytes, module, kit.global);
    return kernels;
}

/* What will be launched: the plan, the binary, what it needs of an SM, and how many CTAs have room. */
static void write_loaded(const Series *series, int most) {
    static int64_t row[MOST_WORDS];
    const Test *test = series->test;
    int registers = 0, image = series->binary->image;
    CALL(cuFuncGetAttribute, &registers, REGISTERS, series->kernels.run);
    make_row(row, test, series->binary, series->room < 0 ? 0 : series->room, 0);
    int groups = groups_of_sm(series->kernels.run, (int)row[GROUP_SIZE], (size_t)row[SHARED_BYTES]);
    write_entry("{\"loaded\":%d,\"plan\":%s,\"file\":\"%s\",\"compiled\":\"%s\",\"sha256\":\"%s\",\"number\":%d,"
                "\"registers\":%d,\"groups_of_sm\":%d,\"threads_of_sm\":%d,\"resident\":%d,\"cold\":%s",
                running, series->room < 0 ? "null" : kit.tables[test->table].rooms[series->room].plan,
                kit.images[image].files[0], gpu.compiled[image], gpu.hashes[image], series->binary->number, registers, groups,
                gpu.sm_threads, most, gpu.cold ? "true" : "false");
}

/* The code of a test in the images that were chosen for this GPU; null if there is none. */
static const Binary *find_binary(const Test *test) {
    const Binary *found = NULL;
    for (int i = 0; gpu.target >= 0 && i < test->binary_count; i++) {
        const Image *image = &kit.images[test->binaries[i].image], *chosen = &kit.images[gpu.target];
        if (image->number == chosen->number && strcmp(image->kind, chosen->kind) == 0)
            found = &test->binaries[i];
    }
    return found;
}

/* The module of a test; if the driver refuses the cubins of this kit, PTX is taken from now on, and the test begins again. */
static CUmodule begin_test(int number, const Binary **binary) {
    for (;;) {
        written_launches = 0;
        *binary = find_binary(&kit.tests[number]);
        write_entry("{\"begin\":%d,\"about\":%s,\"started\":\"%s\"", number, kit.tests[number].about, now());
        if (!*binary)
            return NULL;
        CUmodule module = load_image((*binary)->image);
        if (module)
            return module;
        fprintf(stderr, "run: the driver does not run %s on this chip: its PTX is compiled\n", kit.images[(*binary)->image].files[0]);
        gpu.without_cubins = 1;
        gpu.target = choose_target();
        write_device();
    }
}

static void run_test(int number) {
    Series series = {.test = &kit.tests[number]};
    const char *how = "no binary";
    int most = 0;
    tell_parent('b', number);
    running = number;
    CUmodule module = begin_test(number, &series.binary);
    if (module) {
        series.kernels = find_kernels(module, series.test->kernel);
        series.room = choose_room(series.test, series.binary, series.kernels.run, &most);
        write_loaded(&series, most);
        tell_parent('m', number);
        how = series.room < 0 ? "no room" : run_launches(&series);
    }
    write_entry("{\"end\":%d,\"how\":\"%s\",\"launches\":%d", number, how, written_launches);
    if (fsync(log_file) && errno != EINVAL)
        stop(strerror(errno), log_name);
}

static void run_child(const char *done) {
    open_gpu();
    for (int number = 0; number < kit.test_count; number++)
        if (!done[number]) {
            run_test(number);
            running = -1;
            tell_parent('e', number);
        }
    close_gpu();
    exit(ENDED);
}

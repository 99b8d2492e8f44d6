/* kit.txt in memory. Its lines are explained in gpudiy/kits/kit_text.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 2 /* of kits */
#define MAX_BUFFERS 16
#define MAX_COUNTERS 64
#define MAX_ARGUMENTS 32
#define MAX_AGAIN 64
#define MOST_WORDS 4096 /* numbers of a row */

typedef struct { int place; int64_t value; } Number;
typedef struct { Number *numbers; int count; } Patch;
typedef struct { int number; char kind[8], *files[2], *maker; int count; } Image;
typedef struct { Patch patch; char *plan; } Room;
typedef struct { int room, draw; Patch patch; } Cell;
typedef struct { Room *rooms; Patch *draws; Cell *cells; int room_count, draw_count, cell_count; } Table;
typedef struct { int image, number; Patch constants; } Binary;
typedef struct { int table, kernels, observed, cluster, binary_count; char kernel[64], *about; Patch row; Binary *binaries; } Test;
typedef struct { int buffer, bytes; char what; } KernelArgument; /* what: b buffer, k kernel, t test, n nothing */

static struct {
    char *settings;
    long long iterations, launches, least_milliseconds, most_milliseconds, silence;
    long long warm_launches, warm_window, warm_percent, cold_microseconds, warm_microseconds;
    int level, registers, seed_place, slots_place, buffers_place, launch_place, launch_words;
    char global[64], buffers[MAX_BUFFERS][32], counters[MAX_COUNTERS][32];
    int buffer_count, counter_count, again[MAX_AGAIN], again_count;
    KernelArgument run[MAX_ARGUMENTS], helpers[MAX_ARGUMENTS];
    int run_count, helper_count;
    Image *images;
    int image_count;
    Table *tables;
    Test *tests;
    int table_count, test_count, ended;
} kit;

static void stop(const char *what, const char *which) {
    fprintf(stderr, "run: error: %s%s%s\n", which ? which : "", which ? ": " : "", what);
    exit(2);
}

static void *allocate(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        stop("there is not enough memory", NULL);
    return memory;
}

/* A list that grows by one element, which is zero; returns the element. */
static void *grow(void *list, int *count, size_t size) {
    char **at = list;
    if ((*count & (*count - 1)) == 0) {
        *at = realloc(*at, (size_t)(*count ? 2 * *count : 1) * size);
        if (!*at)
            stop("there is not enough memory", NULL);
    }
    return memset(*at + (size_t)(*count)++ * size, 0, size);
}

/* The content of a file, with a zero after it; null if it cannot be read. */
static char *read_file(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    char *content = NULL;
    *size = 0;
    for (size_t room = 1 << 16; file; room *= 2) {
        content = realloc(content, room);
        if (!content)
            stop("there is not enough memory", name);
        *size += fread(content + *size, 1, room - 1 - *size, file);
        if (*size < room - 1)
            break;
    }
    if (file && ferror(file))
        stop("cannot be read", name);
    if (file)
        fclose(file);
    if (content)
        content[*size] = 0;
    return content;
}

static const char *next_word(void) {
    const char *word = strtok(NULL, " ");
    if (!word)
        stop("a line is too short", "kit.txt");
    return word;
}

static long long next_number(void) { return atoll(next_word()); }

/* Copies a name; one that is too long would be another. */
static void copy_name(char *to, size_t room, const char *name) {
    if (snprintf(to, room, "%s", name) >= (int)room)
        stop("this name is too long for this program", name);
}

static Patch read_patch(void) {
    Patch patch = {NULL, 0};
    for (char *word; (word = strtok(NULL, " ")) != NULL;) {
        Number *number = grow(&patch.numbers, &patch.count, sizeof *number);
        char *value = strchr(word, ':');
        number->place = atoi(word);
        number->value = value ? atoll(value + 1) : 0;
        if (!value || number->place < 0 || number->place >= MOST_WORDS)
            stop("a number of a row has no place", "kit.txt");
    }
    return patch;
}

static int read_names(char names[][32], int most) {
    int count = 0;
    for (char *word; (word = strtok(NULL, " ")) != NULL;) {
        if (count == most)
            stop("a line has more names than this program knows", "kit.txt");
        copy_name(names[count++], 32, word);
    }
    return count;
}

static int read_arguments(KernelArgument *arguments) {
    int count = 0;
    for (char *word; (word = strtok(NULL, " ")) != NULL; count++) {
        char *bytes = strchr(word, ':');
        if (count == MAX_ARGUMENTS)
            stop("a kernel has more arguments than this program knows", "kit.txt");
        arguments[count] = (KernelArgument){-1, bytes ? atoi(bytes + 1) : 8, bytes ? word[0] : 'b'};
        for (int i = 0; !bytes && i < kit.buffer_count; i++)
            if (strcmp(word, kit.buffers[i]) == 0)
                arguments[count].buffer = i;
        if (!bytes && arguments[count].buffer < 0)
            stop("there is no such buffer", word);
    }
    return count;
}

static void read_test(char *about) {
    Test *test = grow(&kit.tests, &kit.test_count, sizeof *test);
    test->table = (int)next_number();
    test->kernels = (int)next_number();
    test->observed = (int)next_number();
    test->cluster = (int)next_number();
    copy_name(test->kernel, sizeof test->kernel, next_word());
    test->row = read_patch();
    test->about = about;
    if (test->table < 0 || test->table >= kit.table_count)
        stop("a test has no table", "kit.txt");
}

static void read_image(char *maker) {
    Image *image = grow(&kit.images, &kit.image_count, sizeof *image);
    image->number = (int)next_number();
    copy_name(image->kind, sizeof image->kind, next_word());
    for (char *file; image->count < 2 && (file = strtok(NULL, " ")) != NULL;)
        image->files[image->count++] = file;
    image->maker = maker;
}

static void read_line(char *line) {
    char *copied = strstr(line, " | ");
    if (copied) {
        *copied = 0;
        copied += 3;
    }
    const char *word = strtok(line, " ");
    Table *table = kit.table_count ? &kit.tables[kit.table_count - 1] : NULL;
    Test *test = kit.test_count ? &kit.tests[kit.test_count - 1] : NULL;
    if (!word)
        return;
    if (strcmp(word, "kit") == 0) {
        if (next_number() != VERSION)
            stop("this program does not know this version of kits", "kit.txt");
        kit.settings = copied;
    } else if (strcmp(word, "need") == 0) {
        kit.iterations = next_number();
        kit.launches = next_number();
        kit.least_milliseconds = next_number();
        kit.most_milliseconds = next_number();
        kit.silence = next_number();
    } else if (strcmp(word, "warm") == 0) {
        kit.warm_launches = next_number();
        kit.warm_window = next_number();
        kit.warm_percent = next_number();
        kit.cold_microseconds = next_number();
        kit.warm_microseconds = next_number();
    } else if (strcmp(word, "again") == 0) {
        for (char *code; kit.again_count < MAX_AGAIN && (code = strtok(NULL, " ")) != NULL;)
            kit.again[kit.again_count++] = atoi(code);
    } else if (strcmp(word, "level") == 0) {
        kit.level = (int)next_number();
        kit.registers = (int)next_number();
    } else if (strcmp(word, "places") == 0) {
        kit.seed_place = (int)next_number();
        kit.slots_place = (int)next_number();
        kit.buffers_place = (int)next_number();
        kit.launch_place = (int)next_number();
        kit.launch_words = (int)next_number();
    } else if (strcmp(word, "buffers") == 0) {
        kit.buffer_count = read_names(kit.buffers, MAX_BUFFERS);
    } else if (strcmp(word, "global") == 0) {
        copy_name(kit.global, sizeof kit.global, next_word());
    } else if (strcmp(word, "counters") == 0) {
        kit.counter_count = read_names(kit.counters, MAX_COUNTERS);
    } else if (strcmp(word, "arguments") == 0) {
        if (strcmp(next_word(), "run") == 0)
            kit.run_count = read_arguments(kit.run);
        else
            kit.helper_count = read_arguments(kit.helpers);
    } else if (strcmp(word, "image") == 0) {
        read_image(copied);
    } else if (strcmp(word, "table") == 0) {
        grow(&kit.tables, &kit.table_count, sizeof *kit.tables);
    } else if (strcmp(word, "room") == 0 && table) {
        Room *room = grow(&table->rooms, &table->room_count, sizeof *room);
        room->patch = read_patch();
        room->plan = copied;
    } else if (strcmp(word, "draw") == 0 && table) {
        Patch *draw = grow(&table->draws, &table->draw_count, sizeof *draw);
        *draw = read_patch();
    } else if (strcmp(word, "cell") == 0 && table) {
        Cell *cell = grow(&table->cells, &table->cell_count, sizeof *cell);
        cell->room = (int)next_number();
        cell->draw = (int)next_number();
        cell->patch = read_patch();
    } else if (strcmp(word, "test") == 0) {
        read_test(copied);
    } else if (strcmp(word, "binary") == 0 && test) {
        Binary *binary = grow(&test->binaries, &test->binary_count, sizeof *binary);
        binary->image = (int)next_number();
        binary->number = (int)next_number();
        binary->constants = read_patch();
    } else if (strcmp(word, "end") == 0) {
        kit.ended = 1;
    } else {
        stop("this program does not know this line", word);
    }
}

static void read_kit(char *text) {
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        read_line(line);
    }
    if (!kit.ended)
        stop("this file is cut", "kit.txt");
    if (kit.launch_place < 0 || kit.launch_words < 0 || kit.launch_place + kit.launch_words > MOST_WORDS)
        stop("a launch has more numbers than this program knows", "kit.txt");
    for (int i = 0; i < kit.test_count; i++)
        for (int binary = 0; binary < kit.tests[i].binary_count; binary++)
            if (kit.tests[i].binaries[binary].image < 0 || kit.tests[i].binaries[binary].image >= kit.image_count)
                stop("a binary has no image", "kit.txt");
}

static void write_over(int64_t *row, const Patch *patch) {
    for (int i = 0; i < patch->count; i++)
        row[patch->numbers[i].place] = patch->numbers[i].value;
}

/* The numbers of a launch: those of the test, its constants, what the room and the draw say. */
static void make_row(int64_t *row, const Test *test, const Binary *binary, int room, int draw) {
    const Table *table = &kit.tables[test->table];
    memset(row, 0, MOST_WORDS * sizeof *row);
    write_over(row, &test->row);
    write_over(row, &binary->constants);
    write_over(row, &table->rooms[room].patch);
    write_over(row, &table->draws[draw]);
    for (int i = 0; i < table->cell_count; i++)
        if (table->cells[i].room == room && table->cells[i].draw == draw)
            write_over(row, &table->cells[i].patch);
}

/* Which log is written: a new one, or one of this kit and this GPU, which is continued. */
#include <sys/file.h>
#include <sys/stat.h>

#define MOST_LOGS 1000

static char sums_hash[65];

/* Notes of each test whether it need not be run again, from the line that ends it. */
static void note_end(const char *line, char *done) {
    int number, code = 0, again = 0;
    if (sscanf(line, "{\"end\":%d", &number) < 1 || number < 0 || number >= kit.test_count)
        return;
    if (sscanf(line, "{\"end\":%*d,\"how\":\"error\",\"launches\":%*d,\"code\":%d", &code) == 1)
        for (int i = 0; i < kit.again_count; i++)
            again |= kit.again[i] == code;
    done[number] = !again;
}

/* Reads a log that exists. Returns what is wrong with it, or null: then `last_sum` is that of its last line, and what
 * was cut behind that line is gone. */
static const char *read_log(char *text, size_t size, const char *index, char *done) {
    static char problem[400];
    char *end = memchr(text, '\n', size), *last = memrchr(text, '\n', size), expected[400];
    size_t index_size = strlen(index);
    last_sum[0] = 0;
    snprintf(expected, sizeof expected, "\"sums\":\"%s\"", sums_hash);
    if (!end || !check_line(text, (size_t)(end - text), last_sum) || strncmp(text, "{\"kit\":", 7) != 0)
        return "this is not the log of a kit";
    *end = 0;
    if (!strstr(text, expected))
        return "this is not the log of this kit";
    snprintf(expected, sizeof expected, "\"gpu\":\"%s\"", identity);
    if (!strstr(text, expected))
        return "this is the log of another GPU";
    if (strncmp(end + 1, index, index_size) != 0)
        return "this log was changed or damaged in its first lines";
    int number = 2;
    for (const char *at = index; *at; at++)
        number += *at == '\n';
    for (char *line = end + 1 + index_size, *next; line < last; line = next + 1, number++) {
        next = memchr(line, '\n', (size_t)(last + 1 - line));
        if (!check_line(line, (size_t)(next - line), last_sum)) {
            snprintf(problem, sizeof problem, "line %d was changed or damaged", number);
            return problem;
        }
        *next = 0;
        note_end(line, done);
    }
    cut_log((size_t)(last + 1 - text));
    return NULL;
}

static void write_head(const char *index) {
    last_sum[0] = 0;
    write_entry("{\"kit\":%d,\"sums\":\"%s\",\"gpu\":\"%s\",\"started\":\"%s\",\"settings\":%s", VERSION, sums_hash, identity, now(),
                kit.settings);
    write_bytes(index, strlen(index));
}

/* Opens a log, if it is new or can be continued; returns what is wrong with it otherwise. */
static const char *try_log(const char *name, const char *index, char *done) {
    struct stat what;
    size_t size;
    log_name = name;
    log_file = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log_file < 0 || fstat(log_file, &what))
        stop(strerror(errno), name);
    if (!S_ISREG(what.st_mode))
        stop("this is not a file", name);
    int busy = flock(log_file, LOCK_EX | LOCK_NB) != 0;
    char *before = read_file(name, &size);
    memset(done, 0, (size_t)kit.test_count);
    const char *problem = busy ? "another program is writing this log" : NULL;
    if (!problem && before && size)
        problem = read_log(before, size, index, done);
    else if (!problem)
        write_head(index);
    free(before);
    if (problem && close(log_file))
        stop(strerror(errno), name);
    return problem;
}

static char *name_log(int number) {
    char *name = NULL;
    if ((number == 1 ? asprintf(&name, "log.jsonl") : asprintf(&name, "log-%d.jsonl", number)) < 0)
        stop("there is not enough memory", NULL);
    return name;
}

/* Opens the log of that name; without a name the first of log.jsonl, log-2.jsonl, … that can be written. */
static void open_log(const char *named, char *done) {
    size_t size;
    char *index = read_checked("index.jsonl", &size);
    for (int number = 1; number <= MOST_LOGS; number++) {
        const char *name = named ? named : name_log(number);
        const char *problem = try_log(name, index, done);
        if (!problem) {
            if (number > 1)
                fprintf(stderr, "run: %s is written\n", name);
            free(index);
            return;
        }
        if (named) {
            fprintf(stderr, "run: error: %s: %s: name another with --log\n", name, problem);
            exit(2);
        }
        fprintf(stderr, "run: %s: %s\n", name, problem);
    }
    stop("there are too many logs here: name one with --log", NULL);
}

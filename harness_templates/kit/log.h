/* The log: every line is written whole, at once, and ends with a sum of itself and of all lines before it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#define SUM_DIGITS 16
#define SUM_BEGIN ",\"sum\":\""
#define SUM_LENGTH (sizeof SUM_BEGIN - 1 + SUM_DIGITS + 2) /* of ,"sum":"0123456789abcdef"} */

static int log_file, messages, running = -1; /* `running`: the test under way, in a child */
static int written_launches;                 /* of the test under way */
static const char *log_name = "log.jsonl";
static char last_sum[SUM_DIGITS + 1]; /* of the last line; empty before the first */

static void write_bytes(const char *bytes, size_t size) {
    while (size) {
        ssize_t written = write(log_file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            stop("the log cannot be written: is the disk full?", log_name);
        bytes += written;
        size -= (size_t)written;
    }
}

/* The sum of a line: of the sum of the line before it, and of its text without its own sum and what follows. */
static void find_sum(const char *before, const char *text, size_t length, char sum[SUM_DIGITS + 1]) {
    size_t first = strlen(before);
    char digits[65], *joined = allocate(first + length);
    memcpy(joined, before, first);
    memcpy(joined + first, text, length);
    sha256(joined, first + length, digits);
    free(joined);
    memcpy(sum, digits, SUM_DIGITS);
    sum[SUM_DIGITS] = 0;
}

/* Writes a line; the format gives it without its last brace, before which the sum is put. */
static void write_entry(const char *format, ...) {
    char *text = NULL, *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        stop("there is not enough memory", log_name);
    find_sum(last_sum, text, (size_t)length, last_sum);
    int whole = asprintf(&line, "%s" SUM_BEGIN "%s\"}\n", text, last_sum);
    if (whole < 0)
        stop("there is not enough memory", log_name);
    write_bytes(line, (size_t)whole);
    free(text);
    free(line);
}

/* Whether a line, without its end, has the sum that follows from the one before it, which is then replaced by it. */
static int check_line(const char *line, size_t length, char sum[SUM_DIGITS + 1]) {
    char expected[SUM_DIGITS + 1];
    if (length < SUM_LENGTH)
        return 0;
    const char *end = line + length - SUM_LENGTH;
    find_sum(sum, line, length - SUM_LENGTH, expected);
    if (memcmp(end, SUM_BEGIN, sizeof SUM_BEGIN - 1) || memcmp(end + sizeof SUM_BEGIN - 1, expected, SUM_DIGITS) ||
        memcmp(line + length - 2, "\"}", 2))
        return 0;
    memcpy(sum, expected, sizeof expected);
    return 1;
}

/* A line that was cut goes: the log ends at the last end of a line. */
static void cut_log(size_t size) {
    if (ftruncate(log_file, (off_t)size))
        stop(strerror(errno), log_name);
}

/* After a child has ended: the sum of its last line, and how many launches of the test under way it has written. */
static void reread_log(void) {
    size_t size;
    char *text = read_file(log_name, &size), *end = text ? memrchr(text, '\n', size) : NULL;
    if (!end)
        stop("this log has lost what was written", log_name);
    cut_log((size_t)(end + 1 - text));
    written_launches = 0;
    for (char *line = text, *next; line <= end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end + 1 - line));
        if (next - line >= (ptrdiff_t)SUM_LENGTH && memcmp(next - SUM_LENGTH, SUM_BEGIN, sizeof SUM_BEGIN - 1) == 0)
            memcpy(last_sum, next - 2 - SUM_DIGITS, SUM_DIGITS); /* lines of the index have none */
        if (strncmp(line, "{\"begin\":", 9) == 0)
            written_launches = 0;
        written_launches += strncmp(line, "{\"launch\":", 10) == 0;
    }
    free(text);
}

static const char *now(void) {
    static char text[32];
    time_t seconds = time(NULL);
    struct tm *parts = gmtime(&seconds);
    if (!parts || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", parts))
        stop("the clock of this machine is wrong", NULL);
    return text;
}

/* A text inside quotes of JSON: what would end it, and all that is not ASCII, becomes a question mark. */
static char *quoted(const char *text) {
    static char places[4][512];
    static int place;
    char *to = places[place++ % 4], *begin = to;
    for (; *text && to < begin + sizeof *places - 1; text++)
        *to++ = *text >= ' ' && *text != '"' && *text != '\\' && *text < 127 ? *text : *text == '\n' ? ' ' : '?';
    *to = 0;
    return begin;
}

/* A line for the parent: what happened, and to which test. */
static void tell_parent(char what, int number) {
    char message[32];
    int length = snprintf(message, sizeof message, "%c%d\n", what, number);
    if (write(messages, message, (size_t)length) != length)
        _exit(1);
}

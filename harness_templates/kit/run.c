/* Runs the tests of a kit of gpudiy on a GPU and writes log.jsonl. It needs a C compiler and NVIDIA's driver only.
 *
 *     ./program [--device N] [--log FILE]
 *
 * The parent never uses the driver. A first child says which GPU it is. The next one opens it, runs one test after the
 * other, and writes down every launch; if it hangs, crashes or fails, that is written down, and a new child goes on with
 * the next test. A log of this kit and this GPU is continued. run.py does the same in Python.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "kit.h"
#include "sha256.h"
#include "log.h"
#include "gpu.h"
#include "images.h"
#include "launches.h"
#include "resume.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MOST_OPENINGS 3  /* a GPU that was lost, and cannot be opened so often, is given up */
#define LOADING_TIME 300 /* seconds more before the first launch: the driver may compile PTX */

static volatile sig_atomic_t interrupted;
static void note_interrupt(int signal) { interrupted = signal; }

/* The machine, not the kit, is the cause. */
static void give_up(const char *what) {
    fprintf(stderr, "run: error: %s: %s\n", what, strerror(errno));
    exit(3);
}

static void set_signals(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    if (sigaction(SIGINT, &action, NULL) || sigaction(SIGTERM, &action, NULL))
        give_up("signals");
}

static const char *name_of(int test, char *name) {
    const char *at = strstr(kit.tests[test].about, "\"test\":\"");
    return at && sscanf(at + 8, "%120[^\"]", name) == 1 ? name : "?";
}

/* Starts a child, whose messages come from `from`; returns 0 in the child. */
static pid_t start_child(int *from) {
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends))
        give_up("a pipe");
    pid_t child = fork();
    if (child < 0)
        give_up("no child can be started");
    if (child == 0) {
        set_signals(SIG_DFL);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || close(ends[0]))
            _exit(1);
        messages = ends[1];
        return 0;
    }
    if (close(ends[1]))
        give_up("a pipe");
    *from = ends[0];
    return child;
}

/* Waits for the end of a child, which is killed if it must not go on. */
static int end_child(pid_t child, int from, int killed) {
    int status = 0;
    if (close(from))
        give_up("a pipe");
    if (killed && kill(child, SIGKILL) && errno != ESRCH)
        give_up("a child");
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            give_up("a child");
        else if (interrupted && kill(child, SIGKILL) && errno != ESRCH)
            give_up("a child");
    return status;
}

/* Adds what a child says to a text; 1, 0 if it has ended or there was an interrupt, -1 if it says nothing for too long. */
static int hear_child(int from, char *text, size_t room, size_t *size, long long seconds) {
    for (;;) {
        struct pollfd wait = {from, POLLIN, 0};
        int ready = interrupted ? 0 : poll(&wait, 1, seconds > INT_MAX / 1000 ? INT_MAX : (int)(seconds * 1000));
        if (interrupted)
            return 0;
        if (ready == 0)
            return -1;
        ssize_t more = ready < 0 ? -1 : read(from, text + *size, room - 1 - *size);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            give_up("a pipe");
        *size += (size_t)more;
        text[*size] = 0;
        return more > 0;
    }
}

/* Asks a child which GPU it is; returns the exit code of the program, or 0. */
static int identify_gpu(void) {
    int from, heard;
    size_t size = 0;
    pid_t child = start_child(&from);
    if (child == 0)
        tell_identity();
    while ((heard = hear_child(from, identity, sizeof identity, &size, LOADING_TIME)) > 0)
        ;
    int status = end_child(child, from, heard < 0 || interrupted);
    if (interrupted)
        return 130;
    if (heard < 0)
        fprintf(stderr, "run: error: the driver does not answer for %d seconds\n", LOADING_TIME);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "run: error: the driver was killed by signal %d\n", WTERMSIG(status));
    return heard < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != ENDED ? 3 : 0;
}

typedef struct { int under_way, begun, loading, opened, hung; } Progress; /* `under_way`: the number of a test, or -1 */

static void take_message(const char *line, char *done, Progress *progress) {
    static int finished;
    char name[128];
    int number = atoi(line + 1);
    if (number < 0 || number >= kit.test_count)
        return;
    switch (line[0]) {
    case 'o': progress->opened = 1; break;
    case 'b':
        progress->under_way = number;
        progress->begun++;
        progress->loading = 1;
        break;
    case 'm': progress->loading = 0; break;
    case 'e':
        done[number] = 1;
        progress->under_way = -1;
        progress->loading = 1;
        fprintf(stderr, "run: %d of %d: %s\n", ++finished, kit.test_count, name_of(number, name));
        break;
    default: break;
    }
}

/* Reads what the child says until it ends, or says nothing for too long; a message may come in two parts. */
static void follow_child(int from, char *done, Progress *progress) {
    char text[4096];
    size_t size = 0;
    for (;;) {
        int heard = hear_child(from, text, sizeof text, &size, kit.silence + (progress->loading ? LOADING_TIME : 0));
        progress->hung = heard < 0;
        if (heard <= 0)
            return;
        char *line = text, *end;
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            take_message(line, done, progress);
        }
        size -= (size_t)(line - text);
        memmove(text, line, size + 1);
        if (size == sizeof text - 1)
            stop("a child says what nobody understands", NULL);
    }
}

static void write_failure(const Progress *progress, int status) {
    char name[128];
    int test = progress->under_way;
    name_of(test, name);
    if (progress->hung) {
        long long seconds = kit.silence + (progress->loading ? LOADING_TIME : 0);
        fprintf(stderr, "run: %s: no answer for %lld seconds\n", name, seconds);
        write_entry("{\"end\":%d,\"how\":\"hung\",\"launches\":%d,\"seconds\":%lld", test, written_launches, seconds);
    } else if (WIFSIGNALED(status)) {
        fprintf(stderr, "run: %s: the program was killed by signal %d\n", name, WTERMSIG(status));
        write_entry("{\"end\":%d,\"how\":\"killed\",\"launches\":%d,\"signal\":%d", test, written_launches, WTERMSIG(status));
    } else if (WEXITSTATUS(status) != FAILED) {
        write_entry("{\"end\":%d,\"how\":\"died\",\"launches\":%d,\"exit\":%d", test, written_launches, WEXITSTATUS(status));
    }
}

/* Runs children until all tests are done; returns the exit code, and whether the GPU was given up. */
static int run_children(char *done, int *given_up) {
    int failures = 0, ever_opened = 0, code = 0;
    while (memchr(done, 0, (size_t)kit.test_count)) {
        Progress progress = {.under_way = -1, .loading = 1};
        int from;
        quiet = failures > 0;
        pid_t child = start_child(&from);
        if (child == 0)
            run_child(done);
        follow_child(from, done, &progress);
        int status = end_child(child, from, progress.hung || interrupted);
        reread_log();
        if (interrupted) {
            write_entry("{\"stopped\":\"interrupted\"");
            fprintf(stderr, "\nrun: interrupted; run it again to continue %s\n", log_name);
            return 130;
        }
        int ended = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (progress.under_way < 0 && ended == ENDED && !progress.hung)
            return code;
        if (ended == 2)
            return 2; /* the log cannot be written, or a file was changed: the child said so */
        code = 3;
        if (progress.under_way >= 0) {
            write_failure(&progress, status);
            done[progress.under_way] = 1;
        } else if (ended != CANNOT_OPEN && ended != FAILED) {
            fprintf(stderr, "run: the driver %s while it was opened or closed\n", progress.hung ? "did not answer" : "crashed");
        }
        ever_opened |= progress.opened;
        failures = progress.begun ? 0 : failures + 1;
        if (!ever_opened || failures == MOST_OPENINGS) {
            fprintf(stderr, "run: the GPU cannot be used; run it again to continue %s\n", log_name);
            write_entry("{\"stopped\":\"device lost\"");
            *given_up = 1;
            return 3;
        }
    }
    return code;
}

/* Prints the numbers of a launch: gpudiy compares them with its own. */
static int print_row(int test, int binary, int room, int draw) {
    static int64_t row[MOST_WORDS];
    if (test < 0 || test >= kit.test_count || binary < 0 || binary >= kit.tests[test].binary_count ||
        room < 0 || room >= kit.tables[kit.tests[test].table].room_count || draw < 0 ||
        draw >= kit.tables[kit.tests[test].table].draw_count)
        stop("there is no such row", NULL);
    make_row(row, &kit.tests[test], &kit.tests[test].binaries[binary], room, draw);
    for (int i = 0; i < kit.launch_place + kit.launch_words; i++)
        printf("%lld%c", (long long)row[i], i + 1 < kit.launch_place + kit.launch_words ? ' ' : '\n');
    return 0;
}

/* A number from 0 on; anything else is refused. */
static int read_number(const char *word) {
    char *end = NULL;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (errno || end == word || *end || number < 0 || number > 65535)
        stop("this is not the number of a GPU: they are counted from 0", word);
    return (int)number;
}

int main(int count, char **words) {
    size_t size;
    const char *named = NULL;
    char **of_row = NULL;
    int given_up = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--device") == 0 && i + 1 < count)
            device_number = read_number(words[++i]);
        else if (strcmp(words[i], "--log") == 0 && i + 1 < count)
            named = words[++i];
        else if (strcmp(words[i], "--row") == 0 && i + 4 < count) {
            of_row = &words[i + 1];
            i += 4;
        } else
            stop("usage: ./program [--device N] [--log FILE]", NULL);
    }
    sums = read_file("SHA256SUMS", &size);
    if (!sums)
        stop("is missing here: run this in the folder of the kit", "SHA256SUMS");
    sha256(sums, size, sums_hash);
    check_files();
    read_kit(read_checked("kit.txt", &size));
    if (of_row)
        return print_row(atoi(of_row[0]), atoi(of_row[1]), atoi(of_row[2]), atoi(of_row[3]));
    char *done = allocate((size_t)kit.test_count + 1);
    set_signals(note_interrupt);
    int code = identify_gpu();
    if (code)
        return code;
    open_log(named, done);
    code = run_children(done, &given_up);
    if ((code == 0 || code == 3) && !given_up)
        fprintf(stderr, "run: done; send back %s, and compiled-*.cubin if there are any\n", log_name);
    return code;
}

/* The journal: a line a call, each appended by one write, so that processes can share a file. */
#include "standin.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void append(const char *kind, const char *format, va_list arguments) {
    const char *path = getenv("STANDIN_JOURNAL");
    char line[2048];
    int length = snprintf(line, sizeof line, "%d %s", (int)getpid(), kind);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length++] = '\n';
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    if (file >= 0) {
        if (write(file, line, (size_t)length) != length)
            abort();
        close(file);
    } else if (*kind) {
        (void)!write(STDERR_FILENO, line, (size_t)length);
    }
}

void journal(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append("", format, arguments);
    va_end(arguments);
}

void violation(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append("violation: ", format, arguments);
    va_end(arguments);
}

const char *plain_name(const char *function) {
    static _Thread_local char name[64];
    strncpy(name, function, sizeof name - 1);
    char *version = strstr(name, "_v");
    if (version && strspn(version + 2, "0123456789") == strlen(version + 2))
        *version = 0;
    return name;
}

/* program.h — what only the program asks of the operating system; the rest is that of base/os/os.h, whose rules for
 * paths, errors and descriptors hold here as well. program_posix.c: Linux, macOS and other POSIX systems;
 * program_windows.c: Windows 10 and later. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the begin, the environment -------------------------------------------------------------------------------- */

/* Called first, before any file is opened. The three standard files are open then; those that were closed refuse what
 * would have been refused. A write to a closed pipe, or beyond a limit of file sizes, is an error and no signal.
 * Windows: arguments become UTF-8; standard streams hold bytes; the console shows UTF-8 and interprets escape
 * sequences until the program ends. */
void cli_os_begin(int *argc, char ***argv);

const char *cli_os_variable(const char *name);          /* of the environment, as getenv; UTF-8 */
const char *cli_os_home(void);                          /* the user's folder: HOME, Windows: USERPROFILE; or NULL */

/* ---- paths ----------------------------------------------------------------------------------------------------- */

bool cli_os_absolute(const char *path);                 /* Windows: also "C:\..." and "\\server\..." */

/* What a symbolic link names; false: the path is none. Windows: false, so that what is written replaces a link. */
bool cli_os_link(const char *path, char *target, size_t size);

/* ---- input and output ------------------------------------------------------------------------------------------ */

/* As rf__os_read, but a signal that cli_os_on_end handles ends it: EINTR. Windows: in the main thread only; what is
 * typed into a console is read as UTF-8, and Ctrl-Z in a new line is its end. */
int64_t cli_os_read(int fd, void *to, size_t size);
bool cli_os_ready(int fd);                              /* cli_os_read would not wait; Windows: false for a console */

/* 0 if the open file accepts writes, else -1 with EBADF. *appends: each write goes to its end, wherever it is. */
int cli_os_output(int fd, bool *appends);

/* From now on, `to` is a descriptor of the file of `from`. Other threads may be writing to it. */
int cli_os_replace(int from, int to);

/* Whether printing failed with this errno because nobody reads standard output any more. */
bool cli_os_pipe_closed(int error);

/* ---- the terminal ---------------------------------------------------------------------------------------------- */

bool cli_os_utf8(void);                                 /* it shows UTF-8 */

/* TERM, or NULL. Windows: TERM, otherwise "windows", or "dumb" if the console interprets no escape sequences. */
const char *cli_os_terminal_name(void);

/* ---- signals --------------------------------------------------------------------------------------------------- */

/* Signals that ask the program to end: SIGINT (2), SIGTERM (15) and SIGHUP (1). Windows: Ctrl-C (2), Ctrl-Break (15),
 * the end of the console or of the session (1), which leaves the program five seconds. The handler may use atomic
 * variables, rf__os_remove, cli_os_end_by and _Exit. POSIX: it interrupts a thread, whose system call then returns
 * EINTR. Windows: it runs in a thread of its own, and only cli_os_read is interrupted.
 * A signal that is ignored, as by nohup, stays ignored. keep: one that has a handler already keeps it. */
void cli_os_on_end(void (*handler)(int number), bool keep);

/* In such a handler: the process ends as if the signal had none (POSIX: when the handler returns). */
void cli_os_end_by(int number);

/* SIGUSR1; calls that it interrupts go on. Windows has no such signal. */
void cli_os_on_save(void (*handler)(int number));

/* Of a server, also if they were ignored: SIGINT and SIGTERM call `end`, SIGHUP `again`, SIGUSR1 `log`. Windows: all
 * that cli_os_on_end names calls `end`; the other two never. */
void cli_os_on_serve(void (*end)(int number), void (*again)(int number), void (*log)(int number));

/* Calls the handler once, after this time, as that of a signal. */
void cli_os_after(double seconds, void (*handler)(int number));

/* SIGBUS: another process has shortened a mapped file. A message names the file, then the handler ends the process.
 * Windows: this cannot happen (os.h). */
void cli_os_on_cut(void (*handler)(void));

/* ---- other programs -------------------------------------------------------------------------------------------- */

/* Runs a program with these arguments (NULL at the end) and the standard files of this one, and waits for its end.
 * program: a path, or a name that is looked up in PATH. said: a descriptor that gets its standard error, or -1.
 * Its exit code; 128 + n if signal n ended it (Windows: 130 for Ctrl-C, 139 for a crash); -1 if it cannot be run,
 * with ENOENT if there is none. */
int cli_os_run(const char *program, const char *const arguments[], int said);

/* ---- the machine ----------------------------------------------------------------------------------------------- */

int cli_os_processors(void);                            /* all that are in use, also those not for this process */
double cli_os_peak_memory(void);                        /* bytes of this process so far; 0: unknown */

/* For bug reports; false: unknown. */
typedef enum cli_os_fact {
    CLI_OS_SYSTEM,                                      /* name, version, architecture */
    CLI_OS_PROCESSOR,                                   /* its name */
    CLI_OS_UNITS,                                       /* its arithmetic units, as in /proc/cpuinfo; Linux only */
    CLI_OS_MEMORY, CLI_OS_MEMORY_FREE                   /* "16301184 kB" */
} cli_os_fact;
bool cli_os_describe(cli_os_fact fact, char *out, size_t size);

#endif

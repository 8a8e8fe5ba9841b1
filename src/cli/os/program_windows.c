/* program_windows.c — the program's part of the system (program.h) on Windows 10 and later. */
#include "base/os/os_windows.h"

#include "cli/os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <psapi.h>
#include <shellapi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

NTSTATUS NTAPI RtlGetVersion(RTL_OSVERSIONINFOW *version);

/* n units of UTF-16 as UTF-8, then a zero; free(). NULL: out of memory. */
static char *narrow(const wchar_t *text, size_t n)
{
    const int size = WideCharToMultiByte(CP_UTF8, 0, text, (int)n, NULL, 0, NULL, NULL);
    char *out = malloc((size_t)size + 1);
    if (!out) return NULL;
    WideCharToMultiByte(CP_UTF8, 0, text, (int)n, out, size, NULL, NULL);
    out[size] = 0;
    return out;
}

static bool is_console(HANDLE h)
{
    DWORD mode;
    return h && GetConsoleMode(h, &mode);
}

/* ---- the begin, the environment -------------------------------------------------------------------------------- */

static char *environment;                               /* "NAME=value", each with a zero, then an empty one */
static HANDLE main_thread;

static struct console {
    HANDLE out;                                         /* INVALID_HANDLE_VALUE: this process has no console */
    UINT page;                                          /* page and mode: as they were */
    DWORD mode;
    bool escapes;
} console;

static void restore_console(void)
{
    SetConsoleOutputCP(console.page);
    SetConsoleMode(console.out, console.mode);
}

/* Full buffers, so that the console gets whole characters: the program flushes what is to be seen. */
static void prepare_console(void)
{
    console.out = CreateFileW(L"CONOUT$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                              OPEN_EXISTING, 0, NULL);
    if (!GetConsoleMode(console.out, &console.mode)) return;
    const DWORD more = ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    console.escapes = SetConsoleMode(console.out, console.mode | more);
    console.page = GetConsoleOutputCP();
    SetConsoleOutputCP(CP_UTF8);
    atexit(restore_console);
    if (is_console(rf__os_handle(1))) setvbuf(stdout, NULL, _IOFBF, 1 << 15);
    if (is_console(rf__os_handle(2))) setvbuf(stderr, NULL, _IOFBF, 1 << 15);
}

static void read_arguments(int *argc, char ***argv)
{
    int n;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &n);
    char **all = wide ? calloc((size_t)n + 1, sizeof *all) : NULL;
    for (int i = 0; all && i < n; i++)
        if (!(all[i] = narrow(wide[i], wcslen(wide[i])))) return;
    LocalFree(wide);
    if (all) *argc = n, *argv = all;
}

static void read_environment(void)
{
    wchar_t *all = GetEnvironmentStringsW();
    size_t n = 0;
    while (all && all[n]) n += wcslen(all + n) + 1;
    if (n) environment = narrow(all, n);
    if (all) FreeEnvironmentStringsW(all);
}

/* Descriptors 0 to 2 belong to the standard files, also if they are closed: no other file gets one of them. */
void cli_os_begin(int *argc, char ***argv)
{
    HANDLE self = GetCurrentProcess();
    DuplicateHandle(self, GetCurrentThread(), self, &main_thread, 0, FALSE, DUPLICATE_SAME_ACCESS);
    for (int fd = 0; fd < 3; fd++)
        if (rf__os_handle(fd)) _setmode(fd, _O_BINARY);
    read_arguments(argc, argv);
    read_environment();
    prepare_console();
}

const char *cli_os_variable(const char *name)
{
    const size_t n = strlen(name);
    for (const char *one = environment; one && *one; one += strlen(one) + 1)
        if (!_strnicmp(one, name, n) && one[n] == '=') return one + n + 1;
    return NULL;
}

const char *cli_os_home(void)
{
    const char *home = cli_os_variable("USERPROFILE");
    return home && *home ? home : NULL;
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

bool cli_os_absolute(const char *path)
{
    const bool letter = (*path | 32) >= 'a' && (*path | 32) <= 'z';
    return *path == '/' || *path == '\\' || (letter && path[1] == ':');
}

bool cli_os_link(const char *path, char *target, size_t size)
{
    (void)path, (void)target, (void)size;
    return false;
}

/* ---- input and output ------------------------------------------------------------------------------------------ */

static atomic_bool reading, asked;                      /* the main thread reads; a stop was asked for */

/* Of the next line that is typed, and not of the console's code page, which lacks characters. */
static bool read_console(HANDLE h, char *to, size_t size, DWORD *got)
{
    static wchar_t text[1 << 14];
    const size_t fits = sizeof text / sizeof *text, most = size / 3 < fits ? size / 3 : fits;
    DWORD n = 0;
    SetLastError(0);
    if (!ReadConsoleW(h, text, (DWORD)most, &n, NULL)) return false;
    if (!n && GetLastError() == ERROR_OPERATION_ABORTED) return false;
    const bool ends = n && *text == 26;                 /* Ctrl-Z */
    *got = n && !ends ? (DWORD)WideCharToMultiByte(CP_UTF8, 0, text, (int)n, to, (int)size, NULL, NULL) : 0;
    return true;
}

int64_t cli_os_read(int fd, void *to, size_t size)
{
    HANDLE h = rf__os_handle(fd);
    DWORD got = 0;
    if (!h) return -1;
    if (GetFileType(h) == FILE_TYPE_DISK) return rf__os_read(fd, to, size);
    const DWORD most = size < 1 << 20 ? (DWORD)size : 1 << 20;
    atomic_store(&reading, true);
    const bool done = !asked && (is_console(h) ? read_console(h, to, most, &got) : ReadFile(h, to, most, &got, NULL));
    const DWORD code = done ? 0 : asked ? ERROR_OPERATION_ABORTED : GetLastError();
    atomic_store(&reading, false);
    if (done) return got;
    if (code == ERROR_BROKEN_PIPE || code == ERROR_HANDLE_EOF) return 0;
    if (code != ERROR_OPERATION_ABORTED) return rf__os_error(code);
    for (int i = 0; i < 100 && !asked; i++) Sleep(1);   /* Ctrl-C ends the reading of a console before on_event runs */
    errno = EINTR;
    return -1;
}

bool cli_os_ready(int fd)
{
    HANDLE h = rf__os_handle(fd);
    DWORD there;
    if (!h || is_console(h)) return false;
    return GetFileType(h) != FILE_TYPE_PIPE || !PeekNamedPipe(h, NULL, 0, NULL, &there, NULL) || there;
}

int cli_os_output(int fd, bool *appends)
{
    HANDLE h = rf__os_handle(fd);
    ACCESS_MASK access;
    IO_STATUS_BLOCK io;
    *appends = false;
    if (!h) return -1;
    if (is_console(h) || NtQueryInformationFile(h, &io, &access, sizeof access, FileAccessInformation)) return 0;
    *appends = (access & (FILE_WRITE_DATA | FILE_APPEND_DATA)) == FILE_APPEND_DATA;
    if (access & (FILE_WRITE_DATA | FILE_APPEND_DATA)) return 0;
    errno = EBADF;
    return -1;
}

int cli_os_replace(int from, int to) { return _dup2(from, to); }

/* The C library says EINVAL then. */
bool cli_os_pipe_closed(int error)
{
    return error == EPIPE || (error == EINVAL && GetFileType(GetStdHandle(STD_OUTPUT_HANDLE)) == FILE_TYPE_PIPE);
}

/* ---- the terminal ---------------------------------------------------------------------------------------------- */

bool cli_os_utf8(void) { return console.out == INVALID_HANDLE_VALUE || GetConsoleOutputCP() == CP_UTF8; }

const char *cli_os_terminal_name(void)
{
    const char *given = cli_os_variable("TERM");
    return given ? given : console.escapes ? "windows" : "dumb";
}

/* ---- signals --------------------------------------------------------------------------------------------------- */

typedef void (*end_handler)(int number);
static _Atomic(end_handler) on_end;

/* Reading may just begin: it is interrupted again. The console's end ends the process when this returns. */
static BOOL WINAPI on_event(DWORD event)
{
    const int number = event == CTRL_C_EVENT ? 2 : event == CTRL_BREAK_EVENT ? 15 : 1;
    asked = true;
    atomic_load(&on_end)(number);
    for (int i = 0; i < 100 && reading; i++, Sleep(5)) CancelSynchronousIo(main_thread);
    if (number == 1) Sleep(INFINITE);
    return TRUE;
}

void cli_os_on_end(void (*handler)(int number), bool keep)
{
    static atomic_bool known;
    end_handler none = NULL;
    if (keep) atomic_compare_exchange_strong(&on_end, &none, handler);
    else atomic_store(&on_end, handler);
    if (!atomic_exchange(&known, true)) SetConsoleCtrlHandler(on_event, TRUE);
}

void cli_os_end_by(int number)
{
    (void)number;
    ExitProcess((UINT)STATUS_CONTROL_C_EXIT);
}

void cli_os_on_save(void (*handler)(int number)) { (void)handler; }
void cli_os_on_serve(void (*end)(int number), void (*again)(int number), void (*log)(int number))
{
    (void)again, (void)log;
    cli_os_on_end(end, false);
}

static end_handler on_time;

static VOID CALLBACK call_on_time(PVOID none, BOOLEAN fired)
{
    (void)none, (void)fired;
    on_time(0);
}

void cli_os_after(double seconds, void (*handler)(int number))
{
    HANDLE timer;
    on_time = handler;
    CreateTimerQueueTimer(&timer, NULL, call_on_time, NULL, (DWORD)(1000 * seconds), 0, WT_EXECUTEONLYONCE);
}

void cli_os_on_cut(void (*handler)(void)) { (void)handler; }

/* ---- other programs -------------------------------------------------------------------------------------------- */

/* One argument in quotes, as CommandLineToArgvW reads it: backslashes before a quote are doubled. */
static wchar_t *put_argument(wchar_t *to, const wchar_t *text)
{
    size_t slashes = 0;
    *to++ = L'"';
    for (;; text++) {
        const bool quote = *text == L'"';
        for (size_t i = 0; (quote || !*text) && i < slashes; i++) *to++ = L'\\';
        if (!*text) break;
        if (quote) *to++ = L'\\';
        *to++ = *text;
        slashes = *text == L'\\' ? slashes + 1 : 0;
    }
    *to++ = L'"';
    return to;
}

/* The command line of these arguments; free(). NULL: errno. */
static wchar_t *command_line(const char *const arguments[])
{
    size_t size = 1;
    for (int i = 0; arguments[i]; i++) size += 2 * strlen(arguments[i]) + 3;
    wchar_t *out = malloc(size * sizeof *out), *to = out;
    for (int i = 0; out && arguments[i]; i++) {
        wchar_t *one = rf__os_wide(arguments[i]);
        if (!one) {
            free(out);
            return NULL;
        }
        if (i) *to++ = L' ';
        to = put_argument(to, one);
        free(one);
    }
    if (out) *to = 0;
    return out;
}

enum { PATH = 32768 };

/* A name is looked up in PATH alone: Windows would begin in the current folder. false: errno. */
static bool find_program(const char *name, wchar_t out[PATH])
{
    const bool path = rf__os_last_slash(name);
    wchar_t *wide = rf__os_wide(name);
    if (!wide) return false;
    const wchar_t *where = path ? NULL : _wgetenv(L"PATH");
    const DWORD n = path ? GetFullPathNameW(wide, PATH, out, NULL)
                         : SearchPathW(where ? where : L"", wide, L".exe", PATH, out, NULL);
    free(wide);
    errno = ENOENT;
    return n && n < PATH;
}

/* The standard files of the new program, as handles that it inherits. */
static void inherit(int said, HANDLE out[3])
{
    HANDLE self = GetCurrentProcess();
    for (int i = 0; i < 3; i++) {
        HANDLE h = rf__os_handle(i == 2 && said >= 0 ? said : i);
        if (!h || !DuplicateHandle(self, h, self, &out[i], 0, TRUE, DUPLICATE_SAME_ACCESS)) out[i] = NULL;
    }
}

static int code_of(DWORD code)
{
    if (code < 0x80000000) return (int)code;
    return code == (DWORD)STATUS_CONTROL_C_EXIT ? 130 : 139;
}

int cli_os_run(const char *program, const char *const arguments[], int said)
{
    wchar_t *found = malloc(PATH * sizeof *found), *line = found ? command_line(arguments) : NULL;
    STARTUPINFOW begin = {.cb = sizeof begin, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child;
    HANDLE file[3];
    DWORD code = 0;
    int result = -1;
    if (line && find_program(program, found)) {
        inherit(said, file);
        begin.hStdInput = file[0], begin.hStdOutput = file[1], begin.hStdError = file[2];
        if (!CreateProcessW(found, line, NULL, NULL, TRUE, 0, NULL, NULL, &begin, &child)) {
            rf__os_error(GetLastError());
        } else {
            WaitForSingleObject(child.hProcess, INFINITE);
            GetExitCodeProcess(child.hProcess, &code);
            CloseHandle(child.hThread);
            CloseHandle(child.hProcess);
            result = code_of(code);
        }
        for (int i = 0; i < 3; i++)
            if (file[i]) CloseHandle(file[i]);
    }
    free(found);
    free(line);
    return result;
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

int cli_os_processors(void) { return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS); }

double cli_os_peak_memory(void)
{
    PROCESS_MEMORY_COUNTERS c;
    return GetProcessMemoryInfo(GetCurrentProcess(), &c, sizeof c) ? (double)c.PeakWorkingSetSize : 0;
}

static bool system_text(char *out, size_t size)
{
    RTL_OSVERSIONINFOW v = {.dwOSVersionInfoSize = sizeof v};
    if (RtlGetVersion(&v)) return false;
#ifdef __aarch64__
    static const char machine[] = "aarch64";
#else
    static const char machine[] = "x86_64";
#endif
    snprintf(out, size, "Windows %lu.%lu.%lu %s", v.dwMajorVersion, v.dwMinorVersion, v.dwBuildNumber, machine);
    return true;
}

static bool processor_text(char *out, size_t size)
{
    wchar_t wide[128];
    DWORD bytes = sizeof wide;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", L"ProcessorNameString",
                     RRF_RT_REG_SZ, NULL, wide, &bytes))
        return false;
    char *text = narrow(wide, wcslen(wide));
    if (text) snprintf(out, size, "%s", text);
    free(text);
    return text != NULL;
}

bool cli_os_describe(cli_os_fact fact, char *out, size_t size)
{
    MEMORYSTATUSEX m = {.dwLength = sizeof m};
    switch (fact) {
    case CLI_OS_SYSTEM: return system_text(out, size);
    case CLI_OS_PROCESSOR: return processor_text(out, size);
    case CLI_OS_UNITS: return false;
    case CLI_OS_MEMORY:
    case CLI_OS_MEMORY_FREE: break;
    }
    if (!GlobalMemoryStatusEx(&m)) return false;
    snprintf(out, size, "%llu kB", (fact == CLI_OS_MEMORY ? m.ullTotalPhys : m.ullAvailPhys) / 1024);
    return true;
}

/* os_windows.c — the system's part (os.h) on Windows 10 and later, without files and folders, which
 * os_windows_files.c and os_windows_folders.c have. Needs the library ntdll. */
#include "base/os/os_windows.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <math.h>
#include <psapi.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/system/processor.h"
#include "base/system/thread.h"

/* ---- errors and text ---- */

int rf__os_error(DWORD code)
{
    static const struct { DWORD code; int e; } known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},       {ERROR_PATH_NOT_FOUND, ENOENT},     {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},          {ERROR_BAD_NET_NAME, ENOENT},       {ERROR_BAD_PATHNAME, ENOENT},
        {ERROR_NO_MORE_FILES, ENOENT},        {ERROR_NOT_READY, ENOENT},          {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_LOCK_VIOLATION, EACCES},       {ERROR_NETWORK_ACCESS_DENIED, EACCES},
        {ERROR_CANNOT_MAKE, EACCES},          {ERROR_PRIVILEGE_NOT_HELD, EPERM},  {ERROR_SHARING_VIOLATION, EBUSY},
        {ERROR_BUSY, EBUSY},                  {ERROR_PIPE_BUSY, EBUSY},           {ERROR_USER_MAPPED_FILE, EBUSY},
        {681, ELOOP},                         {ERROR_DELETE_PENDING, ENOENT},     {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},       {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},   {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_DISK_FULL, ENOSPC},            {ERROR_HANDLE_DISK_FULL, ENOSPC},   {1295, ENOSPC},
        {ERROR_FILE_TOO_LARGE, EFBIG},        {ERROR_WRITE_PROTECT, EROFS},       {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},    {ERROR_OUTOFMEMORY, ENOMEM},        {ERROR_COMMITMENT_LIMIT, ENOMEM},
        {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},  {ERROR_INVALID_HANDLE, EBADF},      {ERROR_NOT_SAME_DEVICE, EXDEV},
        {ERROR_BROKEN_PIPE, EPIPE},           {ERROR_NO_DATA, EPIPE},             {ERROR_PIPE_NOT_CONNECTED, EPIPE},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},                               {ERROR_INVALID_NAME, EINVAL},
        {ERROR_INVALID_PARAMETER, EINVAL},    {ERROR_INVALID_FUNCTION, EINVAL},   {ERROR_NEGATIVE_SEEK, EINVAL},
        {ERROR_FILE_INVALID, EINVAL},         {ERROR_NOT_SUPPORTED, ENOTSUP},     {ERROR_TOO_MANY_LINKS, EMLINK},
        {ERROR_NO_UNICODE_TRANSLATION, EILSEQ},                                   {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
        {ERROR_OPERATION_ABORTED, EINTR},     {ERROR_SEEK_ON_DEVICE, ESPIPE},     {ERROR_PATH_BUSY, EBUSY},
    };
    errno = EIO;
    for (size_t i = 0; i < RF_COUNT(known); i++)
        if (known[i].code == code) errno = known[i].e;
    return -1;
}

const char *rf__os_reason(int error)
{
    switch (error) {
    case EBUSY: return "another program has it open and does not share it";
    case EINVAL:
        return "Invalid argument (Windows has no names with * ? : < > | \" or a dot or space at the end; nul, con and "
               "com1 are devices)";
    case ELOOP: return "Too many levels of symbolic links";
    case ENOTSUP: return "Operation not supported";
    case ETIMEDOUT: return "Connection timed out";
    default: return strerror(error);
    }
}

/* The C library may end the program when it is asked about a negative number. */
HANDLE rf__os_handle(int fd)
{
    const intptr_t h = fd < 0 ? -1 : _get_osfhandle(fd);
    return h == -1 || h == -2 ? (errno = EBADF, NULL) : (HANDLE)h;
}

wchar_t *rf__os_wide(const char *text)
{
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *out = n > 0 ? malloc((size_t)n * sizeof *out) : NULL;
    if (n <= 0) errno = EILSEQ;
    else if (!out) errno = ENOMEM;
    else MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, n);
    return out;
}

char *rf__os_narrow(const wchar_t *text)
{
    const int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = n > 0 ? malloc((size_t)n) : NULL;
    if (!out) return errno = n > 0 ? ENOMEM : EILSEQ, NULL;
    WideCharToMultiByte(CP_UTF8, 0, text, -1, out, n, NULL, NULL);
    for (char *c = out; *c; c++)
        if (*c == '\\') *c = '/';
    return out;
}

bool rf__os_random_name(char *to, size_t n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < n; i++) {
        unsigned r;
        if (rand_s(&r)) return errno = EAGAIN, false;
        to[i] = letters[r % (sizeof letters - 1)];
    }
    return true;
}

/* ---- memory ---- */

const void *rf__os_map(int fd, size_t size)
{
    HANDLE h = rf__os_handle(fd);
    if (!h) return NULL;
    if (!size) return errno = EINVAL, NULL;
    HANDLE section = CreateFileMappingW(h, NULL, PAGE_READONLY, 0, 0, NULL);
    const void *p = section ? MapViewOfFile(section, FILE_MAP_READ, 0, 0, size) : NULL;
    if (!p) rf__os_error(GetLastError());
    if (section) CloseHandle(section);                                  /* the view keeps it */
    return p;
}

void rf__os_unmap(const void *data, size_t size)
{
    (void)size;
    UnmapViewOfFile(data);
}

/* Unlocking pages that are not locked fails, and removes them from the memory of the process. */
void rf__os_map_forget(const void *data, size_t size) { VirtualUnlock((void *)(uintptr_t)data, size); }

enum { LINE = 64, LARGE = 1 << 20 };    /* LINE: the alignment of every block. LARGE ones are returned to the system */

void *rf__system_alloc(void *user, size_t size)
{
    (void)user;
    if (size < LARGE) return _aligned_malloc(size ? size : 1, LINE);
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void rf__system_release(void *user, void *memory, size_t size)
{
    (void)user;
    if (size < LARGE) _aligned_free(memory);
    else if (memory) VirtualFree(memory, 0, MEM_RELEASE);
}

/* A job, as a container has, may limit the memory of a process, or of all its processes. Of the others' memory nothing
 * is known here. */
static double left_in_job(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;
    PROCESS_MEMORY_COUNTERS_EX own = {.cb = sizeof own};
    double limit = INFINITY;
    if (!QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &job, sizeof job, NULL)) return limit;
    const DWORD flags = job.BasicLimitInformation.LimitFlags;
    if (flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) limit = (double)job.ProcessMemoryLimit;
    if (flags & JOB_OBJECT_LIMIT_JOB_MEMORY) limit = fmin(limit, (double)job.JobMemoryLimit);
    if (!K32GetProcessMemoryInfo(GetCurrentProcess(), (PROCESS_MEMORY_COUNTERS *)&own, sizeof own)) return limit;
    return limit - (double)own.PrivateUsage;
}

/* Wine answers the second of two threads that ask at once with zeros. */
double rf__memory_left(void)
{
    MEMORYSTATUSEX m = {.dwLength = sizeof m};
    if (!GlobalMemoryStatusEx(&m) || !m.ullTotalPhys) return 0;
    const double most = fmin((double)m.ullAvailPhys, (double)m.ullAvailPageFile);   /* what may still be committed */
    return fmax(1, fmin(most, left_in_job()));
}

/* ---- processors ---- */

/* From build 20348 on (Server 2022, Windows 11), the threads of a process run on all groups of processors. Before, they
 * run on the 64 of its own group. */
static bool runs_on_all_groups(void)
{
    NTSTATUS(NTAPI *ask)(OSVERSIONINFOEXW *);
    OSVERSIONINFOEXW v = {.dwOSVersionInfoSize = sizeof v};
    const FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll"), "RtlGetVersion");
    memcpy(&ask, &found, sizeof ask);
    return found && NT_SUCCESS(ask(&v)) && v.dwBuildNumber >= 20348;
}

int rf_processors(void)
{
    const double most = 1 << 16;
    DWORD_PTR own = 0, all = 0;
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate;
    const double every = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    double n = every;
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all) && own && (own != all || !runs_on_all_groups()))
        n = __builtin_popcountll(own);
    if (QueryInformationJobObject(NULL, JobObjectCpuRateControlInformation, &rate, sizeof rate, NULL) &&
        rate.ControlFlags & JOB_OBJECT_CPU_RATE_CONTROL_ENABLE &&
        rate.ControlFlags & JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP)
        n = fmin(n, ceil(rate.CpuRate / 10000.0 * every));              /* in hundredths of a percent of them all */
    return (int)fmax(1, fmin(n, most));
}

/* The one of the first processor. */
size_t rf__os_cache_share(void)
{
    size_t share = 0;
    DWORD size = 0;
    GetLogicalProcessorInformationEx(RelationCache, NULL, &size);
    char *all = size ? malloc(size) : NULL;
    if (all && GetLogicalProcessorInformationEx(RelationCache, (void *)all, &size))
        for (DWORD at = 0; at < size && !share;) {
            const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *i = (const void *)(all + at);
            const CACHE_RELATIONSHIP *c = &i->Cache;
            const bool first = !c->GroupMask.Group && c->GroupMask.Mask & 1;
            if (c->Level == 2 && c->Type != CacheInstruction && first)
                share = c->CacheSize / (size_t)__builtin_popcountll(c->GroupMask.Mask);
            at += i->Size ? i->Size : size;
        }
    free(all);
    return share;
}

/* ---- the process, threads, time ---- */

long rf__os_process(void) { return (long)GetCurrentProcessId(); }

/* OpenProcess ignores the last two bits of the number. */
bool rf__os_process_ended(long process)
{
    if (process <= 0) return false;
    HANDLE h = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)process);
    if (!h) return GetLastError() == ERROR_INVALID_PARAMETER;
    const bool ended = GetProcessId(h) != (DWORD)process || WaitForSingleObject(h, 0) == WAIT_OBJECT_0;
    CloseHandle(h);
    return ended;
}

/* Windows does not list locks: a process that runs may have one. */
bool rf__os_process_locks(long process) { return process > 0 && !rf__os_process_ended(process); }

void rf__os_host(char *name, size_t size)
{
    wchar_t w[256];
    DWORD n = sizeof w / sizeof *w;
    *name = 0;
    if (GetComputerNameExW(ComputerNameDnsHostname, w, &n) &&
        !WideCharToMultiByte(CP_UTF8, 0, w, -1, name, (int)size, NULL, NULL))
        *name = 0;
}

bool rf__os_self(char *path, size_t size)
{
    enum { SIZE = 32768 };
    wchar_t *w = malloc(SIZE * sizeof *w);
    const DWORD n = w ? GetModuleFileNameW(NULL, w, SIZE) : 0;
    char *own = n && n < SIZE ? rf__os_narrow(w) : NULL;
    const char *from = own && !strncmp(own, "//?/", 4) ? own + 4 : own;
    const bool fits = from && strlen(from) < size;
    snprintf(path, size, "%s", fits ? from : "");
    free(own);
    free(w);
    return fits;
}

double rf__os_memory(void)
{
    PROCESS_MEMORY_COUNTERS c;
    return GetProcessMemoryInfo(GetCurrentProcess(), &c, sizeof c) ? (double)c.WorkingSetSize : 0;
}

int rf__os_open_files(void)
{
    DWORD n;
    return GetProcessHandleCount(GetCurrentProcess(), &n) ? (int)n : 0;
}

static pthread_once_t places = PTHREAD_ONCE_INIT;
static char place[4096] = "C:/Windows/Temp";

static void ask_for_place(void)
{
    wchar_t w[MAX_PATH + 2];
    const DWORD n = GetTempPathW(MAX_PATH + 2, w);
    char *own = n && n < MAX_PATH + 2 ? rf__os_narrow(w) : NULL;
    size_t end = own ? strlen(own) : 0;
    while (end > 3 && own[end - 1] == '/') own[--end] = 0;
    if (end) snprintf(place, sizeof place, "%s", own);
    free(own);
}

const char *rf__os_temporary_place(void)
{
    pthread_once(&places, ask_for_place);
    return place;
}

/* Signals do not exist. */
int rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    return pthread_create(out, NULL, body, user);
}

int rf__worker_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    return rf__thread_start(out, body, user);
}

int rf__os_condition(pthread_cond_t *out) { return pthread_cond_init(out, NULL); }

/* winpthreads counts in milliseconds, and takes a time from now on, which does not depend on the wall clock. */
void rf__os_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double until)
{
    const double milliseconds = ceil(fmax(0, fmin(until - rf__seconds(), 1e6)) * 1000);
    const struct timespec left = {.tv_sec = (time_t)(milliseconds / 1000),
                                  .tv_nsec = (long)fmod(milliseconds, 1000) * 1000000};
    if (until > 1e300) pthread_cond_wait(c, lock);
    else pthread_cond_timedwait_relative_np(c, lock, &left);
}

void rf__os_sleep(double seconds)
{
    for (double left = ceil(seconds * 1000); left > 0; left -= 1e9) Sleep((DWORD)fmin(left, 1e9));
}

bool rf__os_utc(time_t t, struct tm *out) { return !_gmtime64_s(out, &t); }
bool rf__os_local(time_t t, struct tm *out) { return !_localtime64_s(out, &t); }

size_t rf__os_date(char *out, size_t size, const char *format, const struct tm *t)
{
    for (const char *c = format; *c; c++)
        if (*c == '%' && (!*++c || !strchr("aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyY%", *c))) return 0;
    return strftime(out, size, format, t);
}

/* ---- text: a temporary file that disappears, and that the system keeps in memory while it is short ---- */

bool rf__os_text_open(rf__os_text *t)
{
    enum { TRIES = 1000, SIZE = sizeof place + 32 };
    char path[SIZE], name[9] = "";
    HANDLE h = INVALID_HANDLE_VALUE;
    *t = (rf__os_text){.text = NULL};
    for (int i = 0; i < TRIES && h == INVALID_HANDLE_VALUE; i++) {
        if (!rf__os_random_name(name, sizeof name - 1)) return false;
        snprintf(path, sizeof path, "%s/rf-%s.txt", rf__os_temporary_place(), name);
        wchar_t *w = rf__os_wide(path);
        if (!w) return false;
        h = CreateFileW(w, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_NEW,
                        FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
        const DWORD code = GetLastError();
        free(w);
        if (h == INVALID_HANDLE_VALUE && code != ERROR_FILE_EXISTS) return !rf__os_error(code);
    }
    const int fd = h == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)h, _O_BINARY | _O_NOINHERIT);
    if (fd >= 0 && !(t->to = _fdopen(fd, "w+b"))) _close(fd);
    if (fd < 0 && h != INVALID_HANDLE_VALUE) CloseHandle(h);
    return t->to != NULL;
}

bool rf__os_text_close(rf__os_text *t)
{
    FILE *f = t->to;
    t->to = NULL;
    if (!f) return false;
    const bool whole = !ferror(f) && !fflush(f) && !_fseeki64(f, 0, SEEK_END);
    const int64_t size = whole ? _ftelli64(f) : -1;
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    rewind(f);
    if (text && fread(text, 1, (size_t)size, f) == (size_t)size) {
        text[size] = 0;
        t->text = text;
        t->size = (size_t)size;
    } else {
        free(text);
    }
    fclose(f);
    return t->text != NULL;
}

/* ---- the terminal ---- */

bool rf__os_terminal(int fd)
{
    DWORD mode;
    HANDLE h = rf__os_handle(fd);
    return h && GetConsoleMode(h, &mode);
}

int rf__os_columns(int fd)
{
    CONSOLE_SCREEN_BUFFER_INFO i;
    HANDLE h = rf__os_handle(fd);
    return h && GetConsoleScreenBufferInfo(h, &i) ? i.srWindow.Right - i.srWindow.Left + 1 : 0;
}

/* make_console.c — Windows: runs a program in a console of its own, for tests of consoles.
 *
 *     make_console COLUMNS PROGRAM ARGUMENT...
 *
 * Each byte of standard input is Ctrl-C. Standard output gets what the console shows, with its escape sequences. The
 * exit code is that of the program. */
#undef _WIN32_WINNT
#undef NTDDI_VERSION
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000006

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <windows.h>

static HANDLE shown;                                    /* what the console shows */

static DWORD WINAPI show(void *user)
{
    char bytes[4096];
    DWORD n, wrote;
    (void)user;
    while (ReadFile(shown, bytes, sizeof bytes, &n, NULL) && n)
        if (!WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), bytes, n, &wrote, NULL)) break;
    return 0;
}

static DWORD WINAPI press(void *keys)
{
    char byte;
    DWORD n;
    while (ReadFile(keys, &byte, 1, &n, NULL) && n) GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    return 0;
}

/* The command line from argument n on, as it was given. */
static wchar_t *line_from(int n)
{
    wchar_t *at = GetCommandLineW();
    for (int skipped = 0; skipped < n; skipped++) {
        bool quoted = false;
        for (; *at && (quoted || *at != L' '); at++)
            if (*at == L'"') quoted = !quoted;
        while (*at == L' ') at++;
    }
    return at;
}

static int fail(const char *what)
{
    fprintf(stderr, "make_console: %s: error %lu\n", what, GetLastError());
    return 125;
}

static DWORD code_of(const PROCESS_INFORMATION *child)
{
    DWORD code = 125;
    WaitForSingleObject(child->hProcess, INFINITE);
    GetExitCodeProcess(child->hProcess, &code);
    return code;
}

static BOOL WINAPI go_on(DWORD event)
{
    (void)event;
    return TRUE;
}

/* In the console: wine gives the program no standard files there, if nobody does. */
static int inside(HANDLE keys)
{
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    const DWORD access = GENERIC_READ | GENERIC_WRITE, share = FILE_SHARE_READ | FILE_SHARE_WRITE;
    HANDLE in = CreateFileW(L"CONIN$", access, share, &inherited, OPEN_EXISTING, 0, NULL);
    HANDLE out = CreateFileW(L"CONOUT$", access, share, &inherited, OPEN_EXISTING, 0, NULL);
    STARTUPINFOW begin = {.cb = sizeof begin, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = in, .hStdOutput = out,
                          .hStdError = out};
    PROCESS_INFORMATION child;
    SetConsoleCtrlHandler(go_on, TRUE);
    SetHandleInformation(keys, HANDLE_FLAG_INHERIT, 0);
    if (!CreateProcessW(NULL, line_from(3), NULL, NULL, TRUE, 0, NULL, NULL, &begin, &child)) return 126;
    if (!CreateThread(NULL, 0, press, keys, 0, NULL)) return 125;
    return (int)code_of(&child);
}

int main(int argc, char **argv)
{
    HANDLE typed, unused, screen, keys, self = GetCurrentProcess();
    HPCON console;
    SIZE_T size = 0;
    PROCESS_INFORMATION child;
    STARTUPINFOEXW begin = {.StartupInfo.cb = sizeof begin, .StartupInfo.dwFlags = STARTF_USESTDHANDLES};
    wchar_t own[MAX_PATH], line[8192];
    if (argc < 3) return fail("expected COLUMNS PROGRAM ARGUMENT...");
    if (!strcmp(argv[1], "inside")) return inside((HANDLE)(intptr_t)atoll(argv[2]));
    if (!CreatePipe(&typed, &unused, NULL, 0) || !CreatePipe(&shown, &screen, NULL, 0)) return fail("a pipe");
    if (CreatePseudoConsole((COORD){(SHORT)atoi(argv[1]), 50}, typed, screen, 0, &console)) return fail("a console");
    CloseHandle(typed);
    CloseHandle(screen);
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    begin.lpAttributeList = malloc(size);
    if (!begin.lpAttributeList || !InitializeProcThreadAttributeList(begin.lpAttributeList, 1, 0, &size) ||
        !UpdateProcThreadAttribute(begin.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, console,
                                   sizeof console, NULL, NULL))
        return fail("the console's attribute");
    GetModuleFileNameW(NULL, own, MAX_PATH);
    if (!DuplicateHandle(self, GetStdHandle(STD_INPUT_HANDLE), self, &keys, 0, TRUE, DUPLICATE_SAME_ACCESS))
        return fail("standard input");
    _snwprintf(line, sizeof line / sizeof *line, L"make_console inside %lld %ls",
               (long long)(intptr_t)keys, line_from(2));
    if (!CreateProcessW(own, line, NULL, NULL, TRUE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL, &begin.StartupInfo,
                        &child))
        return fail("the program");
    HANDLE shows = CreateThread(NULL, 0, show, NULL, 0, NULL);
    if (!shows) return fail("a thread");
    const DWORD code = code_of(&child);
    ClosePseudoConsole(console);                        /* ends what is shown */
    WaitForSingleObject(shows, 5000);
    ExitProcess(code);
}

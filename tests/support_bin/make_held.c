/* make_held.c — Windows: opens a file without sharing it, as some programs do, until standard input ends.
 *
 *     make_held FILE [SECONDS]             it prints a line when it has the file; SECONDS: it closes it after them */
#include <stdio.h>
#include <stdlib.h>

#include <windows.h>

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    HANDLE h = CreateFileA(argv[1], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    if (h == INVALID_HANDLE_VALUE) {
        fprintf(stderr, "make_held: %s: error %lu\n", argv[1], GetLastError());
        return 1;
    }
    puts("held");
    fflush(stdout);
    if (argc > 2) Sleep((DWORD)(1000 * atof(argv[2])));
    else while (getchar() != EOF) {}
    CloseHandle(h);
    return 0;
}

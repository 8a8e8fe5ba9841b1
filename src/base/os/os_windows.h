/* os_windows.h — what os_windows.c and os_windows_files.c share. Include it first: it selects Windows 10. */
#ifndef RF_OS_WINDOWS_H
#define RF_OS_WINDOWS_H

#undef _WIN32_WINNT
#undef NTDDI_VERSION
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000004
#define WIN32_LEAN_AND_MEAN
#define WIN32_NO_STATUS
#define _CRT_RAND_S
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>

#include "base/os/os.h"

int rf__os_error(DWORD code);                           /* sets errno from a code of GetLastError; -1 */
HANDLE rf__os_handle(int fd);                           /* NULL: errno is EBADF */
wchar_t *rf__os_wide(const char *text);                 /* UTF-16 of UTF-8; free(). NULL: errno is EILSEQ or ENOMEM */
char *rf__os_narrow(const wchar_t *text);               /* UTF-8, with '/' for '\'; free() */
bool rf__os_random_name(char *to, size_t n);            /* n letters and digits, without a zero; false: errno */

/* ---- files: os_windows_files.c has these, os_windows_folders.c what os.h says about names and folders ---- */

enum { RF__NT_PART = 255 };                             /* characters of a name in a folder */

struct rf__os_folder {
    HANDLE handle, lister;                              /* the folder; another handle for the list, or the same */
    bool begins;                                        /* the next list is the first one */
    size_t at, end;                                     /* in `list`; at == end: read the next list */
    _Alignas(8) unsigned char list[65536];
    char name[3 * RF__NT_PART + 1];
};

/* A name of NtCreateFile. */
typedef struct rf__nt_name {
    HANDLE root;                                        /* the folder of a relative name; or NULL */
    wchar_t *text;                                      /* free() */
    bool folder;                                        /* it ends with a separator */
} rf__nt_name;

/* name_of    from UTF-8; f NULL: of a path. false: errno
 * open_once  a handle that shares everything
 * open       the same; tries again if another program does not share the file, or if it is being deleted. NULL: errno
 * fail       sets errno, returns -1; n may be NULL
 * sleep      before another try; false: the last one was after about a second
 * identity   volume and number of an open file */
bool rf__nt_name_of(const rf__os_folder *f, const char *path, rf__nt_name *out);
NTSTATUS rf__nt_open_once(const rf__nt_name *n, ACCESS_MASK access, ULONG disposition, ULONG options, HANDLE *out);
HANDLE rf__nt_open(const rf__nt_name *n, ACCESS_MASK access, ULONG disposition, ULONG options);
int rf__nt_fail(NTSTATUS s, const rf__nt_name *n);
bool rf__nt_sleep(int *tries);
bool rf__nt_is_link(HANDLE h);
bool rf__nt_identity(HANDLE h, rf__os_state *out);

#endif

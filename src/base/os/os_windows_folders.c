/* os_windows_folders.c — renames and removes files, lists folders, makes temporary files (os.h) on Windows.
 *
 * NTFS renames and removes with POSIX semantics: the name disappears at once, and open handles keep the old file. Other
 * file systems (FAT, network) refuse to replace a file that is open, and keep the name of a removed one until it is
 * closed. Such a file is first renamed to NAME.tmp-PROCESS-N. A rename over it is then not atomic: there is no file for
 * a moment. If it cannot be removed because it is mapped, it stays under that name. */
#include "base/os/os_windows.h"
#include "base/os/os_new.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/base.h"

/* Newer than the header's list of classes. */
enum { RENAME = 10, DISPOSE = 13, DISPOSE_EX = 64, RENAME_EX = 65 };
enum { REPLACE = 1, POSIX = 2, OLD_READ_ONLY = 64 };                    /* flags of RENAME_EX */
enum { REMOVE = 1, REMOVE_POSIX = 2, REMOVE_READ_ONLY = 16 };           /* flags of DISPOSE_EX */

static NTSTATUS set(HANDLE h, int class, void *what, size_t size)
{
    IO_STATUS_BLOCK io;
    return NtSetInformationFile(h, &io, what, (ULONG)size, (FILE_INFORMATION_CLASS)class);
}

/* The file system, or an older Windows, does not know this class or one of its flags. */
static bool unknown(NTSTATUS s)
{
    return s == STATUS_INVALID_INFO_CLASS || s == STATUS_NOT_SUPPORTED || s == STATUS_NOT_IMPLEMENTED ||
           s == STATUS_INVALID_PARAMETER || s == STATUS_INVALID_DEVICE_REQUEST;
}

static bool denied(NTSTATUS s)
{
    return s == STATUS_ACCESS_DENIED || s == STATUS_SHARING_VIOLATION || s == STATUS_CANNOT_DELETE ||
           s == STATUS_DELETE_PENDING || s == STATUS_USER_MAPPED_FILE;
}

/* ---- renaming ---- */

typedef struct renaming {
    union { ULONG flags; BOOLEAN replace; } how;
    HANDLE root;
    ULONG bytes;
    wchar_t name[];
} renaming;
_Static_assert(offsetof(renaming, name) == offsetof(FILE_RENAME_INFO, FileName), "the layout of Windows");

static NTSTATUS rename_handle(HANDLE h, const wchar_t *to, int class, ULONG how)
{
    const size_t bytes = wcslen(to) * sizeof *to, size = sizeof(renaming) + bytes;
    renaming *r = calloc(1, size);
    if (!r) return STATUS_NO_MEMORY;
    if (class == RENAME) r->how.replace = how != 0;
    else r->how.flags = how;
    r->bytes = (ULONG)bytes;
    memcpy(r->name, to, bytes);
    const NTSTATUS s = set(h, class, r, size);
    free(r);
    return s;
}

static NTSTATUS remove_handle(HANDLE h)
{
    ULONG flags = REMOVE | REMOVE_POSIX | REMOVE_READ_ONLY;
    NTSTATUS s = set(h, DISPOSE_EX, &flags, sizeof flags);
    if (!unknown(s)) return s;
    flags = REMOVE | REMOVE_POSIX;                                      /* before Windows 10 1809 */
    return set(h, DISPOSE_EX, &flags, sizeof flags);
}

/* Removal without POSIX semantics: when the last handle is closed. */
static NTSTATUS remove_later(HANDLE h)
{
    BOOLEAN remove = TRUE;
    return set(h, DISPOSE, &remove, sizeof remove);
}

/* Renames the open file `name` to a free name. NULL: it cannot be done. */
static wchar_t *set_aside(HANDLE h, const wchar_t *name)
{
    enum { TRIES = 100, MORE = 40 };
    static atomic_uint number;
    const size_t n = wcslen(name) + MORE;
    wchar_t *other = malloc(n * sizeof *other);
    for (int i = 0; other && i < TRIES; i++) {
        _snwprintf(other, n, L"%ls.tmp-%lu-%u", name, GetCurrentProcessId(), atomic_fetch_add(&number, 1));
        const NTSTATUS s = rename_handle(h, other, RENAME, 0);
        if (NT_SUCCESS(s)) return other;
        if (s != STATUS_OBJECT_NAME_COLLISION) break;
    }
    free(other);
    return NULL;
}

/* `denial` is returned if it cannot be done either. */
static NTSTATUS replace_open(HANDLE h, const rf__nt_name *to, NTSTATUS denial)
{
    rf__os_state from = {.size = 0}, old = {.size = 1};
    HANDLE t;
    if (!NT_SUCCESS(rf__nt_open_once(to, DELETE | FILE_READ_ATTRIBUTES, FILE_OPEN,
                                     FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, &t)))
        return denial;
    NTSTATUS s = denial;
    const bool known = rf__nt_identity(h, &from) && rf__nt_identity(t, &old);
    if (known && rf__os_same(&from, &old)) {                            /* the same file: perhaps another case */
        s = rename_handle(h, to->text, RENAME, 0);
        if (s == STATUS_OBJECT_NAME_COLLISION) s = STATUS_SUCCESS;
    } else if (known) {
        wchar_t *aside = set_aside(t, to->text);
        if (aside) {
            s = rename_handle(h, to->text, RENAME, 0);
            if (!NT_SUCCESS(s)) rename_handle(t, to->text, RENAME, 0);
            else if (!NT_SUCCESS(remove_handle(t))) remove_later(t);
        }
        free(aside);
    }
    NtClose(t);
    return s;
}

static NTSTATUS rename_once(HANDLE h, const rf__nt_name *to, bool folder)
{
    const ULONG replace = folder ? 0 : REPLACE;
    NTSTATUS s = rename_handle(h, to->text, RENAME_EX, replace | POSIX | OLD_READ_ONLY);
    if (unknown(s)) s = rename_handle(h, to->text, RENAME_EX, replace | POSIX);
    if (unknown(s)) s = rename_handle(h, to->text, RENAME, replace);
    return denied(s) && !folder ? replace_open(h, to, s) : s;
}

static bool is_folder(HANDLE h)
{
    FILE_STANDARD_INFO s;
    return GetFileInformationByHandleEx(h, FileStandardInfo, &s, sizeof s) && s.Directory && !rf__nt_is_link(h);
}

/* POSIX's errno for what cannot replace each other. Windows denies access if another program does not share the file:
 * opening it tells. */
static int fail_rename(NTSTATUS s, const rf__nt_name *to, bool folder)
{
    HANDLE t;
    if (s == STATUS_ACCESS_DENIED && !folder) {
        const NTSTATUS own = rf__nt_open_once(to, DELETE, FILE_OPEN, FILE_OPEN_REPARSE_POINT, &t);
        if (NT_SUCCESS(own)) NtClose(t);
        else if (own == STATUS_SHARING_VIOLATION) s = own;
    }
    if (NT_SUCCESS(rf__nt_open_once(to, FILE_READ_ATTRIBUTES, FILE_OPEN, FILE_OPEN_REPARSE_POINT, &t))) {
        const bool onto = is_folder(t);
        NtClose(t);
        if (onto || folder) {
            errno = !folder ? EISDIR : onto ? EEXIST : ENOTDIR;
            return -1;
        }
    }
    return rf__nt_fail(s, to);
}

int rf__os_rename(const char *from, const char *to)
{
    rf__nt_name a, b;
    int failed = -1;
    if (!rf__nt_name_of(NULL, from, &a)) return -1;
    if (!rf__nt_name_of(NULL, to, &b)) {
        free(a.text);
        return -1;
    }
    for (int tries = 0;;) {
        HANDLE h = rf__nt_open(&a, DELETE | FILE_READ_ATTRIBUTES, FILE_OPEN,
                               FILE_OPEN_REPARSE_POINT | FILE_WRITE_THROUGH);   /* also the name is synced */
        if (!h) break;
        const bool folder = is_folder(h);
        const NTSTATUS s = rename_once(h, &b, folder);
        NtClose(h);
        failed = NT_SUCCESS(s) ? 0 : -1;
        if (!failed || (denied(s) && rf__nt_sleep(&tries))) {
            if (!failed) break;
            continue;
        }
        fail_rename(s, &b, folder);
        break;
    }
    free(a.text);
    free(b.text);
    return failed;
}

/* ---- removing ---- */

static NTSTATUS remove_once(HANDLE h, const rf__nt_name *n, bool folder)
{
    NTSTATUS s = remove_handle(h);
    if (!unknown(s) || folder) return unknown(s) ? remove_later(h) : s;
    wchar_t *aside = set_aside(h, n->text);                             /* the name is free at once */
    s = remove_later(h);
    if (aside && !NT_SUCCESS(s)) rename_handle(h, n->text, RENAME, 0);
    free(aside);
    return s;
}

static int remove_name(const char *path, bool folder)
{
    rf__nt_name n;
    int failed = -1;
    if (!rf__nt_name_of(NULL, path, &n)) return -1;
    for (int tries = 0;;) {
        HANDLE h = rf__nt_open(&n, DELETE | FILE_READ_ATTRIBUTES, FILE_OPEN, FILE_OPEN_REPARSE_POINT);
        if (!h) break;
        const bool right = is_folder(h) == folder;
        const NTSTATUS s = right ? remove_once(h, &n, folder) : folder ? STATUS_NOT_A_DIRECTORY
                                                                       : STATUS_FILE_IS_A_DIRECTORY;
        NtClose(h);
        if (NT_SUCCESS(s)) failed = 0;
        else if (denied(s) && rf__nt_sleep(&tries)) continue;
        else rf__nt_fail(s, &n);
        break;
    }
    free(n.text);
    return failed;
}

int rf__os_remove(const char *path) { return remove_name(path, false); }
int rf__os_remove_folder(const char *path) { return remove_name(path, true); }

int rf__os_make_folder(const char *path)
{
    rf__nt_name n;
    rf__os_state st;
    if (!rf__nt_name_of(NULL, path, &n)) return -1;
    HANDLE h = rf__nt_open(&n, FILE_LIST_DIRECTORY, FILE_CREATE, FILE_DIRECTORY_FILE);
    const int e = errno;
    free(n.text);
    if (h) return NtClose(h), 0;
    errno = e == EACCES && !rf__os_look(path, &st) ? EEXIST : e;         /* the root of a volume */
    return -1;
}

/* Not all file systems can; rf__os_rename does not need it. */
int rf__os_sync_folder(const char *path)
{
    rf__nt_name n;
    HANDLE h;
    if (!rf__nt_name_of(NULL, path, &n)) return -1;
    const NTSTATUS s = rf__nt_open_once(&n, FILE_ADD_FILE, FILE_OPEN, FILE_DIRECTORY_FILE, &h);
    if (NT_SUCCESS(s)) {
        FlushFileBuffers(h);
        NtClose(h);
    }
    const int failed = NT_SUCCESS(s) || s == STATUS_ACCESS_DENIED ? 0 : rf__nt_fail(s, &n);
    free(n.text);
    return failed;
}

/* ---- folders ---- */

enum { LISTS = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES };

rf__os_folder *rf__os_folder_open(const char *path)
{
    rf__nt_name n;
    rf__os_folder *f = malloc(sizeof *f);
    if (!f || !rf__nt_name_of(NULL, path, &n)) {
        free(f);
        return NULL;
    }
    f->lister = f->handle = rf__nt_open(&n, LISTS, FILE_OPEN, FILE_DIRECTORY_FILE);
    const int e = errno;
    free(n.text);
    f->begins = true;
    f->at = f->end = 0;
    if (f->handle) return f;
    free(f);
    errno = e;
    return NULL;
}

void rf__os_folder_close(rf__os_folder *f)
{
    if (f && f->lister != f->handle) NtClose(f->lister);
    if (f) NtClose(f->handle);
    free(f);
}

/* Opens the folder by its own handle: wine reads the names only once for each handle. */
void rf__os_again(rf__os_folder *f)
{
    wchar_t nothing[] = L"";
    const rf__nt_name own = {f->handle, nothing, false};
    HANDLE h;
    if (!f->begins && NT_SUCCESS(rf__nt_open_once(&own, LISTS, FILE_OPEN, FILE_DIRECTORY_FILE, &h))) {
        if (f->lister != f->handle) NtClose(f->lister);
        f->lister = h;
    }
    f->begins = true;
    f->at = f->end = 0;
}

static rf__os_kind kind_of(DWORD attributes)
{
    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT) return RF__OS_UNKNOWN;
    return attributes & FILE_ATTRIBUTE_DIRECTORY ? RF__OS_FOLDER : RF__OS_FILE;
}

const char *rf__os_next(rf__os_folder *f, rf__os_kind *kind)
{
    for (;;) {
        if (f->at == f->end) {
            const FILE_INFO_BY_HANDLE_CLASS class =
                f->begins ? FileIdBothDirectoryRestartInfo : FileIdBothDirectoryInfo;
            if (!GetFileInformationByHandleEx(f->lister, class, f->list, sizeof f->list)) return NULL;
            f->begins = false;
            f->at = 0;
            f->end = sizeof f->list;
        }
        const FILE_ID_BOTH_DIR_INFO *e = (const void *)(f->list + f->at);
        f->at = e->NextEntryOffset ? f->at + e->NextEntryOffset : f->end;
        const int length = (int)(e->FileNameLength / sizeof *e->FileName);
        const int n = WideCharToMultiByte(CP_UTF8, 0, e->FileName, length, f->name, sizeof f->name - 1, NULL, NULL);
        f->name[n] = 0;
        if (!n || !strcmp(f->name, ".") || !strcmp(f->name, "..")) continue;
        if (kind) *kind = kind_of(e->FileAttributes);
        return f->name;
    }
}

/* ---- paths and volumes ---- */

/* Some file systems do not tell the final path; then links in it stay. */
char *rf__os_whole_path(const char *path)
{
    enum { SIZE = 32768 };
    rf__nt_name n;
    char *out = NULL;
    if (!rf__nt_name_of(NULL, path, &n)) return NULL;
    HANDLE h = rf__nt_open(&n, FILE_READ_ATTRIBUTES, FILE_OPEN, n.folder ? FILE_DIRECTORY_FILE : 0);
    wchar_t *w = h ? malloc(SIZE * sizeof *w) : NULL;
    if (w) {
        const DWORD got = GetFinalPathNameByHandleW(h, w, SIZE, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
        if (!got || got >= SIZE) wcscpy(w, n.text)[1] = L'\\';          /* \??\ becomes \\?\ */
        const bool share = !wcsncmp(w, L"\\\\?\\UNC\\", 8), special = !wcsncmp(w, L"\\\\?\\", 4);
        if (share) w[6] = L'\\';                                        /* \\?\UNC\server becomes \\server */
        out = rf__os_narrow(w + (share ? 6 : special ? 4 : 0));
    }
    const int e = h && !w ? ENOMEM : errno;
    free(w);
    free(n.text);
    if (h) NtClose(h);
    errno = e;
    return out;
}

double rf__os_free_space(const char *folder)
{
    rf__nt_name n;
    FILE_FS_SIZE_INFORMATION s;
    IO_STATUS_BLOCK io;
    if (!rf__nt_name_of(NULL, folder, &n)) return -1;
    HANDLE h = rf__nt_open(&n, FILE_READ_ATTRIBUTES, FILE_OPEN, 0);
    free(n.text);
    if (!h) return -1;
    const NTSTATUS status = NtQueryVolumeInformationFile(h, &io, &s, sizeof s, FileFsSizeInformation);
    NtClose(h);
    if (!NT_SUCCESS(status)) return rf__nt_fail(status, NULL);
    return (double)s.AvailableAllocationUnits.QuadPart * s.SectorsPerAllocationUnit * s.BytesPerSector;
}

/* ---- temporary files ---- */

/* The access list of the folder says who may use the file, not the mode. */
int rf__os_temporary_file(char *pattern, unsigned mode)
{
    (void)mode;
    return rf__os_make_new(pattern, false, rf__os_random_name);
}

int rf__os_temporary_folder(char *pattern) { return rf__os_make_new(pattern, true, rf__os_random_name); }
unsigned rf__os_new_mode(void) { return 0644; }

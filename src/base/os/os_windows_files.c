/* os_windows_files.c — opens, reads, writes and examines files (os.h) on Windows 10 and later.
 *
 * Everything is opened by NtCreateFile: it opens names relative to a folder handle, has no limit of 260 characters, and
 * says what failed more exactly than CreateFile. Names are made absolute by GetFullPathName and begin with \??\.
 *
 * Reading at an offset moves the position of a handle. A lock per descriptor therefore covers the read and the
 * restoring of the position. The system itself runs one operation at a time on such a handle: the lock costs little. */
#include "base/os/os_windows.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <winioctl.h>

#include "base/base.h"

enum {
    MOST = 8192,                        /* descriptors that the C library can have */
    PIECE = 1 << 30,                    /* bytes of one call of the system */
    SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE
};

static SRWLOCK lock_of[MOST];                                           /* zero: SRWLOCK_INIT */
static unsigned char mark_of[MOST];
enum { APPENDS = 1, LOCKED = 2 };

/* ---- names ---- */

static bool fits(const wchar_t *text)
{
    size_t all = 0;
    for (size_t n = 0; *text; text++, all++) {
        n = *text == L'\\' ? 0 : n + 1;
        if (n > RF__NT_PART || all > 32000) return errno = ENAMETOOLONG, false;
    }
    return true;
}

/* Leaves out the parts "." and empty ones, which only Win32 understands. */
static void make_plain(wchar_t *text)
{
    wchar_t *to = text;
    for (const wchar_t *from = text; *from;) {
        const size_t n = wcscspn(from, L"\\");
        if (n && !(n == 1 && *from == L'.')) {
            if (to != text) *to++ = L'\\';
            wmemmove(to, from, n);
            to += n;
        }
        from += n + (from[n] != 0);
    }
    *to = 0;
}

/* \??\C:\a of a path; \??\UNC\server\share\a of \\server\share\a. NULL: errno. */
static wchar_t *absolute(const wchar_t *path)
{
    const bool verbatim = !wcsncmp(path, L"\\\\?\\", 4);
    const size_t n = verbatim ? wcslen(path) + 1 : GetFullPathNameW(path, 0, NULL, NULL);
    wchar_t *full = n ? malloc((n + 8) * sizeof *full) : NULL;
    if (!full) return n ? (errno = ENOMEM, NULL) : (rf__os_error(GetLastError()), NULL);
    wchar_t *const at = full + 8;                                       /* \??\UNC fits before it */
    const size_t got = verbatim ? wcslen(wmemcpy(at, path, n)) : GetFullPathNameW(path, (DWORD)n, at, NULL);
    if (!got || got >= n) {                                             /* the current folder changed meanwhile */
        free(full);
        return errno = ENOENT, NULL;
    }
    const bool special = got > 3 && at[0] == L'\\' && at[1] == L'\\' && wcschr(L".?", at[2]) && at[3] == L'\\';
    const bool share = !special && at[0] == L'\\' && at[1] == L'\\';
    const wchar_t *const rest = at + (special ? 4 : share ? 2 : 0), *const begin = share ? L"\\??\\UNC\\" : L"\\??\\";
    const size_t before = wcslen(begin);
    wmemmove(full + before, rest, wcslen(rest) + 1);
    return wmemcpy(full, begin, before);
}

/* A device's name, with any ending: nul, com1, com¹, nul.tar.gz. */
static bool is_device(const wchar_t *part, size_t n)
{
    static const wchar_t *const names[] = {L"con", L"prn", L"aux", L"nul", L"conin$", L"conout$"};
    size_t size = 0;
    while (size < n && part[size] != L'.') size++;
    while (size && part[size - 1] == L' ') size--;
    for (size_t i = 0; i < RF_COUNT(names); i++)
        if (size == wcslen(names[i]) && !_wcsnicmp(part, names[i], size)) return true;
    const bool port = size == 4 && (!_wcsnicmp(part, L"com", 3) || !_wcsnicmp(part, L"lpt", 3));
    return port && ((part[3] >= L'1' && part[3] <= L'9') || wcschr(L"\u00b9\u00b2\u00b3", part[3]));
}

/* Whether Windows would take the name for that of something else: it drops dots and spaces at the end of a part. A path
 * that is a device's name alone is meant to be one. */
static bool is_other(const wchar_t *text, bool path)
{
    const bool alone = path && !wcschr(text, L'\\') && !wcschr(text, L'.');
    if (!wcsncmp(text, L"\\\\?\\", 4) || !wcsncmp(text, L"\\\\.\\", 4)) return false;
    if (path && *text && text[1] == L':') text += 2;
    while (*text) {
        const size_t n = wcscspn(text, L"\\");
        const bool dots = (n == 1 && *text == L'.') || (n == 2 && !wcsncmp(text, L"..", 2));
        if (n && !dots && (text[n - 1] == L'.' || text[n - 1] == L' ')) return true;
        if (wmemchr(text, L':', n) || (!alone && is_device(text, n))) return true;
        text += n + (text[n] != 0);
    }
    return false;
}

bool rf__nt_name_of(const rf__os_folder *f, const char *path, rf__nt_name *out)
{
    wchar_t *text = rf__os_wide(path);
    *out = (rf__nt_name){.text = text};
    if (!text) return false;
    for (wchar_t *c = text; *c; c++)
        if (*c == L'/') *c = L'\\';
    const size_t n = wcslen(text);
    if (is_other(text, !f)) {
        free(text);
        errno = EINVAL;
        return false;
    }
    if (f && *text != L'\\') {
        out->root = f->handle;
        make_plain(text);
    } else {
        out->text = n ? absolute(text) : NULL;
        free(text);
    }
    if (!n) errno = ENOENT;
    if (!n || !out->text || !fits(out->text)) {
        free(out->text);
        return false;
    }
    size_t end = wcslen(out->text);
    out->folder = path[strlen(path) - 1] == '/' || path[strlen(path) - 1] == '\\';
    while (end > 6 && out->text[end - 1] == L'\\' && out->text[end - 2] != L':') out->text[--end] = 0;
    return true;
}

/* ---- opening ---- */

bool rf__nt_sleep(int *tries)
{
    if (*tries >= 40) return false;
    Sleep(*tries < 5 ? 1U << *tries : 25);
    return ++*tries;
}

NTSTATUS rf__nt_open_once(const rf__nt_name *n, ACCESS_MASK access, ULONG disposition, ULONG options, HANDLE *out)
{
    const USHORT bytes = (USHORT)(wcslen(n->text) * sizeof *n->text);
    UNICODE_STRING text = {bytes, bytes, n->text};
    OBJECT_ATTRIBUTES what = {.Length = sizeof what, .RootDirectory = n->root, .ObjectName = &text,
                              .Attributes = OBJ_CASE_INSENSITIVE};
    IO_STATUS_BLOCK io;
    return NtCreateFile(out, access | SYNCHRONIZE, &what, &io, NULL, FILE_ATTRIBUTE_NORMAL, SHARED, disposition,
                        options | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
}

/* Whether a part of the path before the last one is a file: ENOTDIR, not ENOENT. */
static bool file_in_path(const rf__nt_name *n)
{
    bool file = false, found = false;
    const ptrdiff_t least = n->root ? 0 : 6;                            /* \??\C: */
    rf__nt_name parent = {n->root, _wcsdup(n->text), false};
    for (wchar_t *end; !found && parent.text && (end = wcsrchr(parent.text, L'\\')) && end - parent.text > least;) {
        HANDLE h;
        *end = 0;
        const NTSTATUS s = rf__nt_open_once(&parent, FILE_READ_ATTRIBUTES, FILE_OPEN, FILE_NON_DIRECTORY_FILE, &h);
        file = NT_SUCCESS(s);
        found = file || s == STATUS_FILE_IS_A_DIRECTORY;
        if (file) NtClose(h);
    }
    free(parent.text);
    return file;
}

int rf__nt_fail(NTSTATUS s, const rf__nt_name *n)
{
    switch (s) {
    case STATUS_FILE_IS_A_DIRECTORY: errno = EISDIR; return -1;
    case STATUS_NOT_A_DIRECTORY: errno = ENOTDIR; return -1;
    case STATUS_DELETE_PENDING: errno = ENOENT; return -1;
    case STATUS_OBJECT_PATH_NOT_FOUND: errno = n && file_in_path(n) ? ENOTDIR : ENOENT; return -1;
    default: return rf__os_error(RtlNtStatusToDosError(s));
    }
}

HANDLE rf__nt_open(const rf__nt_name *n, ACCESS_MASK access, ULONG disposition, ULONG options)
{
    HANDLE h = NULL;
    NTSTATUS s;
    for (int tries = 0;;) {
        s = rf__nt_open_once(n, access, disposition, options, &h);
        const bool busy = s == STATUS_SHARING_VIOLATION || (s == STATUS_DELETE_PENDING && disposition != FILE_OPEN);
        if (!busy || !rf__nt_sleep(&tries)) break;
    }
    return NT_SUCCESS(s) ? h : (rf__nt_fail(s, n), NULL);
}

/* 0: no reparse point. Those of a link have a bit of their own. */
static ULONG reparse_tag(HANDLE h)
{
    FILE_ATTRIBUTE_TAG_INFO i;
    if (!GetFileInformationByHandleEx(h, FileAttributeTagInfo, &i, sizeof i)) return 0;
    return i.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT ? i.ReparseTag : 0;
}

bool rf__nt_is_link(HANDLE h) { return reparse_tag(h) & 0x20000000; }

static HANDLE refuse(HANDLE h, int e)
{
    if (h) NtClose(h);
    errno = e;
    return NULL;
}

static HANDLE open_folder_or_link(const rf__nt_name *n, ULONG options)
{
    return rf__nt_open(n, FILE_READ_ATTRIBUTES, FILE_OPEN, options);
}

static HANDLE open_file(const rf__nt_name *n, int how)
{
    const ACCESS_MASK reads = FILE_GENERIC_READ, writes = FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES;
    const ACCESS_MASK access = how & RF__OS_WRITE ? reads | writes : how & RF__OS_WRITE_ONLY ? writes : reads;
    const ULONG disposition = !(how & RF__OS_CREATE) ? FILE_OPEN : how & RF__OS_NEW ? FILE_CREATE : FILE_OPEN_IF;
    if (n->folder) {
        HANDLE h = open_folder_or_link(n, FILE_DIRECTORY_FILE);
        return h ? refuse(h, EISDIR) : NULL;
    }
    const ULONG still = how & RF__OS_NO_LINK ? FILE_OPEN_REPARSE_POINT : 0;
    HANDLE h = rf__nt_open(n, access, disposition, FILE_NON_DIRECTORY_FILE | still);
    if (!h && still && errno == EISDIR) {
        HANDLE l = open_folder_or_link(n, still);
        return refuse(l, l && rf__nt_is_link(l) ? ELOOP : EISDIR);
    }
    if (!h || !still || !reparse_tag(h)) return h;
    if (rf__nt_is_link(h)) return refuse(h, ELOOP);
    HANDLE whole = rf__nt_open(n, access, FILE_OPEN, FILE_NON_DIRECTORY_FILE);    /* compressed, or stored elsewhere */
    NtClose(h);
    return whole;
}

/* -1: errno. Takes the handle. */
static int descriptor(HANDLE h, int how, int flags)
{
    if (!h) return -1;
    const int fd = _open_osfhandle((intptr_t)h, flags | _O_BINARY | _O_NOINHERIT);
    if (fd < 0) NtClose(h);
    else mark_of[fd % MOST] = how & RF__OS_APPEND ? APPENDS : 0;
    return fd;
}

int rf__os_open_in(const rf__os_folder *f, const char *name, int how)
{
    rf__nt_name n;
    if (!rf__nt_name_of(f, name, &n)) return -1;
    const int fd = descriptor(open_file(&n, how), how, 0);
    free(n.text);
    return fd;
}

int rf__os_open(const char *path, int how) { return rf__os_open_in(NULL, path, how); }

int rf__os_close(int fd)
{
    if (!rf__os_handle(fd)) return -1;
    mark_of[fd % MOST] = 0;
    return _close(fd);
}

static bool on_disk(HANDLE h) { return GetFileType(h) == FILE_TYPE_DISK; }

FILE *rf__os_stream(const char *path, const char *mode)
{
    rf__nt_name n;
    const bool reads = *mode == 'r', more = strchr(mode, '+'), appends = *mode == 'a';
    const int how = (more ? RF__OS_WRITE : reads ? RF__OS_READ : RF__OS_WRITE_ONLY) | (reads ? 0 : RF__OS_CREATE) |
                    (strchr(mode, 'x') ? RF__OS_NEW : 0);
    const char own[] = {*mode, 'b', more ? '+' : 0, 0};
    if (!rf__nt_name_of(NULL, path, &n)) return NULL;
    const int fd = descriptor(open_file(&n, how), 0, appends ? _O_APPEND : 0);
    free(n.text);
    if (fd < 0) return NULL;
    const bool cuts = *mode == 'w' && on_disk(rf__os_handle(fd));                    /* a device has no size         */
    FILE *out = cuts && rf__os_cut(fd, 0) ? NULL : _fdopen(fd, own);
    if (!out) {
        const int e = errno;
        _close(fd);
        errno = e;
    }
    return out;
}

/* ---- reading and writing ---- */

static int64_t result_of(bool done, DWORD n, bool reads)
{
    const DWORD code = done ? ERROR_SUCCESS : GetLastError();
    if (done || (reads && code == ERROR_MORE_DATA)) return n;           /* the rest of a message of a pipe follows */
    if (reads && (code == ERROR_BROKEN_PIPE || code == ERROR_HANDLE_EOF)) return 0;
    if (code != ERROR_ACCESS_DENIED) return rf__os_error(code);
    errno = EBADF;                                                      /* it is not open for this */
    return -1;
}

typedef struct transfer { void *to; const void *from; size_t size; } transfer;     /* to NULL: writes */

/* at -1: the position; -2: the end. */
static int64_t move_bytes(int fd, transfer t, int64_t at)
{
    HANDLE h = rf__os_handle(fd);
    if (!h) return -1;
    const DWORD size = (DWORD)(t.size < PIECE ? t.size : PIECE);
    OVERLAPPED o = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)}, *place = at == -1 ? NULL : &o;
    DWORD n = 0;
    const bool disk = on_disk(h);
    LARGE_INTEGER before = {.QuadPart = 0}, zero = {.QuadPart = 0};
    if (!disk && at >= 0) return errno = ESPIPE, -1;
    if (at == -2) o.Offset = o.OffsetHigh = UINT32_MAX;
    if (!disk) place = NULL;
    else AcquireSRWLockExclusive(&lock_of[fd % MOST]);
    if (at >= 0) SetFilePointerEx(h, zero, &before, FILE_CURRENT);
    const bool done = t.to ? ReadFile(h, t.to, size, &n, place) : WriteFile(h, t.from, size, &n, place);
    const int64_t result = result_of(done, n, t.to);
    if (at >= 0) SetFilePointerEx(h, before, NULL, FILE_BEGIN);
    if (disk) ReleaseSRWLockExclusive(&lock_of[fd % MOST]);
    return result;
}

int64_t rf__os_read(int fd, void *to, size_t size) { return move_bytes(fd, (transfer){.to = to, .size = size}, -1); }

int64_t rf__os_write(int fd, const void *from, size_t size)
{
    return move_bytes(fd, (transfer){.from = from, .size = size}, fd >= 0 && mark_of[fd % MOST] & APPENDS ? -2 : -1);
}

int64_t rf__os_read_at(int fd, void *to, size_t size, int64_t at)
{
    return at < 0 ? (errno = EINVAL, -1) : move_bytes(fd, (transfer){.to = to, .size = size}, at);
}

int64_t rf__os_write_at(int fd, const void *from, size_t size, int64_t at)
{
    return at < 0 ? (errno = EINVAL, -1) : move_bytes(fd, (transfer){.from = from, .size = size}, at);
}

static int64_t set_position(int fd, int64_t at, DWORD from)
{
    HANDLE h = rf__os_handle(fd);
    LARGE_INTEGER to = {.QuadPart = at}, now;
    if (!h) return -1;
    if (!on_disk(h)) return errno = ESPIPE, -1;
    AcquireSRWLockExclusive(&lock_of[fd % MOST]);
    const bool done = SetFilePointerEx(h, to, &now, from);
    ReleaseSRWLockExclusive(&lock_of[fd % MOST]);
    return done ? now.QuadPart : rf__os_error(GetLastError());
}

int64_t rf__os_seek(int fd, int64_t at) { return at < 0 ? (errno = EINVAL, -1) : set_position(fd, at, FILE_BEGIN); }
int64_t rf__os_position(int fd) { return set_position(fd, 0, FILE_CURRENT); }

/* A file that becomes much longer has a hole, as on POSIX: otherwise the system would write the zeros. */
int rf__os_cut(int fd, int64_t size)
{
    enum { HOLE = 1 << 20 };
    HANDLE h = rf__os_handle(fd);
    LARGE_INTEGER now;
    DWORD n;
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = size};
    if (!h) return -1;
    if (size < 0) return errno = EINVAL, -1;
    if (GetFileSizeEx(h, &now) && size - now.QuadPart > HOLE)
        DeviceIoControl(h, FSCTL_SET_SPARSE, NULL, 0, NULL, 0, &n, NULL);
    return SetFileInformationByHandle(h, FileEndOfFileInfo, &end, sizeof end) ? 0 : rf__os_error(GetLastError());
}

int rf__os_sync(int fd)
{
    HANDLE h = rf__os_handle(fd);
    if (!h) return -1;
    return FlushFileBuffers(h) ? 0 : rf__os_error(GetLastError());
}

void rf__os_sequential(int fd) { (void)fd; }                            /* Windows: only when a file is opened */

/* Locks of Windows exclude reading and writing: this one is on a byte that no file has. */
int rf__os_lock(int fd)
{
    HANDLE h = rf__os_handle(fd);
    OVERLAPPED where = {.OffsetHigh = 0x40000000};
    if (!h) return -1;
    if (mark_of[fd % MOST] & LOCKED) return 0;
    if (LockFileEx(h, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where)) {
        mark_of[fd % MOST] |= LOCKED;
        return 0;
    }
    const DWORD code = GetLastError();
    if (code != ERROR_LOCK_VIOLATION && code != ERROR_IO_PENDING) return rf__os_error(code);
    errno = EWOULDBLOCK;
    return -1;
}

/* ---- looking ---- */

/* Windows counts 100 ns from 1601. */
static int64_t nanoseconds(LARGE_INTEGER t) { return (t.QuadPart - 116444736000000000) * 100; }

/* File systems other than NTFS have numbers of 128 bits, or no such information. */
bool rf__nt_identity(HANDLE h, rf__os_state *out)
{
    FILE_ID_INFO id;
    BY_HANDLE_FILE_INFORMATION old;
    if (GetFileInformationByHandleEx(h, FileIdInfo, &id, sizeof id)) {
        uint64_t part[2];
        memcpy(part, &id.FileId, sizeof part);
        out->volume = id.VolumeSerialNumber;
        out->number = part[0] ^ part[1] * 0x9E3779B97F4A7C15U;
        return true;
    }
    if (!GetFileInformationByHandle(h, &old)) return false;
    out->volume = old.dwVolumeSerialNumber;
    out->number = (uint64_t)old.nFileIndexHigh << 32 | old.nFileIndexLow;
    return true;
}

static int state_of(HANDLE h, bool link, rf__os_state *out)
{
    FILE_BASIC_INFO b;
    FILE_STANDARD_INFO s;
    if (!h) return -1;
    if (!on_disk(h)) return *out = (rf__os_state){.kind = RF__OS_DEVICE, .mode = 0666}, 0;
    *out = (rf__os_state){.kind = RF__OS_FILE};
    if (!GetFileInformationByHandleEx(h, FileBasicInfo, &b, sizeof b) ||
        !GetFileInformationByHandleEx(h, FileStandardInfo, &s, sizeof s) || !rf__nt_identity(h, out))
        return rf__os_error(GetLastError());
    if (s.Directory) out->kind = RF__OS_FOLDER;
    if (link && rf__nt_is_link(h)) out->kind = RF__OS_LINK;
    out->removed = s.DeletePending || !s.NumberOfLinks;
    out->mode = out->kind != RF__OS_FILE ? 0755 : b.FileAttributes & FILE_ATTRIBUTE_READONLY ? 0444 : 0644;
    out->size = s.EndOfFile.QuadPart;
    out->modified = nanoseconds(b.LastWriteTime);
    out->changed = nanoseconds(b.ChangeTime);
    return 0;
}

static int look(const rf__os_folder *f, const char *path, bool link, rf__os_state *out)
{
    rf__nt_name n;
    if (!rf__nt_name_of(f, path, &n)) return -1;
    const bool still = link && !n.folder;
    HANDLE h = open_folder_or_link(&n, (n.folder ? FILE_DIRECTORY_FILE : 0) | (still ? FILE_OPEN_REPARSE_POINT : 0));
    const int failed = state_of(h, still, out), e = errno;
    if (h) NtClose(h);
    free(n.text);
    errno = e;
    return failed;
}

int rf__os_look(const char *path, rf__os_state *out) { return look(NULL, path, false, out); }
int rf__os_look_link(const char *path, rf__os_state *out) { return look(NULL, path, true, out); }
int rf__os_look_in(const rf__os_folder *f, const char *name, rf__os_state *out) { return look(f, name, false, out); }
int rf__os_look_file(int fd, rf__os_state *out) { return state_of(rf__os_handle(fd), false, out); }

bool rf__os_exists_in(const rf__os_folder *f, const char *name)
{
    rf__os_state st;
    return !look(f, name, false, &st);
}

bool rf__os_exists(const char *path) { return rf__os_exists_in(NULL, path); }

/* Opens it: only the system knows what its access lists and attributes amount to. */
static bool allows(const char *path, ACCESS_MASK access)
{
    rf__nt_name n;
    HANDLE h;
    if (!rf__nt_name_of(NULL, path, &n)) return false;
    const NTSTATUS s = rf__nt_open_once(&n, access, FILE_OPEN, n.folder ? FILE_DIRECTORY_FILE : 0, &h);
    const bool can = NT_SUCCESS(s) || s == STATUS_SHARING_VIOLATION;
    if (NT_SUCCESS(s)) NtClose(h);
    if (!can) rf__nt_fail(s, &n);
    free(n.text);
    return can;
}

bool rf__os_readable(const char *path) { return allows(path, FILE_READ_DATA); }        /* or: list the folder */
bool rf__os_writable(const char *path) { return allows(path, FILE_WRITE_DATA); }       /* or: add a file to it */

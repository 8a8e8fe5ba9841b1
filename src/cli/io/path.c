/* path.c — see path.h. */
#include "cli/io/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/os/program.h"

const char *cli_file_name(const char *path)
{
    const char *slash = rf__os_last_slash(path);
    return slash ? slash + 1 : path;
}

void cli_last_part(const char *path, char *out, size_t size)
{
    size_t end = strlen(path), from;
    while (end > 1 && rf__os_is_slash(path[end - 1])) end--;
    for (from = end; from && !rf__os_is_slash(path[from - 1]);) from--;
    snprintf(out, size, "%.*s", (int)(end - from), path + from);
}

rf_status cli_join(char *out, size_t size, const char *folder, const char *name, rf_error *why)
{
    const int n = snprintf(out, size, "%s/%s", folder, name);
    if (n >= 0 && (size_t)n < size) return RF_OK;
    return rf_fail(why, RF_ERANGE, "%.100s...: expected a path of at most %zu bytes", folder, size - 1);
}

rf_status cli_must_be_file(const char *path, rf_error *why)
{
    rf__os_state st;
    if (rf__os_look(path, &st)) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno));
    if (st.kind == RF__OS_FOLDER) return rf_fail(why, RF_EIO, "%s: expected a file, got a directory", path);
    if (st.kind == RF__OS_FILE) return RF_OK;
    return rf_fail(why, RF_EIO, "%s: expected a file, got a pipe, a socket or a device", path);
}

/* One more block until a read returns less. */
static rf_status read_all(FILE *from, const char *path, size_t limit, char **text, size_t *size, rf_error *why)
{
    enum { BLOCK = 1 << 16 };
    size_t n = 0, got = BLOCK;
    char *all = NULL;
    while (got == BLOCK && n <= limit) {
        char *more = realloc(all, n + BLOCK + 1);
        if (!more) {
            free(all);
            return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
        }
        all = more;
        got = fread(all + n, 1, BLOCK, from);
        n += got;
    }
    all[n] = 0;
    *text = all, *size = n;
    if (!ferror(from) && n <= limit) return RF_OK;
    const rf_status status = n > limit ? rf_fail(why, RF_EDATA, "%s: expected at most %zu bytes, got more", path, limit)
                                       : rf_fail(why, RF_EIO, "%s: cannot read: %s", path, rf__os_reason(errno));
    free(all);
    return status;
}

rf_status cli_read_named(const char *path, size_t limit, char **text, size_t *size, rf_error *why)
{
    FILE *from = rf__os_stream(path, "r");
    if (!from) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno));
    const rf_status status = read_all(from, path, limit, text, size, why);
    fclose(from);
    return status;
}

rf_status cli_read_found(const char *path, size_t limit, char **text, size_t *size, rf_error *why)
{
    const rf_status status = cli_must_be_file(path, why);
    return status ? status : cli_read_named(path, limit, text, size, why);
}

/* input.c — see input.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/os.h"
#include "cli/embed/hash.h"
#include "cli/embed/input.h"
#include "roformer/inspect/files.h"

enum { YOUNG = 2 };                     /* seconds: the coarsest clock of a file system has 2 (FAT)                   */

/* ---- pinning ----------------------------------------------------------------------------------------------------- */

static rf_status look_at(cli_io *io, cli_input_file *f, const cli_documents *d)
{
    rf__os_state st;
    rf_error *why = &io->why;
    if (!strcmp(f->path, "-"))
        return rf_fail(why, RF_EARG, "--shard: expected files, which can be read again, got standard input");
    if (cli_must_be_file(f->path, why)) return why->code;
    if (rf__os_look(f->path, &st))
        return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", f->path, rf__os_reason(errno));
    f->size = st.size;
    f->modified = (double)time(NULL) - 1e-9 * (double)st.modified < YOUNG ? -1 : st.modified;
    const int format = cli_documents_format(d->format, f->path), fd = rf__os_open(f->path, RF__OS_READ);
    char head[16];
    const int64_t got = fd < 0 ? -1 : rf__os_read(fd, head, sizeof head);
    if (got < 0) rf_fail(why, RF_EIO, "%.200s: cannot read: %s", f->path, rf__os_reason(errno));
    if (fd >= 0) rf__os_close(fd);
    f->cut = format != CLI_INPUT_CSV && format != CLI_INPUT_FASTA && got >= 0 &&
             rf_source_compressed(f->path, head, (size_t)got) <= 0;
    return why->code;
}

/* Whether the entry of `known` is of this file, whose size and time are the same; then *hash is its hash. */
static bool is_known(const json_t *entry, const cli_input_file *f)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    return name && !strcmp(name, cli_file_name(f->path)) && f->modified >= 0 &&
           json_integer_value(json_object_get(entry, "size")) == f->size &&
           json_integer_value(json_object_get(entry, "modified")) == f->modified;
}

static bool known_hash(const json_t *entry, uint64_t *out)
{
    const char *hex = json_string_value(json_object_get(entry, "xxh3"));
    char *end;
    if (!hex || strlen(hex) != 16) return false;
    errno = 0;
    *out = strtoull(hex, &end, 16);
    return !*end && !errno;
}

rf_status cli_input_pin(cli_io *io, const cli_list *files, const cli_documents *d, const json_t *known, cli_input *in)
{
    *in = (cli_input){.file = calloc((size_t)files->n + 1, sizeof *in->file), .n = files->n};
    if (!in->file) return rf_fail(&io->why, RF_ENOMEM, "out of memory: names of files");
    rf_status status = RF_OK;
    for (int i = 0; i < in->n && !status; i++) {
        cli_input_file *f = &in->file[i];
        int64_t size;
        f->path = files->item[i];
        f->before = in->total;
        status = look_at(io, f, d);
        const json_t *entry = json_array_get(known, (size_t)i);
        if (!status && !(is_known(entry, f) && known_hash(entry, &f->hash))) {
            status = cli_hash_file(f->path, true, &f->hash, &size, &io->why);
            if (!status && size != f->size)
                status = rf_fail(&io->why, RF_EDATA, "%.200s: expected %lld bytes, got %lld: it changes", f->path,
                                 (long long)f->size, (long long)size);
        }
        in->total += (uint64_t)f->size;
    }
    return status;
}

void cli_input_clear(cli_input *in)
{
    free(in->file);
    *in = (cli_input){0};
}

typedef struct hex { char text[17]; } hex;

static hex hex_of(uint64_t x)
{
    hex h;
    snprintf(h.text, sizeof h.text, "%016llx", (unsigned long long)x);
    return h;
}

json_t *cli_input_list(const cli_input *in)
{
    json_t *list = json_array();
    for (int i = 0; i < in->n; i++) {
        const cli_input_file *f = &in->file[i];
        const char *name = cli_file_name(f->path);
        json_t *entry = json_object();
        cli_json_set(&entry, "name", cli_text_json(name, strlen(name)));
        cli_json_set(&entry, "size", json_integer(f->size));
        cli_json_set(&entry, "modified", json_integer(f->modified));
        cli_json_set(&entry, "xxh3", json_string(hex_of(f->hash).text));
        cli_json_add(&list, entry);
    }
    return list;
}

rf_status cli_input_same(const cli_input *in, const json_t *known, const char *where, rf_error *why)
{
    static const char advice[] = "give the same files, or another folder";
    const size_t n = json_array_size(known);
    if (n != (size_t)in->n)
        return rf_fail(why, RF_EDATA, "%.200s: files: expected %zu, got %d on the command line; %s", where, n, in->n,
                       advice);
    for (int i = 0; i < in->n; i++) {
        const cli_input_file *f = &in->file[i];
        const json_t *entry = json_array_get(known, (size_t)i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        uint64_t hash;
        if (!name || strcmp(name, cli_file_name(f->path)))
            return rf_fail(why, RF_EDATA, "%.200s: file %d: expected '%.100s', got '%.100s'; %s", where, i + 1,
                           name ? name : "a name", cli_file_name(f->path), advice);
        if (json_integer_value(json_object_get(entry, "size")) != f->size || !known_hash(entry, &hash) ||
            hash != f->hash)
            return rf_fail(why, RF_EDATA, "%.200s: expected the %lld bytes with XXH3 %.16s of %.150s, got %lld with "
                           "%s: the file has changed; %s", f->path,
                           (long long)json_integer_value(json_object_get(entry, "size")),
                           json_string_value(json_object_get(entry, "xxh3")), where, (long long)f->size,
                           hex_of(f->hash).text, advice);
    }
    return RF_OK;
}

uint64_t cli_input_digest(const cli_input *in)
{
    cli_hash128 all = {0, 0};
    for (int i = 0; i < in->n; i++) {
        char text[512];
        const cli_input_file *f = &in->file[i];
        const int n = snprintf(text, sizeof text, "%016llx %lld %s %.400s", (unsigned long long)all.high,
                               (long long)f->size, hex_of(f->hash).text, cli_file_name(f->path));
        all = cli_hash_text(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    }
    return all.high;
}

rf_status cli_input_unchanged(const cli_input *in, rf_error *why)
{
    rf__os_state st;
    for (int i = 0; i < in->n; i++) {
        const cli_input_file *f = &in->file[i];
        if (rf__os_look(f->path, &st))
            return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", f->path, rf__os_reason(errno));
        if (st.size != f->size || (f->modified >= 0 && st.modified != f->modified))
            return rf_fail(why, RF_EDATA, "%.200s: expected the file that was there at the beginning, got another "
                           "size or time: it has changed meanwhile", f->path);
    }
    return RF_OK;
}

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* The first byte from `at` on that begins a line; the size of the file if there is none. */
static rf_status line_from(const cli_input_file *f, uint64_t at, uint64_t *out, rf_error *why)
{
    char block[1 << 16];
    *out = at;
    if (!at) return RF_OK;
    const int fd = rf__os_open(f->path, RF__OS_READ);
    if (fd < 0) return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", f->path, rf__os_reason(errno));
    rf_status status = RF_OK;
    const char *feed = NULL;
    int64_t got = 1;
    for (uint64_t from = at - 1; !feed && got && !status; from += (uint64_t)(got > 0 ? got : 0)) {
        got = rf__os_read_at(fd, block, sizeof block, (int64_t)from);
        if (got < 0 && errno != EINTR)
            status = rf_fail(why, RF_EIO, "%.200s: cannot read: %s", f->path, rf__os_reason(errno));
        feed = got > 0 ? memchr(block, '\n', (size_t)got) : NULL;
        if (feed) *out = from + (uint64_t)(feed - block) + 1;
    }
    rf__os_close(fd);
    if (!status && !feed) *out = (uint64_t)f->size;
    return status;
}

rf_status cli_input_cut(const cli_input *in, int64_t r, int64_t n, cli_place *out, rf_error *why)
{
    const uint64_t R = (uint64_t)r, N = (uint64_t)n, cut = in->total / N * R + in->total % N * R / N;
    *out = (cli_place){r == n ? in->n : 0, 0};
    if (!r || r == n) return RF_OK;
    int i = 0;
    while (i < in->n && in->file[i].before < cut) i++;              /* the first file that begins there or later */
    *out = (cli_place){i, 0};
    const cli_input_file *f = &in->file[i ? i - 1 : 0];
    if (!i || !f->cut || cut >= f->before + (uint64_t)f->size) return RF_OK;
    uint64_t at;
    const rf_status status = line_from(f, cut - f->before, &at, why);
    if (!status && at < (uint64_t)f->size) *out = (cli_place){i - 1, at};
    return status;
}

/* parts.c — see parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/embed/parts.h"

enum { VERSION = 1 };
#define FORMAT "roformer embed part"

void cli_part_name(cli_part *p)
{
    snprintf(p->name, sizeof p->name, "part-%05lld-of-%05lld-%06lld", (long long)p->shard, (long long)p->shards,
             (long long)p->number);
}

rf_status cli_part_path(char *out, size_t size, const char *folder, const cli_part *p, const char *ending,
                        rf_error *why)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", p->name, ending);
    return cli_join(out, size, folder, name, why);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static json_t *hex_json(uint64_t x)
{
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)x);
    return json_string(text);
}

static json_t *place_json(cli_place p) { return json_pack("[I, I]", (json_int_t)p.file, (json_int_t)p.at); }

static json_t *manifest_of(const cli_part *p)
{
    const struct { const char *name; int64_t value; } count[] = {
        {"version", VERSION}, {"shard", p->shard}, {"shards", p->shards}, {"part", p->number}, {"rows", p->rows},
        {"zeros", p->zeros}, {"token_count", p->tokens}, {"cut", p->cut}, {"unknown", p->unknown}};
    json_t *m = json_object();
    cli_json_set(&m, "format", json_string(FORMAT));
    for (size_t i = 0; i < CLI_COUNT(count); i++) cli_json_set(&m, count[i].name, json_integer(count[i].value));
    cli_json_set(&m, "isa", json_string(p->isa));
    cli_json_set(&m, "last", json_boolean(p->last));
    cli_json_set(&m, "begin", place_json(p->begin));
    cli_json_set(&m, "end", place_json(p->end));
    cli_json_set(&m, "data", hex_json(p->data_hash));
    cli_json_set(&m, "ids", p->ids ? hex_json(p->ids_hash) : json_null());
    cli_json_set(&m, "run", json_incref(p->run));
    return m;
}

rf_status cli_part_write(const char *folder, const cli_part *p, rf_error *why)
{
    char path[4096];
    rf_status status = cli_part_path(path, sizeof path, folder, p, ".json", why);
    if (!status && rf__os_sync_folder(folder))                      /* of the files that the manifest describes */
        status = rf_fail(why, RF_EIO, "%.200s: cannot sync: %s", folder, rf__os_reason(errno));
    if (!status) status = cli_write_json(path, manifest_of(p), JSON_INDENT(1), why);
    if (!status && rf__os_sync_folder(folder))
        status = rf_fail(why, RF_EIO, "%.200s: cannot sync: %s", folder, rf__os_reason(errno));
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_count(const json_t *m, const char *name, int64_t least, int64_t most, int64_t *out)
{
    const json_t *value = json_object_get(m, name);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= least && *out <= most;
}

static bool read_hex(const json_t *m, const char *name, uint64_t *out)
{
    const char *text = json_string_value(json_object_get(m, name));
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

static bool read_place(const json_t *m, const char *name, cli_place *out)
{
    const json_t *list = json_object_get(m, name), *file = json_array_get(list, 0), *at = json_array_get(list, 1);
    *out = (cli_place){json_integer_value(file), (uint64_t)json_integer_value(at)};
    return json_is_integer(file) && json_is_integer(at) && out->file >= 0 && json_integer_value(at) >= 0;
}

/* The member of a manifest that is not as it must be; NULL: all are. */
static const char *bad_member(const json_t *m, cli_part *p)
{
    const char *format = json_string_value(json_object_get(m, "format"));
    const char *isa = json_string_value(json_object_get(m, "isa"));
    int64_t version;
    const struct { const char *name; int64_t least, most, *value; } count[] = {
        {"shards", 1, CLI_MAX_SHARDS, &p->shards}, {"shard", 1, CLI_MAX_SHARDS, &p->shard},
        {"part", 0, CLI_MAX_PARTS, &p->number},    {"rows", 0, INT64_MAX, &p->rows},
        {"zeros", 0, INT64_MAX, &p->zeros},        {"token_count", 0, INT64_MAX, &p->tokens},
        {"cut", 0, INT64_MAX, &p->cut},            {"unknown", 0, INT64_MAX, &p->unknown}};
    if (!format || strcmp(format, FORMAT)) return "format";
    if (!read_count(m, "version", VERSION, VERSION, &version)) return "version";
    for (size_t i = 0; i < CLI_COUNT(count); i++)
        if (!read_count(m, count[i].name, count[i].least, count[i].most, count[i].value)) return count[i].name;
    if (p->shard > p->shards) return "shard";
    if (!isa || strlen(isa) >= sizeof p->isa) return "isa";
    snprintf(p->isa, sizeof p->isa, "%s", isa);
    if (!json_is_boolean(json_object_get(m, "last"))) return "last";
    p->last = json_is_true(json_object_get(m, "last"));
    if (!read_place(m, "begin", &p->begin)) return "begin";
    if (!read_place(m, "end", &p->end)) return "end";
    if (!read_hex(m, "data", &p->data_hash)) return "data";
    p->ids = json_is_string(json_object_get(m, "ids"));
    if (p->ids ? !read_hex(m, "ids", &p->ids_hash) : !json_is_null(json_object_get(m, "ids"))) return "ids";
    return json_is_object(json_object_get(m, "run")) ? NULL : "run";
}

static rf_status check_data(const char *folder, const cli_part *p, rf_error *why)
{
    char path[4096];
    rf__os_state st;
    int64_t width;
    if (!read_count(p->run, "dimensions", 1, 1 << 24, &width) || p->rows > INT64_MAX / 4 / width)
        return rf_fail(why, RF_EDATA, "%.200s/%s.json: run.dimensions: expected a number of dimensions, got another "
                                      "value",
                       folder, p->name);
    rf_status status = cli_part_path(path, sizeof path, folder, p, ".f32", why);
    if (status) return status;
    if (rf__os_look(path, &st)) return rf_fail(why, RF_EIO, "%.300s: cannot open: %s", path, rf__os_reason(errno));
    if (st.kind == RF__OS_FILE && st.size == p->rows * width * 4) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.300s: expected %lld rows of %lld float32, got %lld bytes; remove the part's "
                   "manifest and those after it, and continue with --resume",
                   path, (long long)p->rows, (long long)width,
                   (long long)st.size);
}

static rf_status read_part(const char *folder, const char *name, cli_part *p, rf_error *why)
{
    char path[4096], *text;
    size_t size;
    *p = (cli_part){0};
    if (cli_join(path, sizeof path, folder, name, why)) return why->code;
    rf_status status = cli_read_found(path, 1 << 20, &text, &size, why);
    if (status) return status;
    json_t *m = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *bad = m ? bad_member(m, p) : "JSON";
    free(text);
    if (bad) status = rf_fail(why, RF_EDATA, "%.300s: %s: expected a manifest of version %d of a part, got another "
                                             "value",
                              path, bad, VERSION);
    if (!status) p->run = json_incref(json_object_get(m, "run"));
    json_decref(m);
    if (status) return status;
    cli_part_name(p);
    if (strncmp(name, p->name, strlen(p->name)))
        status = rf_fail(why, RF_EDATA, "%.300s: expected the manifest of this part, got that of %s; was it "
                                        "renamed?", path,
                         p->name);
    return status ? status : check_data(folder, p, why);
}

static int order(const void *a, const void *b)
{
    const cli_part *x = a, *y = b;
    if (x->shard != y->shard) return x->shard < y->shard ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* part-*.json, of one shard or of any. */
static bool is_manifest(const char *name, const char *prefix)
{
    const size_t n = strlen(name);
    return n > 5 && !strncmp(name, prefix, strlen(prefix)) && !strcmp(name + n - 5, ".json");
}

static rf_status add_part(const char *folder, const char *name, cli_parts *out, rf_error *why)
{
    if (out->n == out->capacity) {
        const size_t wide = out->capacity ? 2 * out->capacity : 64;
        cli_part *more = realloc(out->part, wide * sizeof *more);
        if (!more) return rf_fail(why, RF_ENOMEM, "out of memory: %zu parts", out->n);
        out->part = more;
        out->capacity = wide;
    }
    cli_part *p = &out->part[out->n++];                             /* cleared also after an error */
    const rf_status status = read_part(folder, name, p, why);
    if (!status && json_equal(p->run, out->part[0].run)) {          /* one object for all */
        json_t *own = p->run;
        p->run = json_incref(out->part[0].run);
        json_decref(own);
    }
    return status;
}

rf_status cli_parts_read(const char *folder, int64_t shard, const json_t *run, const char *where, cli_parts *out,
                         rf_error *why)
{
    char prefix[32] = "part-", other[4096];
    *out = (cli_parts){0};
    if (shard) snprintf(prefix, sizeof prefix, "part-%05lld-of-", (long long)shard);
    rf__os_folder *f = rf__os_folder_open(folder);
    if (!f) return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", folder, rf__os_reason(errno));
    rf_status status = RF_OK;
    for (const char *name; !status && (name = rf__os_next(f, NULL));)
        if (is_manifest(name, prefix)) status = add_part(folder, name, out, why);
    rf__os_folder_close(f);
    if (status || !out->n) return status;
    qsort(out->part, out->n, sizeof *out->part, order);
    char first[4096];
    if (!run) {
        run = out->part[0].run;
        where = first;
        status = cli_part_path(first, sizeof first, folder, &out->part[0], ".json", why);
    }
    for (size_t i = 0; i < out->n && !status; i++) {
        status = cli_part_path(other, sizeof other, folder, &out->part[i], ".json", why);
        if (!status) status = cli_run_compare(where, run, other, out->part[i].run, why);
    }
    return status;
}

void cli_parts_clear(cli_parts *p)
{
    for (size_t i = 0; i < p->n; i++) json_decref(p->part[i].run);
    free(p->part);
    *p = (cli_parts){0};
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* A value for a message. */
static void show_value(const json_t *value, char *out, size_t size)
{
    char *text = value ? cli_json_dump(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(out, size, "%.30s", text ? text : "none");
    free(text);
}

static rf_status compare(const char *name, const char *where, const json_t *expected, const char *other,
                         const json_t *got, rf_error *why)
{
    char a[96], b[96], inner[128];
    const char *key;
    json_t *value;
    rf_status status = RF_OK;
    if (json_equal(expected, got)) return RF_OK;
    if (json_is_object(expected) && json_is_object(got)) {
        json_object_foreach((json_t *)(uintptr_t)expected, key, value) {
            snprintf(inner, sizeof inner, "%.60s%s%.60s", name, *name ? "." : "", key);
            if (!status) status = compare(inner, where, value, other, json_object_get(got, key), why);
        }
        if (status) return status;
    }
    show_value(expected, a, sizeof a);
    show_value(got, b, sizeof b);
    return rf_fail(why, RF_EDATA, "%.90s: %s: expected %s as in %.90s, got %s; parts of two runs are not mixed", other,
                   *name ? name : "run", a, where, b);
}

rf_status cli_run_compare(const char *where, const json_t *expected, const char *other, const json_t *got,
                          rf_error *why)
{
    return compare("", where, expected, other, got, why);
}

/* shard.c — see shard.h.
 *
 * A part is written to temporary files, which are synced and renamed; its manifest is written in the same way after
 * them. So a kill leaves complete parts, and files that the next run replaces or removes.  The bytes do not depend on
 * where a run was killed: the vector of a text does not depend on its neighbors, and the next run begins at the record
 * at which the last complete part ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/embed/hash.h"
#include "cli/embed/parts.h"
#include "cli/embed/shard.h"
#include "cli/shell/commands.h"
#include "roformer/index.h"

typedef struct shard {
    cli_embedder *e;
    const cli_shard_options *o;
    int64_t number, of;                 /* of the shard, from 1                                                       */
    cli_input input;
    json_t *run;
    cli_part part;                      /* that is being written                                                      */
    cli_place end;                      /* of the shard                                                               */
    rf_texts_report before;             /* of the parts that this run has written before it                           */
    int64_t zeros_before;
    int lock;
} shard;

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static rf_status read_shard(const cli_shard_options *o, shard *s, rf_error *why)
{
    long long r = 1, n = 1;
    int used = 0;
    const char *text = o->shard ? o->shard : "1/1";
    const bool read = sscanf(text, "%lld/%lld%n", &r, &n, &used) == 2 && !text[used];
    if (!read || n < 1 || n > CLI_MAX_SHARDS || r < 1 || r > n)
        return rf_fail(why, RF_EARG, "--shard: expected R/N with 1 <= R <= N <= %d, such as 1/8 to 8/8, got %.40s",
                       CLI_MAX_SHARDS, text);
    s->number = r;
    s->of = n;
    return RF_OK;
}

static rf_status check_folder(const cli_embedder *e, const cli_shard_options *o, rf_error *why)
{
    rf__os_state st;
    if (!o->folder || !strcmp(o->folder, "-"))
        return rf_fail(why, RF_EARG, "--shard: expected -o DIR, a folder for the parts, got none");
    if (!e->files->n)
        return rf_fail(why, RF_EARG, "--shard: expected files, which can be read again, got standard input");
    if (!rf__os_look(o->folder, &st) && st.kind != RF__OS_FOLDER)
        return rf_fail(why, RF_EARG, "--output: expected a folder with --shard and --resume, got the file %.200s",
                       o->folder);
    if (rf__os_make_folder(o->folder) && errno != EEXIST)
        return rf_fail(why, RF_EIO, "%.200s: cannot create: %s", o->folder, rf__os_reason(errno));
    return RF_OK;
}

/* The options on which the vectors depend, in their settled form. */
static json_t *options_json(const shard *s)
{
    static const char *const pooling[] = {                          /* of several joined, the number */
        "cls", "mean", "max", "last", "sqrtlen", "wmean"};
    const rf_embed_options *o = &s->e->o;
    const struct { const char *name; int64_t value; } number[] = {
        {"normalize", o->normalize},
        {"dimensions", o->dimensions},
        {"cut_last", o->cut_last},
        {"max_length", o->max_length},
        {"skip_special_tokens", o->skip_special_tokens},
        {"layer_norm", o->layer_norm},
        {"include_prompt", o->include_prompt},
        {"cut_side", o->cut_side}};
    const char *prompt = o->prompt ? o->prompt : "";
    const size_t p = (size_t)o->pooling;
    json_t *all = json_object();
    cli_json_set(&all, "pooling", p < CLI_COUNT(pooling) ? json_string(pooling[p]) : json_integer((json_int_t)p));
    for (size_t i = 0; i < CLI_COUNT(number); i++) cli_json_set(&all, number[i].name, json_integer(number[i].value));
    cli_json_set(&all, "prompt", cli_text_json(prompt, strlen(prompt)));
    cli_json_set(&all, "dtype", json_string(cli_dtype_name(s->o->dtype)));
    return all;
}

static json_t *input_json(const shard *s)
{
    static const char *const format[] = {"auto", "lines", "fasta", "jsonl", "csv", "tsv"};
    const cli_documents *d = &s->e->documents;
    char digest[17];
    json_t *all = json_object();
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)cli_input_digest(&s->input));
    cli_json_set(&all, "files", json_integer(s->input.n));
    cli_json_set(&all, "bytes", json_integer((json_int_t)s->input.total));
    cli_json_set(&all, "xxh3", json_string(digest));
    cli_json_set(&all, "format", json_string(format[d->format]));
    cli_json_set(&all, "text_field", cli_text_json(d->text_field, strlen(d->text_field)));
    cli_json_set(&all, "id_field", d->id_field ? cli_text_json(d->id_field, strlen(d->id_field)) : json_null());
    return all;
}

static rf_status make_run(shard *s, rf_error *why)
{
    char model[17];
    uint64_t fingerprint;
    const rf_status status = rf_pipeline_fingerprint(s->e->model, &fingerprint, why);
    if (status) return status;
    snprintf(model, sizeof model, "%016llx", (unsigned long long)fingerprint);
    s->run = json_object();
    cli_json_set(&s->run, "program", json_string(rf_version()));
    cli_json_set(&s->run, "shards", json_integer(s->of));
    cli_json_set(&s->run, "model", json_string(model));
    cli_json_set(&s->run, "dimensions", json_integer((json_int_t)cli_embedder_width(s->e)));
    cli_json_set(&s->run, "ids", json_boolean(s->o->ids));
    cli_json_set(&s->run, "options", options_json(s));
    cli_json_set(&s->run, "input", input_json(s));
    return s->run ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: the description of the run");
}

/* The first process writes run.json; all others have the same run.  The list of files names the one that differs. */
static rf_status agree(shard *s, const char *path, const json_t *known, rf_error *why)
{
    const json_t *files = json_object_get(known, "files");
    rf_status status = make_run(s, why);
    if (status) return status;
    if (known) {
        const json_t *run = json_object_get(known, "run");
        const bool shards = json_equal(json_object_get(run, "shards"), json_object_get(s->run, "shards"));
        status = shards ? cli_input_same(&s->input, files, path, why) : RF_OK;
        return status ? status : cli_run_compare(path, run, "this run", s->run, why);
    }
    json_t *all = json_object();
    cli_json_set(&all, "format", json_string("roformer embed run"));
    cli_json_set(&all, "version", json_integer(1));
    cli_json_set(&all, "run", json_incref(s->run));
    cli_json_set(&all, "files", cli_input_list(&s->input));
    return cli_write_json(path, all, JSON_INDENT(1), why);
}

static rf_status settle_run(shard *s, rf_error *why)
{
    char path[4096];
    rf_status status = cli_join(path, sizeof path, s->o->folder, CLI_RUN_FILE, why);
    if (status) return status;
    json_t *known = cli_json_read(path);
    if (!known && rf__os_exists(path))
        status = rf_fail(why, RF_EDATA, "%.200s: expected the description of a run, got another file", path);
    if (!status)
        status = cli_input_pin(s->e->io, s->e->files, &s->e->documents, json_object_get(known, "files"), &s->input);
    if (!status) status = agree(s, path, known, why);
    json_decref(known);
    return status;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static rf_status take_lock(shard *s, rf_error *why)
{
    char name[40], path[4096];
    snprintf(name, sizeof name, "part-%05lld-of-%05lld.lock", (long long)s->number, (long long)s->of);
    rf_status status = cli_join(path, sizeof path, s->o->folder, name, why);
    if (status) return status;
    s->lock = rf__os_open(path, RF__OS_WRITE | RF__OS_CREATE);
    if (s->lock < 0) return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", path, rf__os_reason(errno));
    if (!rf__os_lock(s->lock)) return RF_OK;
    return errno == EWOULDBLOCK ? rf_fail(why, RF_EBUSY, "%.200s: another process computes this shard", path)
                                : rf_fail(why, RF_EIO, "%.200s: cannot lock: %s", path, rf__os_reason(errno));
}

/* Removes the temporary files of this shard, which a killed process has left. */
static void sweep(const shard *s)
{
    char prefix[40], path[4096];
    snprintf(prefix, sizeof prefix, "part-%05lld-of-%05lld-", (long long)s->number, (long long)s->of);
    rf__os_folder *f = rf__os_folder_open(s->o->folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));)
        if (!strncmp(name, prefix, strlen(prefix)) && strstr(name, ".tmp-") &&
            !cli_join(path, sizeof path, s->o->folder, name, NULL))
            rf__os_remove(path);
    rf__os_folder_close(f);
}

/* Where the parts that are there end: they follow one another from the beginning of the shard. */
static rf_status follow(shard *s, const cli_parts *all, cli_place begin, rf_error *why)
{
    s->part.begin = begin;
    for (size_t i = 0; i < all->n; i++) {
        const cli_part *p = &all->part[i];
        if (p->number != (int64_t)i || p->begin.file != s->part.begin.file || p->begin.at != s->part.begin.at)
            return rf_fail(why, RF_EDATA, "%.200s/%s.json: expected a part that begins where the one before it ends, "
                           "got another; part %zu may be missing: remove the later ones", s->o->folder, p->name, i);
        s->part.begin = p->end;
        s->part.last = p->last;
    }
    s->part.number = (int64_t)all->n;
    return RF_OK;
}

static rf_status find_begin(shard *s, rf_error *why)
{
    cli_parts all;
    cli_place begin;
    rf_status status = cli_input_cut(&s->input, s->number - 1, s->of, &begin, why);
    if (!status) status = cli_input_cut(&s->input, s->number, s->of, &s->end, why);
    if (status) return status;
    status = cli_parts_read(s->o->folder, s->number, s->run, CLI_RUN_FILE, &all, why);
    if (!status && all.n && !s->o->resume)
        status = rf_fail(why, RF_EARG, "%.200s: expected no part of shard %lld, got %zu; --resume continues after them",
                         s->o->folder, (long long)s->number, all.n);
    if (!status) status = follow(s, &all, begin, why);
    cli_parts_clear(&all);
    return status;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static rf_status open_part(shard *s, rf_error *why)
{
    char path[4096];
    cli_embedder *e = s->e;
    s->part.shard = s->number;
    s->part.shards = s->of;
    s->part.run = s->run;
    s->part.ids = s->o->ids;
    snprintf(s->part.isa, sizeof s->part.isa, "%s", rf_ctx_isa(e->io->ctx));
    cli_part_name(&s->part);
    rf_status status = cli_part_path(path, sizeof path, s->o->folder, &s->part, ".f32", why);
    const cli_writer_options o = {.ctx = e->io->ctx, .path = path, .format = CLI_FORMAT_F32, .precision = -1,
                                  .width = cli_embedder_width(e), .ids = s->o->ids};
    if (!status) status = cli_writer_open(&e->writer, &o, why);
    e->most = s->o->rows < CLI_EMBED_WINDOW ? s->o->rows : CLI_EMBED_WINDOW;
    return status;
}

/* Also after a signal that requests a stop, which a part that has been computed outlives. */
static rf_status hash_part(const shard *s, const char *ending, uint64_t *hash, rf_error *why)
{
    char path[4096];
    int64_t size;
    const rf_status status = cli_part_path(path, sizeof path, s->o->folder, &s->part, ending, why);
    return status ? status : cli_hash_file(path, false, hash, &size, why);
}

/* What this part has of the report, which counts all that this run has computed. */
static void count_part(shard *s)
{
    const cli_embedder *e = s->e;
    s->part.rows = e->writer.count;
    s->part.zeros = e->zeros - s->zeros_before;
    s->part.tokens = e->all.tokens - s->before.tokens;
    s->part.cut = e->all.cut - s->before.cut;
    s->part.unknown = e->all.unknown - s->before.unknown;
    s->zeros_before = e->zeros;
    s->before = e->all;
}

static rf_status finish_part(shard *s, cli_place end, bool last)
{
    rf_error *why = &s->e->io->why;
    s->part.end = end;
    s->part.last = last;
    count_part(s);
    rf_status status = cli_embedder_ids(s->e);
    if (!status) status = cli_input_unchanged(&s->input, why);
    if (!status) status = cli_writer_finish(&s->e->writer, why);
    cli_writer_discard(&s->e->writer);
    if (!status) status = hash_part(s, ".f32", &s->part.data_hash, why);
    if (!status && s->part.ids) status = hash_part(s, ".f32.ids", &s->part.ids_hash, why);
    if (!status) status = cli_part_write(s->o->folder, &s->part, why);
    if (status || last) return status;
    s->part.begin = end;
    if (++s->part.number > CLI_MAX_PARTS)
        return rf_fail(why, RF_ERANGE, "--part-rows: expected at most %d parts of a shard, got more; use more rows",
                       CLI_MAX_PARTS);
    return RF_OK;
}

/* After each window. */
static rf_status part_if_full(cli_embedder *e, void *user)
{
    shard *s = user;
    const int64_t left = s->o->rows - e->writer.count;
    if (left > 0) {
        e->most = left < CLI_EMBED_WINDOW ? left : CLI_EMBED_WINDOW;
        return RF_OK;
    }
    const rf_status status = finish_part(s, (cli_place){e->file, e->at}, false);
    return status ? status : open_part(s, &e->io->why);
}

static rf_status embed_files(shard *s)
{
    cli_embedder *e = s->e;
    const cli_place begin = s->part.begin, end = s->end;
    rf_status status = open_part(s, &e->io->why);
    e->after = part_if_full;
    e->user = s;
    e->file = (int)begin.file;
    e->at = begin.at;
    for (int64_t f = begin.file; f < s->input.n && !status && !cli_stopped(); f++) {
        if (f > end.file || (f == end.file && !end.at)) break;
        status = cli_embedder_file(e, (int)f, f == begin.file ? begin.at : 0, f == end.file ? end.at : UINT64_MAX);
    }
    if (status) return status;
    if (!cli_stopped()) return finish_part(s, end, true);
    /* What has been computed when a signal asks for a stop is kept. */
    return e->writer.count ? finish_part(s, (cli_place){e->file, e->at}, false) : RF_OK;
}

/* A shard without records: there are fewer places to cut than shards. */
static void note_empty(const shard *s)
{
    int whole = 0;
    for (int i = 0; i < s->input.n; i++) whole += !s->input.file[i].cut;
    cli_note(s->e->io, "shard %lld of %lld has no records%s", (long long)s->number, (long long)s->of,
             whole ? ": csv, FASTA and compressed files are not cut; give several, or uncompressed lines" : "");
}

rf_status cli_embed_shard(cli_embedder *e, const cli_shard_options *o)
{
    shard s = {.e = e, .o = o, .lock = -1};
    rf_error *why = &e->io->why;
    rf_status status = read_shard(o, &s, why);
    if (!status) status = check_folder(e, o, why);
    if (!status) status = settle_run(&s, why);
    if (!status) status = take_lock(&s, why);
    if (!status) status = find_begin(&s, why);
    if (!status && s.part.last) {
        cli_note(e->io, "%s: shard %lld of %lld is complete", o->folder, (long long)s.number, (long long)s.of);
    } else if (!status) {
        if (s.part.begin.file == s.end.file && s.part.begin.at == s.end.at && !s.part.number) note_empty(&s);
        sweep(&s);
        status = embed_files(&s);
        cli_progress_clear(&e->bar);
        if (!status && !cli_stopped()) cli_embedder_note(e);
    }
    if (s.lock >= 0) rf__os_close(s.lock);
    cli_input_clear(&s.input);
    json_decref(s.run);
    return status;
}

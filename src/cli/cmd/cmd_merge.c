/* cmd_merge.c — roformer merge: joins the parts of a sharded run of roformer embed (embed/parts.h) in one file.
 *
 * Every record is there once: the first part begins at the beginning of the files, each other one where the part before
 * it ends, and the last one ends at their end.  The bytes of each part are compared with the hash in its manifest while
 * they are copied, before the file appears. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/embed/hash.h"
#include "cli/embed/parts.h"
#include "cli/embed/writer.h"
#include "cli/shell/commands.h"

struct args {
    const char *output;
    int format, precision, metric;
    cli_list folder;
};
enum { BLOCK = 1 << 20 };

typedef struct job {
    const struct args *a;
    cli_io *io;
    const char *folder;
    cli_parts parts;
    int64_t width, rows, done;
    cli_writer writer;
    float *block;                       /* rows that are copied                                                       */
    int64_t block_rows;
    float *range;                       /* [2,width] for int8 and uint8                                               */
    cli_hash *hash;
    cli_progress bar;
} job;

/* ---- is everything there? ---------------------------------------------------------------------------------------- */

/* Shards without a complete row of parts. */
static rf_status find_missing(const job *j, rf_error *why)
{
    cli_names names = {0};
    const int64_t shards = j->parts.part[0].shards;
    size_t i = 0;
    for (int64_t s = 1; s <= shards; s++) {
        char name[64];
        bool whole = false, gap = false;
        int64_t n = 0;
        for (; i < j->parts.n && j->parts.part[i].shard == s; i++, n++) {
            gap |= j->parts.part[i].number != n;
            whole = j->parts.part[i].last;
        }
        if (whole && !gap) continue;
        snprintf(name, sizeof name, "%lld/%lld (%s)", (long long)s, (long long)shards,
                 !n ? "no part" : gap ? "a part is missing" : "not finished");
        cli_names_add(&names, name);
    }
    if (!names.n) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.60s: expected all parts of %lld shards, got none or not all of --shard %.150s; "
                   "run them with --resume", j->folder, (long long)shards, cli_names_text(&names));
}

static rf_status check_order(const job *j, rf_error *why)
{
    cli_place at = {0, 0};
    const json_t *run = j->parts.part[0].run;
    for (size_t i = 0; i < j->parts.n; i++) {
        const cli_part *p = &j->parts.part[i];
        if (p->begin.file != at.file || p->begin.at != at.at)
            return rf_fail(why, RF_EDATA, "%.100s/%s.json: begin: expected file %lld, byte %llu, where the part "
                           "before it ends, got file %lld, byte %llu", j->folder, p->name, (long long)at.file,
                           (unsigned long long)at.at, (long long)p->begin.file, (unsigned long long)p->begin.at);
        at = p->end;
    }
    const int64_t files = json_integer_value(json_object_get(json_object_get(run, "input"), "files"));
    if (at.file == files && !at.at) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.100s/%s.json: end: expected the end of %lld files, got file %lld, byte %llu",
                   j->folder, j->parts.part[j->parts.n - 1].name, (long long)files, (long long)at.file,
                   (unsigned long long)at.at);
}

static rf_status find_parts(job *j, rf_error *why)
{
    rf_status status = cli_parts_read(j->folder, 0, NULL, NULL, &j->parts, why);
    if (status) return status;
    if (!j->parts.n)
        return rf_fail(why, RF_EDATA, "%.200s: expected parts of roformer embed --shard, got none", j->folder);
    status = find_missing(j, why);
    if (!status) status = check_order(j, why);
    j->width = json_integer_value(json_object_get(j->parts.part[0].run, "dimensions"));
    for (size_t i = 0; i < j->parts.n; i++) j->rows += j->parts.part[i].rows;
    return status;
}

/* ---- the rows of a part ------------------------------------------------------------------------------------------ */

static rf_status read_block(int fd, const char *path, void *to, size_t size, rf_error *why)
{
    for (size_t n = 0; n < size;) {
        const int64_t got = rf__os_read(fd, (char *)to + n, size - n);
        if (got < 0 && errno == EINTR && !cli_stopped()) continue;
        if (cli_stopped()) return rf_fail(why, RF_ESTOPPED, "stopped");
        if (got <= 0)
            return rf_fail(why, RF_EIO, "%.200s: cannot read: %s", path, got ? rf__os_reason(errno) : "it is shorter");
        n += (size_t)got;
    }
    return RF_OK;
}

typedef rf_status take_rows(job *j, const cli_part *p, cli_lines *ids, int64_t first, int64_t n);

static rf_status damaged(const char *path, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%.150s: expected the bytes whose XXH3 is in the part's manifest, got others; "
                   "remove the manifests of this part and of the later ones of its shard, and run it with --resume",
                   path);
}

/* Calls `take` for blocks of rows of a part. */
static rf_status each_block(job *j, const cli_part *p, cli_lines *ids, take_rows *take)
{
    char path[4096];
    rf_error *why = &j->io->why;
    rf_status status = cli_part_path(path, sizeof path, j->folder, p, ".f32", why);
    if (status) return status;
    const int fd = rf__os_open(path, RF__OS_READ);
    if (fd < 0) return rf_fail(why, RF_EIO, "%.200s: cannot open: %s", path, rf__os_reason(errno));
    rf__os_sequential(fd);
    cli_hash_again(j->hash);
    for (int64_t i = 0; i < p->rows && !status;) {
        const int64_t n = p->rows - i < j->block_rows ? p->rows - i : j->block_rows;
        const size_t size = (size_t)(n * j->width) * sizeof(float);
        status = read_block(fd, path, j->block, size, why);
        if (status) break;
        cli_hash_add(j->hash, j->block, size);
        status = take(j, p, ids, i, n);
        i += n;
    }
    rf__os_close(fd);
    if (!status && cli_hash_value(j->hash) != p->data_hash) status = damaged(path, why);
    return status;
}

static rf_status add_to_range(job *j, const cli_part *p, cli_lines *ids, int64_t first, int64_t n)
{
    (void)p, (void)ids;
    for (int64_t i = 0; i < n; i++)
        cli_range_add(j->range, j->block + i * j->width, (size_t)j->width, !j->done && !first && !i);
    j->done += n;
    return RF_OK;
}

static void show_progress(job *j)
{
    char text[64], rows[16];
    cli_count((double)j->done, rows, sizeof rows);
    snprintf(text, sizeof text, "%s rows", rows);
    cli_progress_show(&j->bar, "merging", j->rows ? (double)j->done / (double)j->rows : 1, text);
}

static rf_status write_rows(job *j, const cli_part *p, cli_lines *ids, int64_t first, int64_t n)
{
    rf_error *why = &j->io->why, inner = {0};
    rf_status status = RF_OK;
    for (int64_t i = 0; i < n && !status; i++) {
        const char *id = NULL;
        char number[24];
        size_t size;
        if (p->ids) status = cli_lines_next(ids, &id, &size, why);
        if (!status && p->ids && !id && !cli_stopped())
            status = rf_fail(why, RF_EDATA, "%.200s: expected %lld ids, got %lld", ids->name, (long long)p->rows,
                             (long long)(first + i));
        if (status || cli_stopped()) break;
        if (id) ((char *)(uintptr_t)id)[size] = 0;                  /* in the place of the line feed */
        snprintf(number, sizeof number, "%lld", (long long)(j->done + i + 1));
        if (!id && j->writer.format->layout == CLI_KEPT) id = number;
        const cli_seen_place place = {(uint64_t)(p - j->parts.part), (uint64_t)(first + i + 1)};
        status = cli_writer_add(&j->writer, j->block + i * j->width, 1, id, place, &inner);
        if (status) rf_fail(why, status, "%.60s/%s.f32: row %lld: %.200s", j->folder, p->name,
                            (long long)(first + i + 1), inner.text);
    }
    j->done += n;
    if (!status) show_progress(j);
    return status;
}

static rf_status write_part(job *j, const cli_part *p)
{
    char path[4096];
    rf_error *why = &j->io->why;
    cli_lines ids = {.fd = -1};
    uint64_t hash;
    int64_t size;
    if (!p->ids) return each_block(j, p, NULL, write_rows);
    rf_status status = cli_part_path(path, sizeof path, j->folder, p, ".f32.ids", why);
    if (!status) status = cli_hash_file(path, true, &hash, &size, why);
    if (!status && hash != p->ids_hash) status = damaged(path, why);
    if (!status) status = cli_lines_open(NULL, &ids, path, why);
    if (status) return status;
    status = each_block(j, p, &ids, write_rows);
    cli_lines_close(&ids);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static rf_status check_ids(job *j)
{
    cli_seen_place place[2];
    bool twice;
    const rf_status status = cli_writer_twice(&j->writer, &twice, place, &j->io->why);
    if (status || !twice) return status;
    return rf_fail(&j->io->why, RF_EDATA, "%.80s: id: expected each once, got that of line %llu of %s.f32.ids again "
                   "in line %llu of %s.f32.ids", j->folder, (unsigned long long)place[0].line,
                   j->parts.part[place[0].file].name, (unsigned long long)place[1].line,
                   j->parts.part[place[1].file].name);
}

static rf_status measure(job *j, cli_precision p)
{
    rf_status status = RF_OK;
    if (!cli_is_ranged(p)) return RF_OK;
    if (j->rows < 2)
        return rf_fail(&j->io->why, RF_EDATA, "--precision %s: expected two vectors or more, whose ranges are the "
                       "scale of the columns, got %lld; use f16 or f32",
                       cli_precision_of[p].option, (long long)j->rows);
    if (!(j->range = malloc((size_t)(2 * j->width) * sizeof *j->range))) return cli_no_memory(j->io);
    for (size_t i = 0; i < j->parts.n && !status; i++) status = each_block(j, &j->parts.part[i], NULL, add_to_range);
    j->done = 0;
    return status;
}

static rf_status write_file(job *j)
{
    const struct args *a = j->a;
    rf_error *why = &j->io->why;
    const bool given = cli_given(j->io->parsed, "precision");
    const cli_precision p = given ? (cli_precision)a->precision : cli_vector_formats[a->format].usual;
    rf_status status = measure(j, p);
    const cli_writer_options o = {.ctx = j->io->ctx, .path = a->output, .format = a->format, .precision = (int)p,
                                  .metric = a->metric, .width = (size_t)j->width, .ids = j->parts.part[0].ids,
                                  .range = j->range};
    if (!status) status = cli_writer_open(&j->writer, &o, why);
    for (size_t i = 0; i < j->parts.n && !status && !cli_stopped(); i++) status = write_part(j, &j->parts.part[i]);
    if (!status && !cli_stopped()) status = check_ids(j);
    if (!status && !cli_stopped()) status = cli_writer_finish(&j->writer, why);
    return status;
}

static void note_rows(const job *j)
{
    int64_t zeros = 0, cut = 0;
    const cli_part *first = j->parts.part, *other = NULL;
    for (size_t i = 0; i < j->parts.n; i++) {
        zeros += j->parts.part[i].zeros;
        cut += j->parts.part[i].cut;
        if (strcmp(j->parts.part[i].isa, first->isa)) other = &j->parts.part[i];
    }
    cli_note(j->io, "%lld vectors of %zu parts of %lld shards", (long long)j->rows, j->parts.n,
             (long long)j->parts.part[0].shards);
    if (other)
        cli_note(j->io, "%s was computed with the instruction set %s, %s with %s: the last bits of equal texts may "
                 "differ; embed --isa sets one for all", first->name, first->isa, other->name, other->isa);
    if (cut) cli_note(j->io, "%lld of them are of texts that were truncated (embed --max-length)", (long long)cut);
    if (zeros) cli_note(j->io, "%lld of them are zero, so their cosine is undefined", (long long)zeros);
}

static int run(void *arguments, cli_io *io)
{
    struct args *a = arguments;
    job j = {.a = a, .io = io, .folder = a->folder.item[0], .hash = cli_hash_new()};
    if (!cli_by_suffix(io->parsed, "format", a->output, &a->format))
        cli_note(io, "%s: expected the extension of a format, got another one; writing NumPy's format (--format "
                 "selects another)", a->output);
    cli_signals_catch();
    rf_status status = j.hash ? cli_writer_check_metric(io->parsed, a->format, &io->why) : cli_no_memory(io);
    if (!status) status = find_parts(&j, &io->why);
    if (!status) {
        const int64_t row = j.width * (int64_t)sizeof *j.block;
        j.block_rows = row < BLOCK ? BLOCK / row : 1;
        j.block = malloc((size_t)(j.block_rows * row));
        if (!j.block) status = cli_no_memory(io);
    }
    cli_progress_init(&j.bar, io, 30);
    if (!status) status = write_file(&j);
    cli_progress_clear(&j.bar);
    if (!status && !cli_stopped()) note_rows(&j);
    cli_writer_discard(&j.writer);
    cli_parts_clear(&j.parts);
    cli_hash_free(j.hash);
    free(j.block);
    free(j.range);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"output", 'o', CLI_FILE, A(output), "FILE", NULL, 0, 0, NULL,
     "write to FILE instead of standard output; FILE appears when it is complete", NULL},
    CLI_VECTOR_FILE_OPTIONS(struct args),
    {"DIR", 0, CLI_OPERANDS, A(folder), NULL, NULL, 1, 1, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "for r in 1 2; do roformer embed --id-field url -o parts --shard $r/2 --resume docs.jsonl; done",
    "roformer merge parts -o vectors.npy",
    "roformer merge parts --precision int8 -o codes.npy",
    "roformer merge parts --format pgvector | psql -c 'COPY docs (url, embedding) FROM STDIN'",
    NULL,
};

const cli_command cmd_merge = {
    "merge",
    "DIR",
    "join the parts of roformer embed --shard in one file",
    "Reads the manifests of all parts in the folder DIR, and checks that they are of one run (one model, the same "
    "files, the same options), that no part is missing, and that every record of the files is there once, because "
    "each part begins where the one before it ends.  Then writes the vectors in the order of the files, in any format "
    "of roformer embed.  The bytes of each part are compared with the hash in its manifest, and an id that two "
    "documents have is refused.  If anything is wrong, the command names the part and writes no FILE.  Memory does "
    "not depend on the number of rows.  The result has the same bytes as that of roformer embed without shards.\n"
    "docs/formats.md describes the files of a part.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};

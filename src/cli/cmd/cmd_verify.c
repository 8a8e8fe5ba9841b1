/* cmd_verify.c — roformer verify: checks whether the files of a folder are intact. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "roformer/inspect/files.h"
#include "roformer/inspect/folder.h"

struct args { cli_list folder; int json, verbose; };

typedef struct verdict {
    cli_io *io;
    const struct args *a;
    json_t *all;                        /* one object for each folder, with --json                                    */
    json_t *files;                      /* of this folder                                                             */
    json_t *unlisted;                   /* those of its files that have no checksum, with --json                      */
    cli_names without;                  /* ... otherwise                                                              */
    const char *folder;
    int64_t folders, damaged, read;
    rf_error first;                     /* damage                                                                     */
} verdict;

static void report(void *user, const char *file, const char *damage)
{
    verdict *v = user;
    v->read++;
    if (v->a->json)
        cli_json_add(&v->files, json_pack("{s:o, s:o}", "name", cli_text_json(file, strlen(file)), "damage",
                                                  damage ? json_string(damage) : json_null()));
    if (v->a->json || !(damage || v->a->verbose)) return;
    cli_put_name(v->folder);
    putchar('/');
    cli_put_name(file);
    if (damage) printf(": damaged (%s)\n", damage);
    else puts(": intact");
}

static void report_unlisted(void *user, const char *file, const char *damage)
{
    (void)damage;
    verdict *v = user;
    if (v->a->json) cli_json_add(&v->unlisted, cli_text_json(file, strlen(file)));
    else cli_names_add(&v->without, file);
}

/* Reads the text files next to the weights, listed or not: a dictionary, a tokenizer.json, modules. */
static rf_status read_texts(verdict *v, const char *list, rf_error *why)
{
    rf_tokenizer *t = NULL;
    rf_sentence s;
    rf_error own = {0};
    rf_status status = rf_sentence_read(v->io->ctx, v->folder, &s, &own);
    if (!status) rf_sentence_free(&s);
    if (!status && rf_tokenizer_found(v->io->ctx, v->folder))
        status = rf_tokenizer_open(v->io->ctx, v->folder, &t, &own);
    rf_tokenizer_free(t);
    if (!status) return RF_OK;                                 /* also without a tokenizer: only weights, or an index */
    return rf_fail(why, status, "%s, but the folder cannot be opened: %.200s",
                   list ? "the listed files are as they were written" : "weights and configuration can be read",
                   own.text);
}

/* A folder without a list of checksums, from another program: checks whether its files are consistent. */
static rf_status read_whole(verdict *v, rf_error *why)
{
    rf_model *m;
    const rf_status status = rf_model_open(v->io->ctx, v->folder, &m, why);
    if (status) return status;
    cli_note_vocabulary(v->io, v->folder, m);
    rf_model_close(m);
    return RF_OK;
}

static void end_folder(verdict *v, const char *list, rf_status status, const rf_error *why)
{
    v->folders++;
    v->damaged += status != RF_OK;
    if (status && !v->first.code) rf_fail(&v->first, status, "%s: %s", v->folder, why->text);
    if (v->a->json)
        cli_json_add(&v->all, json_pack("{s:o, s:s?, s:b, s:s?, s:O, s:O}", "folder",
                                        cli_text_json(v->folder, strlen(v->folder)), "list", list, "intact", !status,
                                        "damage", status ? why->text : NULL, "files", v->files, "unlisted",
                                        v->unlisted));
    else if (v->without.n)
        cli_note(v->io, "%s: without a checksum, and not compared: %s; %s is of an earlier version, or the files came "
                 "later", v->folder, cli_names_text(&v->without), list);
}

static void verify_one(verdict *v, const char *folder, const char *list)
{
    rf_error why = {0};
    v->folder = folder;
    v->files = json_array();
    v->unlisted = json_array();
    v->without = (cli_names){0};
    rf_status status = list ? rf_checksums_verify(v->io->ctx, folder, list, report, v, &why) : read_whole(v, &why);
    if (!status && list && !strcmp(list, RF_FILE_CHECKSUMS))
        status = rf_checksums_unlisted(v->io->ctx, folder, report_unlisted, v, &why);
    if (!status) status = read_texts(v, list, &why);
    end_folder(v, list, status, &why);
    json_decref(v->files);
    json_decref(v->unlisted);
}

/* Prints one line for the result. */
static void print_verdict(const verdict *v, const char *folder, bool listed, const verdict *before)
{
    const long long folders = v->folders - before->folders, damaged = v->damaged - before->damaged;
    if (v->a->json) return;
    cli_put_name(folder);
    if (damaged) printf(": damaged: %lld of %lld folders\n", damaged, folders);
    else if (listed)
        printf(": intact: %lld files in %lld folder%s\n", (long long)(v->read - before->read), folders,
               folders == 1 ? "" : "s");
    else
        printf(": has no checksums; configuration%s can be read and fit together\n",
               rf_tokenizer_found(v->io->ctx, folder) ? ", weights and vocabulary" : " and weights");
}

/* A checkpoint, a trained model, or the folder of a run: its checkpoints, and its model if it has one. */
static rf_status verify_folder(verdict *v, const char *folder, rf_error *why)
{
    rf_checkpoints all;
    char path[4096], name[64];
    const verdict before = *v;
    const char *list = rf_checksums_found(folder);
    rf_status status = rf_checkpoints_list(v->io->ctx, folder, &all, why);
    if (status) return status;
    const size_t n = all.n;
    for (size_t i = 0; i < n && !status; i++) {
        snprintf(name, sizeof name, "checkpoint-%" PRId64, all.step[i]);
        status = cli_join(path, sizeof path, folder, name, why);
        if (!status) verify_one(v, path, RF_FILE_COMPLETE);
    }
    rf_checkpoints_free(&all);
    if (!status && (list || !n || !rf_weights_path(folder, path, sizeof path, NULL))) verify_one(v, folder, list);
    if (!status) print_verdict(v, folder, list || n, &before);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    char folder[4096];
    verdict v = {.io = io, .a = a, .all = json_array()};
    rf_status status = v.all ? RF_OK : rf_fail(&io->why, RF_ENOMEM, "out of memory");
    for (int i = 0; i < a->folder.n && !status; i++) {
        status = cli_model_folder(a->folder.item[i], folder, sizeof folder, &io->why);
        if (!status) status = verify_folder(&v, folder, &io->why);
    }
    if (!status && a->json) status = cli_print_json(json_incref(v.all), JSON_INDENT(1), &io->why);
    json_decref(v.all);
    if (status) return cli_exit(io);
    if (!v.damaged) return CLI_DONE;
    if (v.folders == 1) rf_fail(&io->why, v.first.code, "%s", v.first.text);
    else
        rf_fail(&io->why, v.first.code, "%lld of %lld folders are damaged; %s", (long long)v.damaged,
                (long long)v.folders, v.first.text);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"verbose", 'v', CLI_FLAG, A(verbose), NULL, NULL, 0, 0, NULL,
     "print a line for every file, not only for damaged ones", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print a list with one object per folder", NULL},
    {"FOLDER", 0, CLI_OPERANDS, A(folder), NULL, NULL, 1, 1e6, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer verify my-model",
    "roformer verify my-model/checkpoint-15",
    NULL,
};

const cli_command cmd_verify = {
    "verify",
    "FOLDER...",
    "verify the checksums of checkpoints and models",
    "Reads every file of a checkpoint, of a trained model, or of all checkpoints of a run, and compares it with the "
    "checksums that were written with it (COMPLETE, checksums.json).  Those of a model are of all files that its "
    "results depend on, also in the folders of its modules; a note names such files that the list lacks.  Prints for "
    "each FOLDER whether it is intact, and which files are damaged.  Exits with status 3 if a file is damaged, or if a "
    "file without a checksum, such as a damaged tokenizer.json, prevents the model from being opened.  A model without "
    "checksums is read completely: its weights must be finite and match its configuration.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};

/* cmd_demo.c — roformer demo: shows the program with the commands that a user would type. */
#include <errno.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "cli/os/program.h"

struct args { const char *model, *sentence_model, *lines; };

static const char *const blanks[] = {
    "She won the gold [MASK] at the Olympic Games.",
    "He was elected to the House of [MASK] in 1998.",
    "The river flows into the [MASK] Sea.",
    "The band released their first [MASK] in 1985.",
    "He studied law at the [MASK] of Oxford in the 18th [MASK].",
};

/* Sentences that are compared, and searched if there are no --lines. */
static const char *const sentences[] = {
    "The orchestra played a symphony in the concert hall.",
    "The band recorded a new album of songs.",
    "The team won the match in the last minute.",
    "The football club signed a new player.",
    "The river flows through the valley to the sea.",
    "Heavy rain is expected in the north tomorrow.",
};

enum { BLANKS = sizeof blanks / sizeof *blanks, SENTENCES = sizeof sentences / sizeof *sentences, QUESTIONS = 3 };

/* Queries for the lines of --lines, or for the sentences. */
static const char *const of_lines[QUESTIONS] = {"train a model on my own text", "what happens when a run is killed",
                                                "which models from Hugging Face can be read"};
static const char *const of_sentences[QUESTIONS] = {"a concert", "bad weather", "sport"};

typedef struct job {
    const struct args *a;
    cli_io *io;
    char self[4096];
    char folder[4096];                  /* a temporary folder in which the commands run */
} job;

/* ---- a command: this program with other arguments ---------------------------------------------------------------- */

/* Prints the command and runs it; its output follows, and its exit code is passed on. model: or NULL. */
static int run_command(job *j, const char *model, const char *shown, const char *const arguments[], int n)
{
    const char *all[16 + BLANKS] = {"roformer"};
    int count = 1;
    for (int i = 0; i < n; i++) all[count++] = arguments[i];
    if (model) {
        all[count++] = "-m";
        all[count++] = model;
    }
    printf("\n%s$ roformer %s%s%s%s\n", j->io->color_out ? "\033[1;32m" : "", shown, model ? " -m " : "",
           model ? model : "", j->io->color_out ? "\033[0m" : "");
    if (cli_flush(&j->io->why)) return cli_exit(j->io);
    const int code = cli_os_run(j->self, all, -1);
    if (code >= 0) return code;
    rf_fail(&j->io->why, RF_EIO, "%.200s cannot be run: %s", j->self, rf__os_reason(errno));
    return cli_exit(j->io);
}

/* ---- the acts ---------------------------------------------------------------------------------------------------- */

/* The model for vectors; NULL: the default of the commands. */
static const char *sentence_model(const job *j)
{
    return j->a->sentence_model ? j->a->sentence_model : j->a->model;
}

static int fill_masks(job *j)
{
    const char *arguments[2 + BLANKS] = {"fill-mask", "--top-k=3"};
    for (int i = 0; i < BLANKS; i++) arguments[2 + i] = blanks[i];
    return run_command(j, j->a->model, "fill-mask --top-k 3 \"She won the gold [MASK] at the Olympic Games.\" ...",
                       arguments, 2 + BLANKS);
}

static void show_sentences(void)
{
    printf("\n");
    for (int i = 0; i < SENTENCES; i++) printf("  %d  %s\n", i + 1, sentences[i]);
}

static int search(job *j)
{
    char index[4200], own[4200], shown[256];
    const char *const *asked = j->a->lines ? of_lines : of_sentences;
    snprintf(index, sizeof index, "%s/lines.index", j->folder);
    snprintf(own, sizeof own, "%s/sentences.txt", j->folder);
    const char *const make[] = {"index", "-q", "-o", index, j->a->lines ? j->a->lines : own};
    snprintf(shown, sizeof shown, "index -o lines.index %.200s", j->a->lines ? j->a->lines : "sentences.txt");
    if (!j->a->lines) show_sentences();
    int code = run_command(j, sentence_model(j), shown, make, 5);
    for (int i = 0; i < QUESTIONS && !code; i++) {
        const char *const find[] = {"search", "--top-k=2", index, asked[i]};
        snprintf(shown, sizeof shown, "search --top-k 2 lines.index \"%s\"", asked[i]);
        code = run_command(j, sentence_model(j), shown, find, 4);
    }
    return code;
}

static int compare(job *j)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/sentences.txt", j->folder);
    if (j->a->lines) show_sentences();
    const char *const arguments[] = {"similarity", path};
    return run_command(j, sentence_model(j), "similarity sentences.txt", arguments, 2);
}

/* ---- the folder of the acts -------------------------------------------------------------------------------------- */

static rf_status make_folder(job *j)
{
    char path[4200];
    rf_error *why = &j->io->why;
    snprintf(j->folder, sizeof j->folder, "%.4000s/roformer-demo-XXXXXX", cli_temporary_place());
    if (rf__os_temporary_folder(j->folder))
        return rf_fail(why, RF_EIO, "%s: cannot create: %s", j->folder, rf__os_reason(errno));
    snprintf(path, sizeof path, "%s/sentences.txt", j->folder);
    FILE *f = rf__os_stream(path, "w");
    for (int i = 0; i < SENTENCES && f; i++) fprintf(f, "%s\n", sentences[i]);
    if (!f || fclose(f)) return rf_fail(why, RF_EIO, "%s: cannot write: %s", path, rf__os_reason(errno));
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    static int (*const act[])(job *) = {fill_masks, search, compare};
    job j = {.a = arguments, .io = io};
    char masked[4096], vectors[4096];
    cli_lines lines;
    int code = 0;
    if (!rf__os_self(j.self, sizeof j.self))
        rf_fail(&io->why, RF_EIO, "cannot find this program: %s", rf__os_reason(errno));
    if (!io->why.code) cli_model_folder(j.a->model, masked, sizeof masked, &io->why);
    if (!io->why.code) cli_sentence_folder(sentence_model(&j), vectors, sizeof vectors, &io->why);
    if (!io->why.code && j.a->lines && !cli_lines_open(io->ctx, &lines, j.a->lines, &io->why)) cli_lines_close(&lines);
    if (io->why.code || make_folder(&j)) return cli_exit(io);
    printf("masked language model: %s\nsentence model: %s\n", masked, vectors);
    for (size_t i = 0; i < sizeof act / sizeof *act && !code; i++) code = act[i](&j);
    rf__os_remove_tree(j.folder);
    if (!code) printf("\nroformer help lists the commands; roformer pretrain trains a model on your own text.\n");
    return code ? code : cli_exit(io);
}

static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(struct args, model, "folder of a masked language model (default: the shipped one)"),
    {"sentence-model", 0, CLI_FOLDER, offsetof(struct args, sentence_model), "DIR", NULL, 0, 0, NULL,
     "model that computes vectors (default: that of -m, otherwise the shipped one)", NULL},
    {"lines", 0, CLI_FILE, offsetof(struct args, lines), "FILE", NULL, 0, 0, NULL,
     "search the lines of FILE (default: a few built-in sentences)", NULL},
    {0},
};

static const char *const examples[] = {"roformer demo", NULL};

const cli_command cmd_demo = {
    "demo", "", "fill masks, search and compare sentences with the shipped models",
    "Runs fill-mask, index, search and similarity on a few sentences, and prints each command with its output.  "
    "fill-mask uses a masked language model; vectors come from a sentence model if there is one.",
    examples, options, sizeof(struct args), NULL, run,
};

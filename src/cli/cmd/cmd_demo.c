/* cmd_demo.c — roformer demo: the program shown by itself, with the commands that a person would type. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/shell/commands.h"
#include "cli/shell/io.h"

struct args { const char *model; };

static const char *const blanks[] = {
    "The capital of France is [MASK].",
    "She opened the window because the room was too [MASK].",
    "The doctor told him to stay in [MASK] for a week.",
    "They crossed the river by [MASK].",
    "In [MASK], the leaves turn red and fall from the trees.",
    "The [MASK] of the city was built in the 19th [MASK].",
};

static const char *const sentences[] = {
    "The orchestra played a symphony in the concert hall.",
    "The band recorded a new album of songs.",
    "The team won the match in the last minute.",
    "The football club signed a new player.",
    "The river flows through the valley to the sea.",
};
enum { BLANKS = sizeof blanks / sizeof *blanks, SENTENCES = sizeof sentences / sizeof *sentences };

typedef struct job {
    const struct args *a;
    cli_io *io;
    char self[4096];
} job;

/* ---- a child: this program with other arguments ------------------------------------------------------------------ */

typedef struct child { pid_t pid; int in, out; } child;        /* in, out: our ends of its pipes, -1 when it has ours */

static void shut(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static rf_status start(const job *j, const char *const arguments[], bool piped, child *c, rf_error *why)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    int to[2] = {-1, -1}, from[2] = {-1, -1}, e = 0;
    *c = (child){-1, -1, -1};
    if (piped && (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))) e = errno;
    posix_spawn_file_actions_init(&files);
    if (piped) {
        posix_spawn_file_actions_adddup2(&files, to[0], 0);
        posix_spawn_file_actions_adddup2(&files, from[1], 1);
    }
    if (!e) e = posix_spawn(&c->pid, j->self, &files, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    shut(&to[0]);
    shut(&from[1]);
    c->in = to[1];
    c->out = from[0];
    if (!e) return RF_OK;
    shut(&c->in);
    shut(&c->out);
    return rf_fail(why, RF_EIO, "%.200s cannot be run: %s", j->self, strerror(e));
}

/* The child's own words are on the screen already; its exit code becomes ours. */
static int finish(child *c)
{
    int code = 0;
    shut(&c->in);
    shut(&c->out);
    while (waitpid(c->pid, &code, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
}

static void show(const job *j, const char *line)
{
    printf("\n%s$ roformer %s%s\n", j->io->color_out ? "\033[1;32m" : "", line, j->io->color_out ? "\033[0m" : "");
}

/* ---- the acts ---------------------------------------------------------------------------------------------------- */

static int fill_masks(job *j)
{
    const char *arguments[8 + BLANKS] = {"roformer", "fill-mask", "--top-k=5"};
    int n = 3;
    if (j->a->model) {
        arguments[n++] = "-m";
        arguments[n++] = j->a->model;
    }
    show(j, "fill-mask \"The capital of France is [MASK].\" ...");
    for (int i = 0; i < BLANKS; i++) arguments[n++] = blanks[i];
    child c;
    if (cli_flush(&j->io->why) || start(j, arguments, false, &c, &j->io->why)) return cli_exit(j->io);
    return finish(&c);
}

static int tokenize(job *j)
{
    const char *arguments[8] = {"roformer", "tokenize", "Rotary embeddings turn vectors."};
    if (j->a->model) {
        arguments[3] = "-m";
        arguments[4] = j->a->model;
    }
    show(j, "tokenize \"Rotary embeddings turn vectors.\"");
    child c;
    if (cli_flush(&j->io->why) || start(j, arguments, false, &c, &j->io->why)) return cli_exit(j->io);
    return finish(&c);
}

static void print_cosines(const float *v, size_t C)
{
    for (int i = 0; i < SENTENCES; i++) {
        printf("  %d  %-54s", i + 1, sentences[i]);
        for (int k = 0; k < SENTENCES; k++) {
            double dot = 0;
            for (size_t c = 0; c < C; c++) dot += (double)v[(size_t)i * C + c] * (double)v[(size_t)k * C + c];
            printf(" %5.2f", dot);
        }
        printf("\n");
    }
    printf("  %57s", "");
    for (int k = 0; k < SENTENCES; k++) printf(" %5d", k + 1);
    printf("\n");
}

static int embed(job *j)
{
    const char *arguments[10] = {"roformer", "embed", "--normalize", "--format=f32"};
    rf_error *why = &j->io->why;
    child c;
    float *v = NULL;
    size_t bytes = 0, capacity = 1 << 20;
    if (j->a->model) {
        arguments[4] = "-m";
        arguments[5] = j->a->model;
    }
    show(j, "embed --normalize --format f32 < sentences.txt        # the cosines of the vectors");
    if (cli_flush(why) || start(j, arguments, true, &c, why)) return cli_exit(j->io);
    for (int i = 0; i < SENTENCES; i++) dprintf(c.in, "%s\n", sentences[i]);
    shut(&c.in);
    if (!(v = malloc(capacity))) rf_fail(why, RF_ENOMEM, "out of memory");
    for (ssize_t got = 1; v && got > 0 && bytes < capacity; bytes += got > 0 ? (size_t)got : 0)
        do got = read(c.out, (char *)v + bytes, capacity - bytes);
        while (got < 0 && errno == EINTR);
    const int code = finish(&c);
    if (!code && v && bytes && bytes % (SENTENCES * sizeof *v) == 0) print_cosines(v, bytes / sizeof *v / SENTENCES);
    else if (!code) rf_fail(why, RF_EDATA, "embed gave %zu bytes for %d sentences", bytes, SENTENCES);
    free(v);
    return code ? code : cli_exit(j->io);
}

static int run(void *arguments, cli_io *io)
{
    static int (*const act[])(job *) = {fill_masks, tokenize, embed};
    job j = {.a = arguments, .io = io};
    char folder[4096];
    int code = 0;
    const ssize_t n = readlink("/proc/self/exe", j.self, sizeof j.self - 1);
    if (n <= 0) rf_fail(&io->why, RF_EIO, "cannot find this program: %s", strerror(errno));
    else j.self[n] = 0;
    if (!io->why.code) cli_model_folder(j.a->model, folder, sizeof folder, &io->why);
    if (io->why.code) return cli_exit(io);
    printf("model: %s\n", folder);
    for (size_t i = 0; i < sizeof act / sizeof *act && !code; i++) code = act[i](&j);
    if (!code) printf("\nroformer help lists the commands; roformer pretrain trains a model on your own text.\n");
    return code;
}

static const cli_option options[] = {
    CLI_MODEL_OPTION(struct args, model),
    {0},
};

static const char *const examples[] = {"roformer demo", NULL};

const cli_command cmd_demo = {
    "demo", "", "fill masks and embed sentences with the shipped model",
    "Runs fill-mask, tokenize and embed on a few sentences, and prints each command and its output.",
    examples, options, sizeof(struct args), NULL, run,
};

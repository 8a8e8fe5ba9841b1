/* cmd_serve.c — roformer serve: answers HTTP requests (src/serve) until a signal ends it.
 *
 * SIGTERM and SIGINT: accepted requests are answered, then exit 0; a second one does not wait for them. SIGHUP: the
 * models are loaded again. SIGUSR1: the access log is opened again. Windows: Ctrl-C and Ctrl-Break end it so; the end
 * of the console, which leaves five seconds, does not wait for requests. */
#ifdef RF_SERVE
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#endif

#include "cli/shell/commands.h"
#include "cli/io/io.h"
#ifdef RF_SERVE
#include "base/os/os.h"
#include "cli/os/program.h"
#include "cli/shared/serve_demo.h"
#include "serve/serve.h"
#else
typedef struct srv_limits {
#define SRV_LIMIT(member, option, variable, initial, least, most, unit, what) int64_t member;
#include "serve/limits.def"
} srv_limits;
#endif

struct args {
    const char *index, *host, *unix_path, *key_file, *cors, *log, *languages;
    int64_t port;
    int log_format, no_truncate, demo, any_model;
    cli_list models, dtypes, aliases, hosts;
    srv_limits limits;
};

#ifdef RF_SERVE

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static atomic_int ends, reload, reopen;
static const char *_Atomic socket_file; /* that is removed at the end, or NULL */

static void on_end(int number) { ends += number == 1 ? 2 : 1; }

static void on_reload(int number)
{
    (void)number;
    reload = 1;
}

static void on_reopen(int number)
{
    (void)number;
    reopen = 1;
}

/* What does not end by itself is not waited for. */
static void on_late(int number)
{
    static const char text[] = "roformer: a request did not end in time\n";
    (void)number;
    const int64_t written = rf__os_write(2, text, sizeof text - 1);
    (void)written;
    const char *file = socket_file;
    if (file) rf__os_remove(file);
    _Exit(0);
}

/* From now on, the process ends within a second. */
static void end_soon(const char *unix_path)
{
    socket_file = unix_path;
    cli_os_after(0.8, on_late);
}

static bool shorten_grace(void *user)
{
    (void)user;
    return ends > 1;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

typedef struct job {
    cli_io *io;
    const struct args *a;
    rf_ctx *ctx;
    srv_options o;
    srv_model_option *model;
    srv_alias *alias;
    char (*folder)[4096];     /* [models]                                                                   */
    char **name;              /* [models], [aliases]                                                        */
    int names;
    serve_demo demo;
    int log;   /* descriptor, or -1                                                          */
    bool lost; /* a line could not be written                                                */
    bool half; /* but a part of it was                                                       */
} job;

/* Writes what it can; returns how much that was. */
static size_t write_part(int fd, const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        const int64_t n = rf__os_write(fd, text + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += (size_t)n;
    }
    return at;
}

/* Takes back what was written last. false: it stays, as in a pipe. */
static bool take_back(int fd, size_t size)
{
    rf__os_state st;
    return !rf__os_look_file(fd, &st) && st.kind == RF__OS_FILE && st.size >= (int64_t)size &&
           !rf__os_cut(fd, st.size - (int64_t)size);
}

/* The access log. A full disk does not stop the server; it is reported once. Of a line that does not fit, nothing is
 * written, or else it is ended before the next one. */
static void write_log(void *user, const char *line, size_t size)
{
    job *j = user;
    if (j->half) j->half = !write_part(j->log, "\n", 1);
    const size_t done = j->half ? 0 : write_part(j->log, line, size);
    if (done < size) {
        if (!j->lost) cli_error("--access-log %s: expected to write a line, got: %s", j->a->log, rf__os_reason(errno));
        j->lost = true;
        j->half |= done > 0 && !take_back(j->log, done);
        return;
    }
    if (j->lost) cli_error("--access-log %s: lines are written again", j->a->log);
    j->lost = false;
}

static void note(void *user, const char *sentence)
{
    const job *j = user;
    cli_note(j->io, "%s", sentence);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static char *keep(job *j, const char *text, size_t n)
{
    char *own = malloc(n + 1);
    char **more = own ? realloc(j->name, (size_t)(j->names + 1) * sizeof *more) : NULL;
    if (!more) {
        free(own);
        return NULL;
    }
    memcpy(own, text, n);
    own[n] = 0;
    j->name = more;
    return j->name[j->names++] = own;
}

static bool is_folder(const char *path)
{
    rf__os_state st;
    return !rf__os_look(path, &st) && st.kind == RF__OS_FOLDER;
}

/* NAME=DIR or DIR, whose name is the last part of its path. */
static rf_status add_model(job *j, int i, const char *given)
{
    const char *equal = given && !is_folder(given) ? strchr(given, '=') : NULL;
    char last[256];
    rf_error *why = &j->io->why;
    rf_status status = cli_sentence_folder(equal ? equal + 1 : given, j->folder[i], sizeof *j->folder, why);
    if (status) return status;
    const char *folder = j->folder[i], *name = equal ? given : last;
    cli_model_name(given ? given : folder, last, sizeof last);
    if (given && equal == given)
        return rf_fail(why, RF_EARG, "--model %s: expected NAME=DIR, got an empty name", given);
    if (equal && !equal[1])
        return rf_fail(why, RF_EARG, "--model %s: expected NAME=DIR, got no folder after the name", given);
    srv_model_option *m = &j->model[i];
    *m = (srv_model_option){.name = keep(j, name, equal ? (size_t)(equal - given) : strlen(name)), .folder = folder};
    if (!m->name) return cli_no_memory(j->io);
    const cli_list *types = &j->a->dtypes;
    const char *type = !types->n ? "f32" : types->item[types->n == 1 ? 0 : i];
    const int choice = cli_choice(CLI_DTYPES, type);
    if (choice < 0) return rf_fail(why, RF_EARG, "--dtype: expected one of %s, got '%.60s'", CLI_DTYPES, type);
    m->type = cli_dtype(choice);
    return RF_OK;
}

/* The shipped models in place of --model. */
static rf_status open_demo(job *j)
{
    if (!j->a->demo) return RF_OK;
    if (j->a->models.n || j->a->index)
        return rf_fail(&j->io->why, RF_EARG,
                       "--demo: expected neither --model (or ROFORMER_MODEL) nor --index, which it chooses itself");
    return serve_demo_open(j->io, &j->demo);
}

static const char *model_of(const job *j, int i)
{
    if (j->a->demo) return j->demo.model[i];
    return j->a->models.n ? j->a->models.item[i] : NULL;
}

static rf_status add_models(job *j)
{
    const cli_list *list = &j->a->models;
    const int n = j->a->demo ? j->demo.models : list->n ? list->n : 1, types = j->a->dtypes.n;
    if (types > 1 && types != n)
        return rf_fail(&j->io->why, RF_EARG, "--dtype: expected one, or one for each of %d models, got %d", n, types);
    j->model = calloc((size_t)n, sizeof *j->model);
    j->folder = calloc((size_t)n, sizeof *j->folder);
    if (!j->model || !j->folder) return cli_no_memory(j->io);
    for (int i = 0; i < n; i++) {
        const rf_status status = add_model(j, i, model_of(j, i));
        if (status) return status;
    }
    j->o.model = j->model;
    j->o.models = n;
    return RF_OK;
}

/* NAME=MODEL, or NAME for the first model. */
static rf_status add_aliases(job *j)
{
    const cli_list *list = &j->a->aliases;
    if (!list->n) return RF_OK;
    j->alias = calloc((size_t)list->n, sizeof *j->alias);
    if (!j->alias) return cli_no_memory(j->io);
    for (int i = 0; i < list->n; i++) {
        const char *equal = strrchr(list->item[i], '=');
        const size_t n = equal ? (size_t)(equal - list->item[i]) : strlen(list->item[i]);
        j->alias[i] = (srv_alias){.name = keep(j, list->item[i], n), .model = equal ? equal + 1 : j->model[0].name};
        if (!j->alias[i].name) return cli_no_memory(j->io);
    }
    j->o.alias = j->alias;
    j->o.aliases = list->n;
    return RF_OK;
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

/* The socket that systemd opened for us (sd_listen_fds(3)), or -1. */
static rf_status find_inherited(job *j)
{
    const char *pid = cli_os_variable("LISTEN_PID"), *n = cli_os_variable("LISTEN_FDS");
    j->o.inherited = -1;
    if (!pid || !n || atol(pid) != rf__os_process()) return RF_OK;
    if (atoi(n) > 1) return rf_fail(&j->io->why, RF_EARG, "LISTEN_FDS: expected one socket of systemd, got %.20s", n);
    if (atoi(n) == 1) j->o.inherited = 3;
    return RF_OK;
}

static int open_log_file(const char *path)
{
    return rf__os_open(path, RF__OS_WRITE_ONLY | RF__OS_CREATE | RF__OS_APPEND | RF__OS_PRIVATE);
}

static rf_status open_log(job *j)
{
    const char *path = j->a->log;
    j->log = -1;
    if (!path) return RF_OK;
    j->log = !strcmp(path, "-") ? 1 : open_log_file(path);
    if (j->log < 0)
        return rf_fail(&j->io->why, RF_EIO, "--access-log %s: expected to open this file, got: %s", path,
                       rf__os_reason(errno));
    j->o.log = write_log;
    return RF_OK;
}

/* Replaces the descriptor, which other threads write to, by one of a new file of that name. */
static void reopen_log(const job *j)
{
    if (j->log < 0 || !strcmp(j->a->log, "-")) return;
    const int fd = open_log_file(j->a->log);
    if (fd >= 0 && !cli_os_replace(fd, j->log)) cli_note(j->io, "--access-log %s: opened again", j->a->log);
    else
        cli_error("--access-log %s: expected to open this file again, got: %s; the old one is written", j->a->log,
                  rf__os_reason(errno));
    if (fd >= 0) rf__os_close(fd);
}

static rf_status check_languages(const job *j)
{
    const char *l = j->a->languages, *colon = l ? strchr(l, ':') : NULL;
    if (!l || (colon && colon > l && colon[1] && strlen(l) < 32)) return RF_OK;
    return rf_fail(&j->io->why, RF_EARG, "--languages %.40s: expected SOURCE:TARGET, for example en:de", l);
}

static void set_options(job *j)
{
    const struct args *a = j->a;
    srv_options *o = &j->o;
    o->ctx = j->io->ctx;
    o->index = a->demo ? j->demo.index : a->index;
    o->host = a->host;
    o->port = (int)a->port;
    o->unix_path = a->unix_path;
    o->key_file = a->key_file;
    o->key = cli_os_variable("ROFORMER_API_KEY");
    if (o->key && !*o->key) o->key = NULL;
    o->cors_origin = a->cors;
    o->allowed_host = a->hosts.item;
    o->allowed_hosts = a->hosts.n;
    o->languages = a->languages;
    o->any_model = a->any_model;
    o->auto_truncate = !a->no_truncate;
    o->limits = a->limits;
    o->log_json = !a->log_format;
    o->note = note;
    o->user = j;
}

static void report_address(const job *j, const srv_server *s)
{
    const struct args *a = j->a;
    const bool six = strchr(a->host, ':');
    if (j->o.inherited >= 0) cli_note(j->io, "listening on the socket of systemd, port %d", srv_port(s));
    else if (srv_port(s))
        cli_note(j->io, "listening on http://%s%s%s:%d", six ? "[" : "", a->host, six ? "]" : "", srv_port(s));
    else cli_note(j->io, "listening on %s", a->unix_path);
    if (srv_port(s) && a->demo) cli_note(j->io, "open this address in a browser; Ctrl-C ends the server");
}

/* Until a signal, or until a model cannot be loaded at all. */
static rf_status serve(job *j, srv_server *s)
{
    int ready = 0;
    while (!ends) {
        if (!ready && (ready = srv_ready(s, &j->io->why)) < 0) return j->io->why.code;
        if (reload) {
            reload = 0;
            cli_note(j->io, "loading the models again");
            srv_reload(s);
        }
        if (reopen) {
            reopen = 0;
            reopen_log(j);
        }
        rf__os_sleep(0.02);
    }
    cli_note(j->io, "shutting down: accepted requests are answered");
    const int64_t left = srv_drain(s, shorten_grace);
    end_soon(j->a->unix_path);
    if (left) cli_note(j->io, "%lld requests were not answered within --drain-timeout", (long long)left);
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io, .log = -1};
    srv_server *s = NULL;
    rf_status status = open_demo(&j);
    if (!status) status = add_models(&j);
    if (!status) status = add_aliases(&j);
    if (!status) status = check_languages(&j);
    if (!status) status = find_inherited(&j);
    if (!status) status = open_log(&j);
    if (!status) {
        set_options(&j);
        cli_os_on_serve(on_end, on_reload, on_reopen);
        status = srv_open(&j.o, &s, &io->why);
    }
    if (!status) {
        report_address(&j, s);
        serve(&j, s);
    }
    srv_close(s);
    if (j.log > 1) rf__os_close(j.log);
    for (int i = 0; i < j.names; i++) free(j.name[i]);
    free(j.name);
    free(j.model);
    free(j.folder);
    free(j.alias);
    serve_demo_close(&j.demo);
    return cli_exit(io);
}

#else

static int run(void *arguments, cli_io *io)
{
    (void)arguments;
    rf_fail(&io->why, RF_EUNSUPPORTED,
            "serve: expected a build with libmicrohttpd, got one without; install it (Debian: "
            "libmicrohttpd-dev) and build again");
    return cli_exit(io);
}

#endif

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"model", 'm', CLI_EACH, A(models), "[NAME=]DIR", NULL, 0, 0, "ROFORMER_MODEL",
     "model folder (default: the shipped sentence model), and the name that requests use for it (default: the last "
     "part of the path); may be repeated; the first model answers requests that name none",
     NULL},
    {"demo", 0, CLI_FLAG, A(demo), NULL, NULL, 0, 0, NULL,
     "serve the shipped models and an index of a few sentences, to look at in a browser", NULL},
    {"dtype", 0, CLI_EACH, A(dtypes), CLI_DTYPES, NULL, 0, 0, NULL,
     "data type of weight matrices and their products; once for all models, or once for each (default: f32)",
     "torch_dtype"},
    {"model-alias", 0, CLI_EACH, A(aliases), "NAME[=MODEL]", NULL, 0, 0, NULL,
     "another name of a model (default: of the first one), for clients that always send this name; may be repeated",
     "alias"},
    {"any-model", 0, CLI_FLAG, A(any_model), NULL, NULL, 0, 0, "ROFORMER_ANY_MODEL",
     "let the first model answer requests with any other name, too; default: they are refused with 404", NULL},
    {"index", 0, CLI_FOLDER, A(index), "INDEX", NULL, 0, 0, NULL,
     "folder that roformer index has written with the first model, for /search", NULL},
    {"languages", 0, CLI_TEXT, A(languages), "SOURCE:TARGET", NULL, 0, 0, NULL,
     "languages of a translation model, for example en:de (default: those in its folder)", NULL},
    {"host", 0, CLI_TEXT, A(host), "ADDRESS", "127.0.0.1", 0, 0, "ROFORMER_HOST", "address to listen on", "hostname"},
    {"port", 'p', CLI_INT, A(port), "N", "8080", 0, 65535, "ROFORMER_PORT", "port to listen on; 0: any free one", NULL},
    {"unix", 0, CLI_FILE, A(unix_path), "FILE", NULL, 0, 0, NULL, "listen on a Unix socket instead", NULL},
    {"api-key-file", 0, CLI_FILE, A(key_file), "FILE", NULL, 0, 0, "ROFORMER_API_KEY_FILE",
     "require one of the API keys in FILE, one in each line: KEY, or NAME KEY with a name for the access log; SIGHUP "
     "reads it again; the environment variable ROFORMER_API_KEY is one more key", NULL},
    {"cors-allow-origin", 0, CLI_TEXT, A(cors), "ORIGIN", NULL, 0, 0, NULL,
     "allow web pages of ORIGIN (or *) to send requests", NULL},
    {"allowed-host", 0, CLI_EACH, A(hosts), "NAME", NULL, 0, 0, NULL,
     "answer requests with this name in the header Host, too, if the server listens on an address of this machine and "
     "needs no key (*: with any name); may be repeated; default: localhost, 127.0.0.1, [::1] and --host", NULL},
    {"no-auto-truncate", 0, CLI_FLAG, A(no_truncate), NULL, NULL, 0, 0, NULL,
     "refuse inputs that are too long unless the request says \"truncate\": true", NULL},
    {"access-log", 0, CLI_FILE, A(log), "FILE", NULL, 0, 0, NULL, "append a line for each request; -: standard output",
     NULL},
    {"log-format", 0, CLI_CHOICE, A(log_format), "json|common", "json", 0, 0, NULL, "format of the access log", NULL},
#define SRV_LIMIT(member, option, variable, initial, least, most, unit, what) \
    {option, 0, CLI_INT, A(limits.member), unit, #initial, least, most, variable, what, NULL},
#include "serve/limits.def"
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer serve --demo",
    "roformer serve --port 8080",
    "curl -s http://127.0.0.1:8080/embed -H 'Content-Type: application/json' -d '{\"inputs\": \"A dog barks.\"}'",
    "roformer serve -m words=models/words -m rank=models/reranker --dtype bf16 --api-key-file keys.txt",
    NULL,
};

const cli_command cmd_serve = {
    "serve",
    "",
    "serve models over HTTP, and a web page to try them",
    "Serves models with the routes of text-embeddings-inference (/embed, /predict, /rerank, /similarity, /tokenize, "
    "/decode, /info, /health, /metrics), OpenAI (/v1/embeddings, /v1/completions, /v1/chat/completions, "
    "/v1/models), Cohere and Jina (/v1/rerank, /v2/rerank), Hugging Face's inference API (POST /) and LibreTranslate "
    "(/translate, /languages), and with /fill_mask, /generate and /search.  In a browser, / is a page to try the "
    "models.  GET /docs lists all routes.  docs/serving.md is the manual.\n"
    "The socket is opened at once; /health answers 503 until the models are loaded.  SIGTERM and SIGINT end the server "
    "after the accepted requests have been answered; SIGHUP loads the models again, and SIGUSR1 opens the access log "
    "again.  On Windows, Ctrl-C and Ctrl-Break end it in the same way, and nothing does what the other two do.  Each "
    "limit is an option, an environment variable and a member of /info.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};

/* test_memory_folder.c — mirrors src/base/files/memory_folder.c: a folder in memory behaves like the same files on
 * disk, for every folder of models and tokenizers in this tree, complete, with a missing or a truncated file; rejected
 * input; failing allocations. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "roformer/index.h"
#include "roformer/inspect/files.h"
#include "small_pipeline.h"
#include "text/tokenizer.h"

enum { FILES = 64, FOLDERS = 400, PATH = 1024 };

/* ---- a folder's files -------------------------------------------------------------------------------------------- */

typedef struct files { rf_memory_file file[FILES]; int n; } files;

static void read_one(files *f, const char *path, const char *name)
{
    FILE *in = fopen(path, "rb");
    struct stat st;
    if (!in || fstat(fileno(in), &st)) fail_msg("%s", path);
    char *all = aligned_alloc(64, ((size_t)st.st_size + 64) / 64 * 64);
    if (fread(all, 1, (size_t)st.st_size, in) != (size_t)st.st_size || f->n == FILES) fail_msg("%s", path);
    fclose(in);
    f->file[f->n++] = (rf_memory_file){strdup(name), all, (size_t)st.st_size};
}

/* Everything below folder/below. */
static void read_all(files *f, const char *folder, const char *below)
{
    char path[PATH], name[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, below);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (*e->d_name == '.') continue;
        if (snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "", e->d_name) >= PATH ||
            snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH || stat(path, &st))
            fail_msg("%s", name);
        if (S_ISDIR(st.st_mode)) read_all(f, folder, name);
        else if (f->n < FILES) read_one(f, path, name);
    }
    if (d) closedir(d);
}

static void forget(files *f)
{
    for (int i = 0; i < f->n; i++) {
        free((void *)(uintptr_t)f->file[i].name);
        free((void *)(uintptr_t)f->file[i].data);
    }
    f->n = 0;
}

static rf_memory_folder *folder_of(const rf_ctx *ctx, const files *f)
{
    rf_memory_folder *folder;
    rf_error why = {0};
    if (rf_memory_folder_new(ctx, f->file, f->n, &folder, &why)) fail_msg("%s", why.text);
    return folder;
}

/* ---- the same answers -------------------------------------------------------------------------------------------- */

/* The properties of a folder: its model, its tokenizer, and as a pipeline. */
typedef struct said {
    rf_status model, tokenizer, pipeline, sentence;
    float hidden[8 * 64];
    uint64_t words, weights;
    int64_t columns;
    rf_pooling pooling;
    int normalize;
} said;

static void ask_model(const rf_ctx *ctx, const char *path, said *s)
{
    static const int32_t id[] = {2, 5, 6, 7, 8, 3, 5, 6}, start[] = {0, 8};
    rf_model *m = NULL;
    rf_session *session = NULL;
    const float *h;
    const rf_batch b = {.N = 8, .B = 1, .id = id, .start = start};
    s->model = rf_model_open(ctx, path, &m, NULL);
    if (s->model) return;
    const int64_t C = rf_model_config(m)->hidden_size;
    if (rf_session_open(m, &session, NULL)) fail_msg("%s", path);
    s->model = rf_session_hidden(session, &b, &h, NULL);
    s->columns = C;
    if (!s->model) memcpy(s->hidden, h, (size_t)(C < 64 ? 8 * C : 8 * 64) * sizeof *h);
    rf_session_close(session);
    rf_model_close(m);
}

static void ask(const rf_ctx *ctx, const char *path, said *s)
{
    rf_tokenizer *t = NULL;
    rf_pipeline *p = NULL;
    *s = (said){.pooling = RF_POOL_AUTO};
    ask_model(ctx, path, s);
    s->tokenizer = rf_tokenizer_open(ctx, path, &t, NULL);
    if (!s->tokenizer) s->words = rf__tokenizer_fingerprint(t, 1);
    rf_tokenizer_free(t);
    s->pipeline = rf_pipeline_open(ctx, path, RF_F32, &p, NULL);
    if (s->pipeline) return;
    rf_embed_options o;
    s->sentence = rf_embed_defaults_of(p, &o, NULL);
    if (!s->sentence) s->pooling = o.pooling, s->normalize = o.normalize;
    if (rf_pipeline_fingerprint(p, &s->weights, NULL)) fail_msg("%s", path);
    rf_pipeline_close(p);
}

static bool same(const said *a, const said *b)
{
    return a->model == b->model && a->tokenizer == b->tokenizer && a->pipeline == b->pipeline &&
           a->sentence == b->sentence && a->words == b->words && a->weights == b->weights &&
           a->columns == b->columns && a->pooling == b->pooling && a->normalize == b->normalize &&
           !memcmp(a->hidden, b->hidden, sizeof a->hidden);
}

/* ---- every folder of the tree ------------------------------------------------------------------------------------ */

typedef struct folders { char path[FOLDERS][PATH]; int n; } folders;

/* Folders that have files of a model or a tokenizer. */
static void find(folders *f, const char *path)
{
    static const char *const telling[] = {"config.json", "bert_config.json",      "tokenizer.json",
                                          "vocab.txt",   "tokenizer_config.json", "modules.json",
                                          "source.spm",  "spiece.model"};
    char below[PATH];
    bool any = false;
    for (size_t i = 0; i < RF_COUNT(telling) && !any; i++) {
        if (snprintf(below, sizeof below, "%s/%s", path, telling[i]) >= PATH) fail_msg("%s", path);
        any = !access(below, F_OK);
    }
    if (any && f->n < FOLDERS) snprintf(f->path[f->n++], PATH, "%s", path);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (*e->d_name == '.') continue;
        if (snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= PATH) fail_msg("%s", path);
        if (!stat(below, &st) && S_ISDIR(st.st_mode)) find(f, below);
    }
    if (d) closedir(d);
}

static void every_folder_is_the_same_in_memory(void **state)
{
    (void)state;
    static folders f;
    static said disk, memory;
    int models = 0, tokenizers = 0, pipelines = 0;
    rf_ctx *ctx = t_ctx(1, NULL);
    find(&f, "tests/golden");
    find(&f, "models");
    for (int i = 0; i < f.n; i++) {
        files all = {.n = 0};
        read_all(&all, f.path[i], "");
        /* A folder with too many subfolders for a list; or one whose name determines its type, which memory does not
         * have. */
        if (all.n == FILES || strstr(f.path[i], "/chinese_roformer-")) {
            forget(&all);
            continue;
        }
        rf_memory_folder *folder = folder_of(ctx, &all);
        ask(ctx, f.path[i], &disk);
        ask(ctx, rf_memory_folder_path(folder), &memory);
        if (!same(&disk, &memory))
            fail_msg("%s: model %d %d, tokenizer %d %d, pipeline %d %d", f.path[i], (int)disk.model,
                     (int)memory.model, (int)disk.tokenizer, (int)memory.tokenizer, (int)disk.pipeline,
                     (int)memory.pipeline);
        models += !disk.model;
        tokenizers += !disk.tokenizer;
        pipelines += !disk.pipeline;
        rf_memory_folder_free(folder);
        forget(&all);
    }
    rf_ctx_free(ctx);
    print_message("%d folders: %d models, %d tokenizers, %d pipelines\n", f.n, models, tokenizers, pipelines);
    assert_true(models > 50 && tokenizers >= 5 && pipelines >= 4);
}

/* tokenizer.json and SentencePiece models, each with the names that folders use. */
static void every_kind_of_tokenizer(void **state)
{
    (void)state;
    static const struct { const char *from, *ends, *as, *class; } kinds[] = {
        {"tests/golden/fast", ".tokenizer.json", "tokenizer.json", "PreTrainedTokenizerFast"},
        {"tests/golden/spm", ".model", "spiece.model", "T5Tokenizer"},
        {"tests/golden/subwords", ".model", "spiece.model", "T5Tokenizer"},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    int opened = 0;
    for (size_t k = 0; k < RF_COUNT(kinds); k++) {
        files all = {.n = 0};
        read_all(&all, kinds[k].from, "");
        for (int i = 0; i < all.n; i++) {
            const char *name = all.file[i].name;
            char settings[128];
            const size_t end = strlen(kinds[k].ends), size = strlen(name);
            if (size < end || strcmp(name + size - end, kinds[k].ends)) continue;
            const int n = snprintf(settings, sizeof settings, "{\"tokenizer_class\": \"%s\"}", kinds[k].class);
            const char *folder = t_folder();
            t_write(folder, kinds[k].as, all.file[i].data, all.file[i].size);
            t_write(folder, "tokenizer_config.json", settings, (size_t)n);
            const files two = {.file = {{kinds[k].as, all.file[i].data, all.file[i].size},
                                        {"tokenizer_config.json", settings, (size_t)n}}, .n = 2};
            rf_memory_folder *in_memory = folder_of(ctx, &two);
            rf_tokenizer *disk = NULL, *memory = NULL;
            const rf_status status = rf_tokenizer_open(ctx, folder, &disk, NULL);
            assert_int_equal(rf_tokenizer_open(ctx, rf_memory_folder_path(in_memory), &memory, NULL), status);
            assert_true(!rf_tokenizer_found(ctx, folder) == !rf_tokenizer_found(ctx, rf_memory_folder_path(in_memory)));
            if (!status) assert_true(rf__tokenizer_fingerprint(disk, 1) == rf__tokenizer_fingerprint(memory, 1));
            opened += !status;
            rf_tokenizer_free(disk);
            rf_tokenizer_free(memory);
            rf_memory_folder_free(in_memory);
        }
        forget(&all);
    }
    rf_ctx_free(ctx);
    print_message("%d tokenizers\n", opened);
    assert_true(opened >= 8);
}

/* The shipped sentence model without each single one of its files. */
static void a_file_that_is_missing(void **state)
{
    (void)state;
    static const char model[] = "models/roformer-small-en-sentences";
    static said disk, memory;
    rf_ctx *ctx = t_ctx(1, NULL);
    files all = {.n = 0};
    int refused = 0;
    read_all(&all, model, "");
    for (int missing = 0; missing < all.n; missing++) {
        const char *folder = t_folder();
        char path[PATH], real[4096];
        files some = {.n = 0};
        for (int i = 0; i < all.n; i++) {
            const char *slash = strchr(all.file[i].name, '/');
            if (i == missing) continue;
            some.file[some.n++] = all.file[i];
            snprintf(path, sizeof path, "%s/%.*s", folder, slash ? (int)(slash - all.file[i].name) : 0,
                     all.file[i].name);
            if (slash) (void)mkdir(path, 0777);
            snprintf(path, sizeof path, "%s/%s", model, all.file[i].name);
            if (!realpath(path, real)) fail_msg("%s", path);
            snprintf(path, sizeof path, "%s/%s", folder, all.file[i].name);
            if (symlink(real, path)) fail_msg("%s", path);
        }
        rf_memory_folder *in_memory = folder_of(ctx, &some);
        ask(ctx, folder, &disk);
        ask(ctx, rf_memory_folder_path(in_memory), &memory);
        if (!same(&disk, &memory)) fail_msg("without %s: another answer", all.file[missing].name);
        refused += disk.pipeline || disk.sentence;
        rf_memory_folder_free(in_memory);
    }
    assert_true(refused >= 3);
    forget(&all);
    rf_ctx_free(ctx);
}

/* Values of weights that are read in place are never released to the system: the caller's memory stays. */
static void the_callers_memory_stays(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    files all = {.n = 0};
    said s;
    read_all(&all, "models/roformer-small-en", "");
    uint64_t before = 0, after = 0;
    for (int i = 0; i < all.n; i++) before += rf__hash64(all.file[i].data, all.file[i].size, (uint64_t)i);
    rf_memory_folder *folder = folder_of(ctx, &all);
    ask(ctx, rf_memory_folder_path(folder), &s);
    for (int i = 0; i < all.n; i++) after += rf__hash64(all.file[i].data, all.file[i].size, (uint64_t)i);
    assert_true(before == after);
    rf_memory_folder_free(folder);
    forget(&all);
    rf_ctx_free(ctx);
}

/* A copy that ends where the next page cannot be read, so that a read past its end stops the test.  Its address is only
 * aligned if `size` is. */
typedef struct fenced { char *page; size_t bytes; } fenced;

static fenced fence(const void *data, size_t size, const void **copy)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), data_bytes = (size / page + 1) * page;
    fenced f = {.bytes = data_bytes + page};
    f.page = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.page == MAP_FAILED || mprotect(f.page + data_bytes, page, PROT_NONE)) fail_msg("a page");
    char *to = f.page + data_bytes - size;
    memcpy(to, data, size);
    *copy = to;
    return f;
}

/* The same result as on disk for each file of a small model, truncated after each of its first bytes, some later ones,
 * and the last but one. */
static void a_file_that_is_cut(void **state)
{
    (void)state;
    enum { FIRST = 24, LATER = 12 };
    static said disk, memory;
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    random_weights(s.ctx, s.folder, 5);
    files all = {.n = 0};
    int refused = 0, answered = 0;
    read_all(&all, s.folder, "");
    for (int which = 0; which < all.n; which++) {
        rf_memory_file *file = &all.file[which], whole = *file;
        for (int k = 0; k <= FIRST + LATER; k++) {
            file->size = k < FIRST ? (size_t)k : whole.size - 1 - (size_t)(FIRST + LATER - k) * (whole.size / 16);
            if (file->size > whole.size) continue;
            t_write(s.folder, whole.name, whole.data, file->size);
            const fenced f = fence(whole.data, file->size, &file->data);
            rf_memory_folder *in_memory = folder_of(s.ctx, &all);
            ask(s.ctx, s.folder, &disk);
            ask(s.ctx, rf_memory_folder_path(in_memory), &memory);
            if (!same(&disk, &memory)) fail_msg("%s of %zu bytes: another answer", whole.name, file->size);
            refused += !!memory.pipeline;
            answered += !memory.pipeline;
            rf_memory_folder_free(in_memory);
            munmap(f.page, f.bytes);
        }
        *file = whole;
        t_write(s.folder, whole.name, whole.data, whole.size);
    }
    print_message("%d refused, %d answered\n", refused, answered);
    assert_true(refused > 60 && answered > 0);
    forget(&all);
    end(&s);
}

static void what_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const char *const bad[] = {"", "/config.json", "../config.json", "a/../b", "a//b", "a/", ".", "a/./b"};
    rf_memory_folder *folder = NULL, *other = NULL;
    rf_config c;
    rf_error why = {0};
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const rf_memory_file file = {bad[i], "{}", 2};
        why = (rf_error){0};
        assert_int_equal(rf_memory_folder_new(ctx, &file, 1, &folder, &why), RF_EARG);
        t_failed(&why, RF_EARG, "expected a name inside the folder");
    }
    const rf_memory_file nothing = {"config.json", NULL, 2}, twice[] = {{"a", "", 0}, {"a", "", 0}};
    assert_int_equal(rf_memory_folder_new(ctx, &nothing, 1, &folder, NULL), RF_EARG);
    assert_int_equal(rf_memory_folder_new(ctx, twice, 2, &folder, NULL), RF_EARG);
    assert_int_equal(rf_memory_folder_new(ctx, twice, 0, &folder, NULL), RF_EARG);
    assert_null(folder);

    /* two folders of one context are separate; a message names the file; a closed one is none */
    const rf_memory_file one = {"config.json", "{\"vocab_size\": \"many\"}", 22}, none = {"other.json", "{}", 2};
    if (rf_memory_folder_new(ctx, &one, 1, &folder, NULL) || rf_memory_folder_new(ctx, &none, 1, &other, NULL)) fail();
    why = (rf_error){0};
    assert_int_equal(rf_config_read(ctx, rf_memory_folder_path(folder), &c, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "memory:1/config.json");
    why = (rf_error){0};
    assert_int_equal(rf_config_read(ctx, rf_memory_folder_path(other), &c, &why), RF_EIO);
    t_failed(&why, RF_EIO, "memory:2/config.json: cannot open: the folder in memory has no such file");
    char path[64];
    snprintf(path, sizeof path, "%s", rf_memory_folder_path(folder));
    rf_memory_folder_free(folder);
    assert_int_equal(rf_config_read(ctx, path, &c, NULL), RF_EIO);
    rf_memory_folder_free(other);
    rf_memory_folder_free(NULL);
    rf_ctx_free(ctx);
}

static rf_status open_in_memory(const rf_ctx *ctx, void *arg, rf_error *why)
{
    const files *all = arg;
    rf_memory_folder *folder = NULL;
    rf_pipeline *p = NULL;
    rf_status status = rf_memory_folder_new(ctx, all->file, all->n, &folder, why);
    if (!status) status = rf_pipeline_open(ctx, rf_memory_folder_path(folder), RF_F32, &p, why);
    rf_pipeline_close(p);
    rf_memory_folder_free(folder);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    files all = {.n = 0};
    setup s = {.ctx = t_ctx(1, NULL), .folder = tiny_model()};
    random_weights(s.ctx, s.folder, 5);
    read_all(&all, s.folder, "");
    t_fail_allocations(1, NULL, open_in_memory, &all);
    forget(&all);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_folder_is_the_same_in_memory),
        cmocka_unit_test(every_kind_of_tokenizer),
        cmocka_unit_test(a_file_that_is_missing),
        cmocka_unit_test(a_file_that_is_cut),
        cmocka_unit_test(the_callers_memory_stays),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("pipeline/memory_folder", tests, NULL, NULL);
}

/* serve_demo.c — models and an index for `roformer serve --demo`. */
#include <errno.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shared/serve_demo.h"
#include "roformer/index.h"
#include "roformer/tokenizer.h"

/* Lines of the index. */
static const char *const lines[] = {
    "The orchestra played a symphony in the concert hall.",
    "The band recorded a new album of songs.",
    "The singer gave her first concert in Vienna.",
    "He learned to play the piano at the age of five.",
    "The team won the match in the last minute.",
    "The football club signed a new player.",
    "She won the gold medal in the high jump.",
    "The race was stopped because of an accident.",
    "The river flows through the valley to the sea.",
    "The mountain is covered with snow all year.",
    "A small island lies two miles off the coast.",
    "The forest is home to wolves and bears.",
    "Heavy rain is expected in the north tomorrow.",
    "The storm destroyed hundreds of houses.",
    "The summer was unusually hot and dry.",
    "The king was crowned in the cathedral.",
    "The war ended with a treaty of peace.",
    "The castle was built in the twelfth century.",
    "He was elected president of the republic.",
    "Parliament passed a law against child labor.",
    "The company sold its factory to a rival.",
    "Prices of oil fell to a new low.",
    "The bank lent money to small farms.",
    "The telescope discovered a distant galaxy.",
    "The vaccine protects children against the disease.",
    "The chemist measured the density of the liquid.",
    "The train to London leaves at noon.",
    "The bridge was closed for repairs.",
    "The novel tells the story of two sisters.",
    "The painter sold his first landscape in Paris.",
};
enum { LINES = sizeof lines / sizeof *lines };

/* The Chinese model may be missing, or its dictionary of words, without which it reads no text. */
static bool find_chinese(cli_io *io, serve_demo *d)
{
    rf_error why = {0};
    rf_tokenizer *t = NULL;
    if (!cli_chinese_folder(d->model[2], sizeof *d->model)) return false;
    const bool reads = !rf_tokenizer_open(io->ctx, d->model[2], &t, &why);
    rf_tokenizer_free(t);
    if (!reads) cli_note(io, "the Chinese model is left out: %s", why.text);
    return reads;
}

static rf_status find_models(cli_io *io, serve_demo *d)
{
    const size_t size = sizeof *d->model;
    rf_status status = cli_sentence_folder(NULL, d->model[0], size, &io->why);
    if (!status) status = cli_model_folder(NULL, d->model[1], size, &io->why);
    if (!status) d->models = find_chinese(io, d) ? 3 : 2;
    return status;
}

static rf_status write_lines(cli_io *io, rf_pipeline *p, const serve_demo *d)
{
    const char *slash = rf__os_last_slash(d->model[0]);
    rf_error *why = &io->why;
    rf_embed_options embed;
    rf_index_options o;
    rf_index_writer *w = NULL;
    const float *vectors;
    int64_t bad;
    rf_embed_defaults(&embed);
    embed.normalize = 1;
    rf_status status = rf_index_options_of(p, &embed, &o, why);
    o.model_name = slash ? slash + 1 : NULL;
    if (!status) status = rf_index_create(io->ctx, d->index, &o, &w, why);
    if (!status) status = rf_embed_texts(p, lines, NULL, LINES, &embed, &vectors, NULL, why);
    if (!status) status = rf_index_add(w, vectors, lines, NULL, LINES, &bad, why);
    if (!status) return rf_index_finish(w, why);
    rf_index_discard(w);
    return status;
}

rf_status serve_demo_open(cli_io *io, serve_demo *d)
{
    rf_pipeline *p = NULL;
    *d = (serve_demo){.models = 0};
    rf_status status = find_models(io, d);
    if (status) return status;
    snprintf(d->folder, sizeof d->folder, "%.4000s/roformer-demo-XXXXXX", cli_temporary_place());
    if (rf__os_temporary_folder(d->folder)) {
        status = rf_fail(&io->why, RF_EIO, "%s: expected to create this folder, got: %s", d->folder,
                         rf__os_reason(errno));
        *d->folder = 0;
        return status;
    }
    snprintf(d->index, sizeof d->index, "%s/lines.index", d->folder);
    status = rf_pipeline_open(io->ctx, d->model[0], RF_F32, &p, &io->why);
    if (!status) status = write_lines(io, p, d);
    rf_pipeline_close(p);
    return status;
}

void serve_demo_close(serve_demo *d)
{
    if (*d->folder) rf__os_remove_tree(d->folder);
}

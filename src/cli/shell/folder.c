/* folder.c — which model answers: -m, $ROFORMER_MODEL, or the one that comes with the program. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "roformer/files.h"
#include "cli/shell/io.h"

#define RF_MODEL_NAME "roformer-small-en"

static bool is_model(const char *folder)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/" RF_FILE_CONFIG, folder);
    return n > 0 && (size_t)n < sizeof path && !access(path, R_OK);
}

/* Where the program's models lie, from its own folder: after installation, and in a build folder. */
#ifndef RF_MODELS
#define RF_MODELS "../share/roformer/models"
#endif
static const char *const models[] = {RF_MODELS, "models"};

static bool beside_program(char *out, size_t size)
{
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (slash) slash[1] = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const int n = snprintf(out, size, "%s%s/" RF_MODEL_NAME, *models[i] == '/' ? "" : self, models[i]);
        if (n > 0 && (size_t)n < size && is_model(out)) return true;
    }
    return false;
}

rf_status cli_model_folder(const char *given, char *out, size_t size, rf_error *why)
{
    if (given) {
        const int n = snprintf(out, size, "%s", given);
        if (n < 0 || (size_t)n >= size)
            return rf_fail(why, RF_EARG, "--model: the path is longer than %zu bytes", size - 1);
        return RF_OK;
    }
    if (beside_program(out, size)) return RF_OK;
    return rf_fail(why, RF_EARG,
                   "no model: give a folder with -m DIR or ROFORMER_MODEL (the shipped model is not installed)");
}

rf_status cli_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out)
{
    char folder[4096];
    const rf_status status = cli_model_folder(given, folder, sizeof folder, &io->why);
    return status ? status : rf_pipeline_open(io->ctx, folder, type, out, &io->why);
}

rf_status cli_model_open(cli_io *io, const char *given, rf_type type, cli_model *m)
{
    const rf_status status = cli_pipeline_open(io, given, type, &m->pipeline);
    if (status) return status;
    m->model = rf_pipeline_model(m->pipeline);
    m->session = rf_pipeline_session(m->pipeline);
    m->config = rf_model_config(m->model);
    m->t = rf_model_tokenizer(m->model);
    return RF_OK;
}

void cli_model_close(cli_model *m)
{
    rf_pipeline_close(m->pipeline);
    *m = (cli_model){0};
}

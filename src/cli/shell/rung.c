/* rung.c — notes about the rung of kernels, for commands that compute: those with --dtype or --bf16. */
#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "roformer/kernel/kernels.h"

/* The command's option with that name and kind; for --dtype, the one for the type of computation, not of output. */
static const cli_option *option_of(const cli_parsed *p, const char *name, cli_kind kind)
{
    static const cli_option computing = CLI_DTYPE_OPTION(cli_io, parsed);
    const cli_option *o = cli_find_option(p->options, name, strlen(name));
    if (!o || o->kind != kind) return NULL;
    return kind == CLI_CHOICE && strcmp(o->value, computing.value) ? NULL : o;
}

static int value_of(const cli_parsed *p, const cli_option *o)
{
    int value = 0;
    if (o) memcpy(&value, (const char *)p->args + o->at, sizeof value);
    return value;
}

void cli_note_rung(const cli_io *io)
{
    const cli_parsed *p = io->parsed;
    const cli_option *answers = option_of(p, "dtype", CLI_CHOICE), *training = option_of(p, "bf16", CLI_FLAG);
    if (!answers && !training) return;
    const char *isa = rf_ctx_isa(io->ctx), *lacks = NULL;
    if (!strcmp(isa, "ref")) {
        rfk_rung_name(1, &lacks);
        if (!p->common.isa)
            cli_note(io, "this processor lacks %s, which the fast kernels need: the reference kernels are used, 20 to "
                     "50 times slower than AVX2; use another machine (roformer info --env lists what each rung needs)",
                     lacks);
        return;
    }
    if (!rf_ctx_kernels(io->ctx)->gemm_panel_bf16_shape()->widened) return;
    if (answers && cli_dtype(value_of(p, answers)) == RF_BF16)
        cli_note(io, "--dtype bf16: the rung %s multiplies bf16 as f32: weights take half the memory of f32, but "
                 "computation is slower; int8 takes a quarter of the memory", isa);
    if (training && value_of(p, training))
        cli_note(io, "--bf16: the rung %s multiplies bf16 as f32: training is slower than in f32; leave it out, "
                 "unless memory is short", isa);
}

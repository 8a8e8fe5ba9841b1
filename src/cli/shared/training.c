/* training.c — progress and end of a run; see training.h. */
#include <math.h>
#include <string.h>

#include "cli/plot/report.h"
#include "cli/shell/comm.h"
#include "cli/options/options.h"
#include "cli/shared/training.h"
#include "roformer/inspect/files.h"

static void step_text(const rf_train_progress *p, double loss, char *out, size_t size)
{
    char eta[32], rate[16], shown[32];
    cli_loss(loss, shown, sizeof shown);
    cli_duration(p->eta_seconds, eta, sizeof eta);
    cli_count(p->tokens_per_second, rate, sizeof rate);
    char perplexity[48] = "";
    if (p->objective == RF_OBJECTIVE_CLM && isfinite(loss))
        snprintf(perplexity, sizeof perplexity, " (perplexity %.4g)", exp(loss));
    int n = snprintf(out, size, "step %lld/%lld  loss %s%s  lr %.3g  %s tokens/s  ETA %s", (long long)p->step,
                     (long long)p->max_steps, shown, perplexity, p->learning_rate, rate, eta);
    if (!isnan(p->eval_loss) && n > 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, "  eval %s (%.1f %%)", cli_fixed(p->eval_loss, 4).text,
                      100 * p->eval_accuracy);
    if (!isnan(p->eval_bleu) && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "  BLEU %.2f", p->eval_bleu);
}

static void show_step(cli_training *w, const rf_train_progress *p)
{
    char text[512];
    const bool last = p->step == p->max_steps;
    w->loss = w->loss > 0 ? 0.9 * w->loss + 0.1 * p->loss : p->loss;
    const double share = p->max_steps > 0 ? (double)p->step / (double)p->max_steps : -1;
    if (w->bar.live) {
        step_text(p, w->loss, text, sizeof text);
        cli_progress_show(&w->bar, "training", share, text);
        if (!last) return;
    }
    step_text(p, p->loss, text, sizeof text);
    if (last || (w->logging_steps > 0 && p->step % w->logging_steps == 0)) cli_progress_line(&w->bar, text);
    else cli_progress_show(&w->bar, "training", share, text);
}

void cli_training_event(cli_progress *bar, char *saved, size_t size, const rf_train_progress *p)
{
    char text[1280];
    if (!strcmp(p->event, "save")) {
        snprintf(saved, size, "%s", p->note ? p->note : "");
        snprintf(text, sizeof text, "step %lld: saved %s", (long long)p->step, saved);
        cli_progress_line(bar, text);
    } else if (p->note) {
        cli_progress_line(bar, p->note);
    }
}

int cli_training_goes_on(void)
{
    return cli_stopped() ? RF_TRAIN_STOP : cli_save_asked() ? RF_TRAIN_SAVE : RF_TRAIN_GO;
}

int cli_training_report(void *user, const rf_train_progress *p)
{
    cli_training *w = user;
    char text[1280];
    if (!strcmp(p->event, "step")) {
        show_step(w, p);
    } else if (!strcmp(p->event, "data")) {
        snprintf(text, sizeof text, "%s", p->note ? p->note : "arranging the text");
        cli_progress_show(&w->bar, "reading ", -1, text);
    } else if (!strcmp(p->event, "eval")) {
        char bleu[32] = "", perplexity[64] = "";
        if (!isnan(p->eval_bleu)) snprintf(bleu, sizeof bleu, ", BLEU %.2f", p->eval_bleu);
        if (p->objective != RF_OBJECTIVE_RTD)
            snprintf(perplexity, sizeof perplexity, ", perplexity %s", cli_fixed(exp(p->eval_loss), 2).text);
        snprintf(text, sizeof text, "step %lld: held-out loss %s%s, accuracy %.2f %%%s", (long long)p->step,
                 cli_fixed(p->eval_loss, 4).text, perplexity, 100 * p->eval_accuracy, bleu);
        cli_progress_line(&w->bar, text);
    } else {
        cli_training_event(&w->bar, w->saved, sizeof w->saved, p);
    }
    return cli_training_goes_on();
}

static int stopped(const cli_training *w)
{
    const char *name = cli_file_name(w->saved);
    if (w->comm && w->comm->rank) return CLI_LATER;
    if (*w->saved) cli_error("saved %s; continue with --resume %s", name, w->saved);
    else cli_error("stopped before the first step; nothing was saved and nothing is lost");
    return CLI_LATER;
}

static int was_given(void *parsed, const char *option) { return cli_given(parsed, option); }

void cli_training_options(rf_train_options *o, const cli_io *io)
{
    o->comm = cli_comm();
    o->given = was_given;
    o->given_user = (void *)(uintptr_t)io->parsed;
}

void cli_training_begin(cli_training *w, cli_io *io, const rf_train_options *o)
{
    const bool unknown = o->resume_from_checkpoint && !cli_given(io->parsed, "logging_steps");
    *w = (cli_training){.io = io, .comm = o->comm, .logging_steps = unknown ? 0 : o->logging_steps};
    cli_signals_catch();
    cli_signals_catch_save();
    cli_progress_init(&w->bar, io, 10);
}

/* The last saved path is the folder of the run. */
static void write_report(const cli_training *w)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/" RF_FILE_REPORT, w->saved);
    if (!report_own(path, &w->io->why) && !report_write(w->io, w->saved, path, NULL, &w->io->why))
        cli_note(w->io, "%s written", path);
}

int cli_training_end(cli_training *w, rf_status status, bool page)
{
    cli_progress_clear(&w->bar);
    if (status == RF_ESTOPPED) return stopped(w);
    if (!status && page) write_report(w);
    return cli_exit(w->io);
}

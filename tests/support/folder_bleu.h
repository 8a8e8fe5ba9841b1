/* folder_bleu.h — computes the BLEU score of a translation model with calls of the library.
 *
 * A pipeline translates the lines of a file, and rf_mt_evaluate compares the translations with the lines of another
 * file, the reference. */
#ifndef TESTS_FOLDER_BLEU_H
#define TESTS_FOLDER_BLEU_H

#include "roformer/pipeline.h"
#include "roformer/inspect/metrics.h"
#include "t.h"

enum { FOLDER_LINES = 512 };
typedef struct folder_lines { char *text[FOLDER_LINES], *of[FOLDER_LINES]; int64_t n; } folder_lines;

static inline void folder_read(const char *path, folder_lines *l)
{
    FILE *f = fopen(path, "r");
    char line[256];
    assert_non_null(f);
    for (l->n = 0; fgets(line, sizeof line, f); l->n++) {
        line[strcspn(line, "\n")] = 0;
        l->text[l->n] = strdup(line);
    }
    fclose(f);
}

static inline int folder_keep(void *user, int64_t i, const rf_text_translation *t, const rf_error *why)
{
    folder_lines *l = user;
    assert_null(why);
    l->of[i] = strdup(t->text);
    return 0;
}

static inline double folder_bleu(const rf_ctx *ctx, const char *folder, const char *source, const char *target,
                                 int64_t beams, int64_t most)
{
    static folder_lines from, to;
    rf_pipeline *p;
    rf_generate_options g;
    rf_translate_options o;
    rf_mt_result *r;
    rf_mt_score score;
    rf_error why = {0};
    folder_read(source, &from);
    folder_read(target, &to);
    if (rf_pipeline_open(ctx, folder, RF_F32, &p, &why)) fail_msg("%s", why.text);
    rf_translate_defaults(rf_pipeline_model(p), &g);
    g.num_beams = beams, g.max_new_tokens = most;
    rf_translate_text_defaults(&o);
    o.generate = &g;
    if (rf_translate_texts(p, (const char *const *)from.text, NULL, from.n, &o, folder_keep, &from, &why))
        fail_msg("%s", why.text);
    const rf_mt_texts system = {(const char *const *)from.of, NULL}, reference = {(const char *const *)to.text, NULL};
    if (rf_mt_evaluate(ctx, NULL, &system, &reference, 1, to.n, &r, &why)) fail_msg("%s", why.text);
    rf_mt_corpus(r, &score);
    rf_mt_free(r);
    rf_pipeline_close(p);
    for (int64_t i = 0; i < from.n; i++) free(from.text[i]), free(from.of[i]), free(to.text[i]);
    return score.score;
}

#endif

/* reading.h — labeled files in memory, read with given options; which ones are rejected, and with which message. */
#ifndef DATA_READING_H
#define DATA_READING_H

#include "t.h"
#include "task/task.h"

static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\ndog\nold\nred\n,\n\"\n";

#define TEXT(s) s, sizeof(s) - 1

/* A file in memory, read as `o` says. */
typedef struct reading {
    rf_ctx *ctx;
    rf_tokenizer *t;
    rf__labeled l;
    rf__records r;
    rf__items items;
    rf_error why;
    rf_status status;
} reading;

static inline reading *read_as(const rf_finetune_options *o, const char *name, const void *data, size_t size,
                               bool with_labels)
{
    static reading g;
    g = (reading){.ctx = t_ctx(1, NULL)};
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    assert_int_equal(rf_tokenizer_new(g.ctx, vocab, sizeof vocab - 1, "vocab", &options, &g.t, NULL), RF_OK);
    const rf__task *task;
    g.status = rf__examples_open(&g.l, g.ctx, o, &task, &g.why);
    g.l.layout.with_labels = with_labels;
    if (!g.status) g.status = rf__records_from_memory(&g.r, g.ctx, data, size, name, &g.l.layout, &g.why);
    if (!g.status) g.status = rf__labeled_items(&g.l, g.t, 32, &g.r, with_labels, &g.items, &g.why);
    return &g;
}

static inline void end(reading *g)
{
    rf__records_free(&g->r);
    rf__items_free(&g->items);
    rf__labeled_close(&g->l);
    rf_tokenizer_free(g->t);
    rf_ctx_free(g->ctx);
}

static inline reading *fine(const char *task, const char *name, const char *text)
{
    reading *g = read_as(&(rf_finetune_options){.task = task}, name, text, strlen(text), true);
    if (g->status) fail_msg("%s: %s", name, g->why.text);
    return g;
}

static inline void refuse(const rf_finetune_options *o, const char *name, const void *data, size_t size,
                          bool with_labels, rf_status expected, const char *part)
{
    reading *g = read_as(o, name, data, size, with_labels);
    if (g->status != expected || !strstr(g->why.text, part))
        fail_msg("%s, not \"%s\": %s \"%s\"", name, part, rf_status_text(g->status), g->why.text);
    assert_int_equal(g->why.code, expected);
    end(g);
}

static inline void bad(const char *task, const char *name, const char *text, const char *part)
{
    refuse(&(rf_finetune_options){.task = task}, name, text, strlen(text), true, RF_EDATA, part);
}

static inline void same(rf__text got, const char *expected)
{
    if (got.size != strlen(expected) || memcmp(got.at, expected, got.size))
        fail_msg("'%.*s', not '%s'", (int)got.size, got.at, expected);
}

#endif

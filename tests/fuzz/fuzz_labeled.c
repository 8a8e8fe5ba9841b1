/* fuzz_labeled.c — arbitrary bytes as a labeled file.  The first two bytes select the options:
 *
 *     byte 0   bits 0-2 name of the file   bits 3-6 task   bit 7 with labels
 *     byte 1   bits 0-1 columns   bit 2 labels given   bit 3 some bad lines allowed   bits 4-7 longest example
 *
 * The result is a message, or items whose tokens are in the vocabulary, whose labels are in range and whose targets are
 * finite; every record's text is UTF-8 from the file.                                                                */
#include <math.h>
#include <stdlib.h>

#include "task/task.h"
#include "text/unicode/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##a\n##b\ntext\n,\n\"\n.\n1\n2\n";
static const char *const names[] = {"a.tsv", "a.csv", "a.jsonl", "a.json", "a.conll", "a.csv.gz", "a.tsv.zst", "a"};
static const char *const tasks[] = {
#define RFT(name, what, metrics) #name,
#include "roformer/inspect/tasks.def"
#undef RFT
    "glue/cola", "glue/mrpc", "glue/stsb", "glue/qqp", "glue/rte",
};

static void check_records(const rf__records *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const rf__text all[] = {r->record[i].text, r->record[i].pair, r->record[i].label};
        if (!r->record[i].line) abort();
        for (size_t k = 0; k < RF_COUNT(all); k++)
            if (all[k].at && rf_utf8_check(all[k].at, all[k].size) != all[k].size) abort();
    }
}

static void check_label(const rf__items *t, size_t i)
{
    const size_t at = t->start[t->first[i]], end = t->start[t->first[i + 1]], K = (size_t)t->K;
    const bool scores = t->format->label == RF__MEMBER_SCORE;       /* NaN: an example without a score */
    const size_t mates = t->format->labels ? K : t->first[i + 1] - t->first[i];
    switch (t->format->kind) {
    case RF__LABEL_CLASS:
        if (t->label[i] < -1 || t->label[i] >= (int64_t)mates) abort();
        break;
    case RF__LABEL_TOKENS:
        for (size_t k = at; k < end; k++)
            if (t->label[k] < -1 || t->label[k] >= t->K) abort();
        break;
    case RF__LABEL_SPAN:
        if (t->label[2 * i] < 0 || t->label[2 * i] > t->label[2 * i + 1] || at + (size_t)t->label[2 * i + 1] >= end)
            abort();
        break;
    case RF__LABEL_VECTOR:
        for (size_t k = 0; k < K; k++)
            if (!isfinite(t->target[i * K + k]) && !(scores && isnan(t->target[i * K + k]))) abort();
        break;
    case RF__LABEL_LIST:
        for (size_t s = t->first[i]; s < t->first[i + 1]; s++)
            if (!isfinite(t->target[s])) abort();
        break;
    }
}

static void check_items(const rf__items *t, const rf_tokenizer *tokenizer, int64_t max_length)
{
    if (!t->n) abort();
    for (size_t i = 0; i < t->tokens; i++)
        if (t->id[i] < 0 || t->id[i] >= rf_tokenizer_size(tokenizer) || t->type[i] < 0 || t->type[i] > 1) abort();
    for (size_t s = 0; s < t->sequences; s++)
        if (t->start[s + 1] <= t->start[s] || t->start[s + 1] - t->start[s] > (size_t)max_length) abort();
    for (size_t i = 0; i < t->n; i++) check_label(t, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    static rf_tokenizer *tokenizer;
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    if (size < 2) return 0;
    if (!ctx && (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL) ||
                 rf_tokenizer_new(ctx, vocab, sizeof vocab - 1, "vocab", &options, &tokenizer, NULL))) abort();
    const unsigned a = data[0], b = data[1];
    const bool with_labels = a >> 7;
    const int64_t max_length = 8 + (b >> 4) * 4;
    const rf_finetune_options o = {
        .task = tasks[(a >> 3 & 15) % RF_COUNT(tasks)],
        .text_column = (b & 3) == 1 ? "a" : (b & 3) > 1 ? "1" : NULL,
        .pair_column = (b & 3) == 3 ? "2" : NULL,
        .label_column = (b & 3) == 1 ? "b" : (b & 3) > 1 ? "3" : NULL,
        .labels = b >> 2 & 1 || !with_labels ? "a,b,1" : NULL,
        .max_bad_lines = b >> 3 & 1 ? 3 : 0,
    };
    rf__labeled l = {.ctx = ctx};
    rf__records r = {.ctx = NULL};
    rf__items items = {.ctx = NULL};
    rf_error why = {RF_OK, ""};
    const rf__task *task;
    rf_status status = rf__examples_open(&l, ctx, &o, &task, &why);
    l.layout.with_labels = with_labels;
    if (!status) status = rf__records_from_memory(&r, ctx, data + 2, size - 2, names[a & 7], &l.layout, &why);
    if (!status) check_records(&r);
    if (!status) status = rf__labeled_items(&l, tokenizer, max_length, &r, with_labels, &items, &why);
    if (!status) check_items(&items, tokenizer, max_length);
    if (status != why.code || (status && !*why.text) || status == RF_ENOMEM) abort();
    if (status && rf_utf8_check(why.text, strlen(why.text)) != strlen(why.text) &&
        strlen(why.text) < sizeof why.text - 4)
        abort();
    rf__records_free(&r);
    rf__items_free(&items);
    rf__labeled_close(&l);
    return 0;
}

/* translation_step.c — the gradient of a batch of pairs, and the loss of held-out pairs.
 *
 *     an epoch     visits the pairs in an order that is a function of (seed, epoch); its last batch may be smaller;
 *                  with subword_sampling, it also samples their subwords
 *     the loss     -log p(t_i | t_1 .. t_i-1, s) of every target token and end token; in training, smoothed over all
 *                  tokens with label_smoothing_factor */
#include <math.h>

#include "graph/graph.h"
#include "train/pairs/translation_job.h"

/* Micro-batch number i of all ranks: created if it belongs to this rank, otherwise only counted. */
void rf__translation_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens)
{
    rf__pair_training *t = r->task;
    rf__data_position *at = &r->state.position;
    const int64_t own = micro - rf__run_first(r);
    rf__pair_batch others = {.capacity = r->o.tokens_per_batch};
    rf__pair_batch *b = own >= 0 && own < t->batches ? &t->batch[own] : &others;
    rf__pair_position next = {at->epoch, at->index};
    if (rf__run_past_end(r, micro)) {
        b->B = b->N[RF__SOURCE_SIDE] = b->N[RF__TARGET_SIDE] = 0;
        return;
    }
    rf__pair_sampling *sampling = r->o.subword_sampling > 0 ? &t->sampling : NULL;
    rf__pairs_pack(&t->train, r->order, &t->marks, sampling, &next, b);
    at->epoch = next.epoch;
    at->index = next.index;
    if (b != &others) *labels += b->N[RF__TARGET_SIDE];              /* labels are summed over the ranks */
    *tokens += b->N[RF__SOURCE_SIDE] + b->N[RF__TARGET_SIDE];
}

rf_status rf__translation_gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum,
                                   rf_error *why)
{
    const rf__pair_training *t = r->task;
    const rf__pair_batch *b = &t->batch[micro];
    const rf_error *drawing = &t->sampling.why;
    if (!b->B) return RF_OK;                                         /* after the last epoch */
    if (drawing->code) return rf_fail(why, drawing->code, "subword_sampling: %s", drawing->text);
    const rf_batch source = rf__pair_batch_side(b, RF__SOURCE_SIDE), target = rf__pair_batch_side(b, RF__TARGET_SIDE);
    rf_graph *g = r->graph;
    rf__graph_reset(g);
    rf__graph_record(g, 1, r->o.seed, stream);
    rf_tensor *h = rf__pair_forward(g, r->encoder, &source, &target);
    rf_tensor *loss = rf__mlm_loss(g, r->encoder, h, b->row, b->label, target.N, weight, loss_sum, NULL);
    const rf_error *failed = rf__graph_error(g);
    if (failed->code) return rf_fail(why, failed->code, "%s", failed->text);
    return rf__backward(g, loss, why);
}

/* ---- evaluating ---- */

rf_status rf__translation_loss(rf__run *r, bool alone, rf__evaluator *out, rf_error *why)
{
    rf__pair_training *t = r->task;
    rf__evaluator *s = out;
    *s = (rf__evaluator){.graph = r->graph,
                      .encoder = r->encoder,
                      .pairs = &t->evaluated,
                      .ctx = r->ctx,
                      .comm = alone ? NULL : r->o.comm};
    const size_t ranks = (size_t)rf__ranks(s->comm);
    rf_status status = RF_OK;
    for (size_t at = 0, asked = 0; at < t->held.n && !status;) {
        bool stop = false;
        if (!alone && s->batches >= asked + ranks) {                    /* every rank has computed one */
            asked = s->batches;
            status = rf__run_give_up(r, &stop, why);
        }
        if (!status && stop) status = RF_ESTOPPED;
        if (status) break;
        rf__pairs_pack_in_order(&t->held, &t->marks, &at, &t->evaluated);
        status = rf__evaluator_flush(s, why);
    }
    if (!status) status = rf__evaluator_end(s, why);
    rf__free(r->ctx, s->own);
    s->own = NULL;
    return status;
}

rf_status rf__translation_evaluate(rf__run *r, rf_error *why)
{
    rf__state *t = &r->state;
    rf__evaluator s;
    const double begin = rf__seconds();
    const rf_status status = rf__translation_loss(r, false, &s, why);
    if (status || !s.labels) return status;
    t->eval_loss = s.loss / (double)s.labels;
    t->eval_accuracy = (double)s.hits / (double)s.labels;
    if (rf__translation_has_bleu(&r->o) && rf__translation_bleu(r, false, &t->eval_bleu, why)) return why->code;
    t->eval_step = t->step;
    r->eval_seconds = rf__seconds() - begin;
    json_t *line = json_pack("{s:I, s:f}", "step", (json_int_t)t->step, "epoch", rf__run_epoch(r));
    rf__json_set(&line, "eval_loss", rf__json_number(t->eval_loss));
    rf__json_set(&line, "eval_perplexity", rf__json_number(exp(t->eval_loss)));
    rf__json_set(&line, "eval_accuracy", json_real(t->eval_accuracy));
    if (rf__translation_has_bleu(&r->o))
        rf__json_set(&line, "eval_bleu", rf__json_number(t->eval_bleu));
    rf__json_set(&line, "eval_labels", json_integer(s.labels));
    rf__json_set(&line, "eval_tokens", json_integer(s.tokens));
    rf__json_set(&line, "eval_seconds", json_real(r->eval_seconds));
    rf__run_line(r, line);
    return RF_OK;
}

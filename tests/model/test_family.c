/* test_family.c — mirrors family.c, bert_layer.c, by_head.c, transposed.c, llama_layer.c in src/model, and
 * src/model/families (each file: its rows and its equations). */
#include "families.h"

#include "model/encoder.h"
#include "model/family.h"
#include "model/positions.h"

/* A small config of a family. */
static rf_config small(const char *family)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_defaults_of(family, &c, &why)) fail_msg("%s", why.text);
    c.vocab_size = 13;
    c.hidden_size = c.embedding_size = 8;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 2;
    c.intermediate_size = !strcmp(family, "neobert") ? 16 : 12;     /* whose is a multiple of 8                   */
    c.max_position_embeddings = 16;
    c.num_labels = 2;
    if (c.attention_key_size) c.num_attention_heads = 1, c.attention_key_size = 8;          /* a value is wider       */
    if (c.type_vocab_size == 1) c.type_vocab_size = 2;
    if (c.pad_token_id >= c.vocab_size) c.pad_token_id = 1;
    if (c.local_attention > 0) c.local_attention = 2;               /* of layer 1: the tokens next to each            */
    if (c.num_key_value_heads) c.num_key_value_heads = 1;
    if (c.head_dim > 0) c.head_dim = 6;
    if (c.partial_rotary_factor < 1) c.partial_rotary_factor = 0.5;
    if (!strcmp(family, "nomic_bert_v2")) c.moe_every_n_layers = 2, c.num_experts = 3, c.moe_top_k = 2;
    if (!c.is_encoder_decoder) return c;
    c.decoder_layers = 3;
    c.decoder_attention_heads = 4;
    c.decoder_ffn_dim = 20;
    c.pad_token_id = c.decoder_start_token_id = 12;
    return c;
}

/* Rows name members of their structs, each of them once (joined rows share one), and the word embeddings are among
 * them. */
static void check_rows(const rf_family_row *row, size_t size, int *words)
{
    for (const rf_family_row *r = row; r && r->row.name; r++) {
        assert_true(r->at % sizeof(void *) == 0 && r->at < size);
        *words += (r->row.flags & RF_ROW_WORDS) != 0;
        for (const rf_family_row *s = row; s < r; s++)
            assert_true(s->at != r->at || r->row.flags & RF_ROW_JOINED || r->row.when);
    }
}

static void rows_are_bound_to_members(void **state)
{
    (void)state;
    for (const rf_family_config *const *f = rf__config_families; *f; f++) {
        const rf_config c = small((*f)->name);
        const rf_family *family;
        int words = 0;
        assert_int_equal(rf__family_find(&c, &family, NULL), RF_OK);
        assert_ptr_equal(&family->config, *f);
        for (const rf_class_row *is = (*f)->class; is->name; is++) assert_non_null(rf__family_head(family, is->head));
        check_rows(family->embedding, family->embedding_size, &words);
        check_rows(family->layer, family->layer_size, &words);
        const int tables = words;                               /* two: of both sides together, or the source's own */
        assert_in_range(tables, 1, (*f)->pairs ? 2 : 1);
        assert_int_equal(family->head[0].head, (*f)->pairs ? RF_HEAD_SEQ2SEQ : RF_HEAD_MLM);
        for (const rf_head_row *h = family->head; h->forward; h++) {
            check_rows(h->row, sizeof(rf_head_weights), &words);
            assert_int_equal(words, tables);
        }
        assert_int_equal(family->decoder != NULL, (*f)->pairs);
        if (!family->decoder) continue;
        check_rows(family->decoder->embedding, family->embedding_size, &words);
        check_rows(family->decoder->layer, family->layer_size, &words);
        assert_int_equal(words, 2 * tables - 1);
    }
}

/* The count that needs no list of parameters equals that of the list, for every head. */
static void parameters_are_counted(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        for (const rf_class_row *is = (*f)->class; is->name; is++) {
            rf_config c = small((*f)->name);
            rf_params p;
            rf_error why = {0};
            c.is_decoder |= is->causal;
            snprintf(c.architecture, sizeof c.architecture, "%s", is->name);
            if (rf__params_new_head(ctx, &c, is->head, &p, &why)) fail_msg("%s: %s", is->name, why.text);
            int64_t n = 0;
            for (size_t i = 0; i < p.n; i++) n += (int64_t)p.p[i].count;
            assert_int_equal(n, rf_config_parameters(&c));
            assert_true(p.p[p.word].flags & RF_ROW_WORDS);
            rf__params_free(&p);
        }
    rf_ctx_free(ctx);
}

static void encodings_that_a_family_lacks(void **state)
{
    (void)state;
    rf_error why = {0};
    assert_int_equal(rf__family_allows(&rf__family_roformer, &rf__position_alibi, &why), RF_OK);
    assert_int_equal(rf__family_allows(&rf__family_bert, &rf__position_absolute, NULL), RF_OK);
    assert_int_equal(rf__family_allows(&rf__family_bert, &rf__position_alibi, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "position_embedding_type: expected \"absolute\", \"relative_key\" or "
             "\"relative_key_query\" for a BERT, got \"alibi\"");
}

/* Zeros where the published files have none, and the frequencies that these have in each layer. */
static bool may_lack(const rf_params *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->p[i].name, name)) return (p->p[i].flags & RF_ROW_MAY_LACK) != 0;
    return !strcmp(name, "esm.rotary_embeddings.inv_freq");
}

/* Except for computed tables; the prefix is the newer one, and norms have the names of the hub, where transformers
 * writes TensorFlow's. */
static bool is_written(const rf_family *f, const rf_weights *back, const char *name)
{
    char hub[160], now[160];
    if (f->older_prefix && !strncmp(name, f->older_prefix, strlen(f->older_prefix))) {
        snprintf(now, sizeof now, "%s%s", f->prefix, rf__family_bare(f, name));
        name = now;
    }
    if (!rf__weights_find(back, name) && rf__family_bare(f, name) == name) {        /* a base model has no prefix     */
        snprintf(now, sizeof now, "%s%s", f->prefix, name);
        if (rf__weights_find(back, now)) return true;
    }
    const char *end = strstr(name, "LayerNorm.gamma") ? "weight" : strstr(name, "LayerNorm.beta") ? "bias" : NULL;
    snprintf(hub, sizeof hub, "%.*s%s", end ? (int)(strrchr(name, '.') + 1 - name) : 159, name, end ? end : "");
    return rf__weights_find(back, hub) || strstr(name, "embed_positions") || strstr(name, "inv_freq") ||
           strstr(name, "position_ids") ||
           !strcmp(rf__family_bare(f, name), "shared.weight");      /* of an untied model, which does not look it up  */
}

/* A golden folder that is read and written has the names, shapes and bytes of the other program's, except for computed
 * tables, spellings, and the pooler and sentence pairs of a pre-training folder. */
static void folders_come_back(void **state)
{
    (void)state;
    static t_goldens all;
    all = t_family_goldens(NULL);
    for (int i = 0; i < all.n; i++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_config c;
        rf_params p;
        rf_weights *w, *back;
        rf_error why = {0};
        char path[512];
        if (rf_config_read(ctx, all.folder[i], &c, &why) || rf__params_new_head(ctx, &c, rf_config_head(&c), &p, &why))
            fail_msg("%s: %s", all.folder[i], why.text);
        float *slab = t_floats((int64_t)p.total);
        snprintf(path, sizeof path, "%s/model.safetensors", all.folder[i]);
        bool has;
        if (rf_weights_open(ctx, path, &w, &why) || rf__params_load(&p, w, slab, &has, NULL, &why))
            fail_msg("%s", why.text);
        snprintf(path, sizeof path, "%s/model.safetensors", t_folder());
        if (rf__params_save(&p, slab, RF_F32, path, &why) || rf_weights_open(ctx, path, &back, &why))
            fail_msg("%s", why.text);
        for (size_t j = 0; j < rf_weights_count(back); j++) {
            const rf_weight *mine = rf_weights_at(back, j), *theirs = rf__params_find(&p, w, mine->name);
            if (!theirs && may_lack(&p, mine->name)) continue;
            if (!theirs) fail_msg("%s: %s is not in the file that was read", all.folder[i], mine->name);
            assert_int_equal(mine->rank, theirs->rank);
            assert_int_equal(mine->bytes, theirs->bytes);
            assert_memory_equal(mine->data, theirs->data, mine->bytes);
        }
        if (strstr(all.folder[i], "old_names")) {
            assert_null(rf__weights_find(back, "bert.embeddings.LayerNorm.gamma"));
        } else {
            const bool pairs = strstr(all.folder[i], "pretraining");
            for (size_t j = 0; j < rf_weights_count(w); j++) {
                const char *name = rf_weights_at(w, j)->name;
                if (!is_written(p.family, back, name) && !(pairs && (strstr(name, ".pooler.") || strstr(name, "sop_"))))
                    fail_msg("%s: %s is not written", all.folder[i], name);
            }
        }
        rf_weights_close(w);
        rf_weights_close(back);
        rf__params_free(&p);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* The loss of a family's model with these weights. */
static double loss_of(const rf_params *p, float *slab, float *grad, const rf_batch *b, bool masked)
{
    static const int32_t row[] = {1, 3, 6}, label[] = {2, 7, 1};
    rf_encoder *e;
    rf_graph *g;
    rf_error why = {0};
    double sum = 0;
    if (rf__encoder_new(p, slab, grad, &e, &why) || rf__graph_new(p->ctx, &g, &why)) fail_msg("%s", why.text);
    rf__graph_record(g, grad != NULL, 1, 1);
    rf_tensor *loss;
    if (masked) {
        loss = rf__mlm_loss(g, e, rf__encoder_forward(g, e, b), row, label, 3, 1, &sum, NULL);
    } else {
        rf_tensor *z = rf__task_forward(g, e, b);
        float *target = t_floats(z->dim[0] * z->dim[1]);
        for (int64_t i = 0; i < z->dim[0] * z->dim[1]; i++) target[i] = (float)(i % 3) - 1;
        loss = rf__square_loss(g, z, target, 1, &sum);
    }
    if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
    if (grad && rf__backward(g, loss, &why)) fail_msg("%s", why.text);
    rf__graph_free(g);
    rf__encoder_free(e);
    return sum;
}

/* Every tensor of every head has its gradient, which is the slope of the loss along it: in f32, with steps whose
 * curvature causes up to 2 %, and losses of size 10 whose rounding is 1e-5. */
static const double STEP = 0.005;
static void check_gradients(const rf_ctx *ctx, const rf_config *c, rf_head head)
{
    static const int32_t id[] = {2, 5, 7, 3, 2, 9, 3}, type[] = {0, 0, 1, 1, 0, 1, 1}, start[] = {0, 4, 7};
    const rf_batch b = {.N = 7, .B = 2, .id = id, .type = type, .start = start};
    rf_params p;
    rf_error why = {0};
    if (rf__params_new_head(ctx, c, head, &p, &why)) fail_msg("%s", why.text);
    float *slab = t_floats((int64_t)p.total), *grad = t_floats((int64_t)p.total), *at = t_floats((int64_t)p.total);
    rf__params_init(&p, slab, 5);
    for (size_t i = 0; i < p.n; i++)
        for (size_t j = p.p[i].offset; j < p.p[i].offset + p.p[i].count; j++)
            slab[j] = (p.p[i].init == RF_INIT_NORMAL ? 20 : 1) * slab[j] + 0.1f * (float)sin(1.7 * (double)j);
    memset(grad, 0, p.total * sizeof *grad);
    loss_of(&p, slab, grad, &b, head == RF_HEAD_MLM);
    for (size_t i = 0; i < p.n; i++) {
        const rf_param *q = &p.p[i];
        double square = 0, two[2];
        for (size_t j = 0; j < q->count; j++) square += (double)grad[q->offset + j] * (double)grad[q->offset + j];
        /* softmax is invariant to one number for all keys; BERT has positions beyond the texts; ESM-2's contacts
         * and XLNet's second stream are not computed */
        if (strstr(q->name, "key.bias")) continue;
        if (strstr(q->name, "contact_head") || strstr(q->name, "mask_emb")) {
            assert_true(square <= 0);
            continue;
        }
        if (!(square > 0)) fail_msg("%s: %s has no gradient", c->family, q->name);
        for (int s = 0; s < 2; s++) {
            memcpy(at, slab, p.total * sizeof *at);
            for (size_t j = 0; j < q->count; j++)
                at[q->offset + j] += (float)((s ? STEP : -STEP) / sqrt(square) * (double)grad[q->offset + j]);
            two[s] = loss_of(&p, at, NULL, &b, head == RF_HEAD_MLM);
        }
        const double expected = 2 * STEP * sqrt(square), got = two[1] - two[0];
        if (!(fabs(got - expected) < 0.02 * expected + 1e-5))
            fail_msg("%s, head %d: %s moves the loss by %g, not by %g", c->family, (int)head, q->name, got, expected);
    }
    rf__params_free(&p);
    t_free_all();
}

static void every_tensor_has_its_gradient(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        for (const rf_class_row *is = (*f)->class; is->name && !(*f)->pairs; is++) {
            rf_config c = small((*f)->name);
            c.hidden_act = RF_ACT_GELU;
            c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
            if (c.classifier_dropout > 0) c.classifier_dropout = 0;
            c.is_decoder |= is->causal;
            c.layer_norm_eps = 1e-3;
            check_gradients(ctx, &c, is->head);
        }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_bound_to_members),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(folders_come_back),
        cmocka_unit_test(every_tensor_has_its_gradient),
        cmocka_unit_test(encodings_that_a_family_lacks),
    };
    return cmocka_run_group_tests_name("model/family", tests, NULL, NULL);
}

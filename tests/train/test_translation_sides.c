/* test_translation_sides.c — mirrors src/train/pairs/translation_sides.c: notes where source and target seem to be
 * exchanged,
 * and none where they do not. */
#define _GNU_SOURCE
#include "tiny.h"

typedef struct setup {
    rf_ctx *ctx;
    char *model, *file[2][2];           /* to train on, held out; source, target                                      */
    char notes[4096];
} setup;

/* Nouns on one side, what they do on the other. */
static void write_sides(setup *s)
{
    static const char *const name[2][2] = {{"a.src", "a.tgt"}, {"held.src", "held.tgt"}};
    for (int i = 0; i < 2; i++) {
        char text[2][4096] = {"", ""};
        for (unsigned k = 0; k < 48; k++) {
            const unsigned at = 5 * k + (unsigned)i;
            sprintf(text[0] + strlen(text[0]), "%s %s\n", tiny_nouns[at % 12], tiny_nouns[(at + k) % 12]);
            sprintf(text[1] + strlen(text[1]), "%s %s\n", tiny_verbs[at % 6], tiny_verbs[(at + k) % 6]);
        }
        for (int side = 0; side < 2; side++) {
            t_write(s->model, name[i][side], text[side], strlen(text[side]));
            s->file[i][side] = tiny_path(s->model, name[i][side]);
        }
    }
}

static int listen(void *user, const rf_train_progress *p)
{
    setup *s = user;
    const size_t n = strlen(s->notes);
    if (!strcmp(p->event, "note")) snprintf(s->notes + n, sizeof s->notes - n, "%s\n", p->note);
    return RF_TRAIN_GO;
}

/* The folder of a run; `swap`, `held`: which sides are exchanged. */
static char *trained(setup *s, const char *model, int swap, int held, int64_t steps)
{
    rf_train_options o;
    rf_error why = {0};
    char *out = strdup(t_folder());
    const char *const source[] = {s->file[0][swap]}, *const target[] = {s->file[0][1 - swap]};
    const char *const held_source[] = {s->file[1][held]}, *const held_target[] = {s->file[1][1 - held]};
    rf_translation_defaults(&o);
    o.source = source, o.target = target, o.validation_source = held_source, o.validation_target = held_target;
    o.sources = o.targets = o.validation_sources = o.validation_targets = 1;
    o.model = model, o.output_dir = out;
    o.max_steps = o.save_steps = o.eval_steps = steps, o.tokens_per_batch = 160, o.max_length = 16;
    o.learning_rate = 5e-3, o.warmup_steps = 4;
    s->notes[0] = 0;
    if (rf_train_translation(s->ctx, &o, listen, s, &why)) fail_msg("%s", why.text);
    return out;
}

static bool noted(const setup *s, const char *part) { return strstr(s->notes, part) != NULL; }

static void exchanged_sides_are_told(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"transformer\", \"d_model\": 32, \"encoder_layers\": 1, \"decoder_layers\": 1, "
        "\"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 48, "
        "\"decoder_ffn_dim\": 64, \"dropout\": 0}";
    setup s = {.ctx = t_ctx(1, NULL), .model = tiny_model()};
    t_write(s.model, "config.json", config, sizeof config - 1);
    write_sides(&s);
    char *folder = trained(&s, s.model, 0, 0, 60);
    assert_false(noted(&s, "exchanged"));
    free(trained(&s, s.model, 0, 1, 2));
    assert_true(noted(&s, "are validation_source and validation_target exchanged?"));
    free(trained(&s, folder, 0, 0, 2));
    assert_false(noted(&s, "exchanged"));
    free(trained(&s, folder, 1, 1, 2));
    assert_true(noted(&s, "are source and target exchanged?"));
    assert_false(noted(&s, "validation_source and"));
    rf_ctx_free(s.ctx);
    free(folder);
    free(s.model);
    for (int i = 0; i < 4; i++) free(s.file[i / 2][i % 2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanged_sides_are_told),
    };
    return cmocka_run_group_tests_name("train/translation_sides", tests, NULL, NULL);
}

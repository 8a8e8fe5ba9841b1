/* cmd_info.c — roformer info: describes a model folder, or the program and this machine. */
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/shared/info_units.h"
#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "cli/os/program.h"
#include "roformer/inspect/folder.h"
#include "roformer/inspect/files.h"
#include "roformer/inspect/positions.h"
#include "roformer/inspect/steps.h"

struct args { const char *model; int json, env, tensors; cli_list folder; };

static const char *act_name(rf_act a)
{
    static const char *const names[][8] = {
        {"none"},
#define RFA(constant, kernel, torch, y, ...) {__VA_ARGS__},
#include "roformer/kernel/acts.def"
#undef RFA
    };
    return (unsigned)a < CLI_COUNT(names) ? names[a][0] : "?";
}

/* Prints a JSON object as rows "key  value", nested ones indented, so that one description serves both formats. */
static void print_object(const json_t *object, int indent)
{
    const char *key;
    json_t *value;
    int width = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        width = json_is_object(value) || (int)strlen(key) <= width ? width : (int)strlen(key);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (json_is_object(value)) {
            printf("%*s", indent, "");
            cli_put_name(key);
            putchar('\n');
            print_object(value, indent + 2);
            continue;
        }
        printf("%*s", indent, "");
        cli_put_name(key);
        printf("%*s  ", width - (int)strlen(key), "");
        if (json_is_string(value)) cli_put_name(json_string_value(value));
        else if (json_is_integer(value)) printf("%lld", (long long)json_integer_value(value));
        else if (json_is_real(value)) printf("%g", json_real_value(value));
        else if (json_is_boolean(value)) printf("%s", json_is_true(value) ? "yes" : "no");
        else if (json_is_array(value))
            for (size_t i = 0; i < json_array_size(value); i++) {
                if (i) putchar(' ');
                cli_put_name(json_string_value(json_array_get(value, i)));
            }
        else printf("none");
        printf("\n");
    }
}


/* ---- --env ------------------------------------------------------------------------------------------------------- */

/* The units that the system reports, and how the library uses them. */
static void processor_units(json_t **o, const cli_io *io)
{
    char flags[4096], spaced[4096 + 2];
    if (!cli_os_describe(CLI_OS_UNITS, flags, sizeof flags)) return;
    snprintf(spaced, sizeof spaced, " %s ", flags);
    cli_json_set(o, "units", info_units(spaced, rf_ctx_isa(io->ctx)));
}

static json_t *environment(const cli_io *io)
{
    json_t *o = json_object(), *rungs = json_array(), *with = json_object();
    char text[256], memory[64];
    cli_json_set(&o, "version", json_string(rf_version()));
#if defined(__clang__)
    cli_json_set(&o, "compiler", json_string("clang " __clang_version__));
#else
    cli_json_set(&o, "compiler", json_string("gcc " __VERSION__));
#endif
#ifdef RF_BUILD_TYPE
    cli_json_set(&o, "build", json_string(RF_BUILD_TYPE));
#endif
    if (cli_os_describe(CLI_OS_SYSTEM, text, sizeof text)) cli_json_set(&o, "system", json_string(text));
    if (cli_os_describe(CLI_OS_PROCESSOR, text, sizeof text))
        cli_json_set(&o, "processor", cli_text_json(text, strlen(text)));
    processor_units(&o, io);
    json_t *missing = json_object();
    const char *rung, *lacks;
    for (int i = 0; (rung = rfk_rung_name(i, &lacks)); i++)
        if (lacks) cli_json_set(&missing, rung, json_sprintf("needs %s", lacks));
        else cli_json_add(&rungs, json_string(rung));
    cli_json_set(&o, "rungs", rungs);
    cli_json_set(&o, "rungs_missing", missing);
    cli_json_set(&o, "rung", json_string(rf_ctx_isa(io->ctx)));
    cli_json_set(&o, "threads", json_integer(rf_ctx_threads(io->ctx)));
    cli_json_set(&o, "processors", json_integer(cli_os_processors()));
    cli_json_set(&o, "products", json_string(rf_gemm_backend(io->ctx)));
    if (cli_os_describe(CLI_OS_MEMORY, memory, sizeof memory)) cli_json_set(&o, "memory", json_string(memory));
    if (cli_os_describe(CLI_OS_MEMORY_FREE, memory, sizeof memory))
        cli_json_set(&o, "memory_free", json_string(memory));
    cli_json_set(&with, "jansson", json_string(JANSSON_VERSION));
    cli_json_set(&with, "utf8proc", json_string(utf8proc_version()));
    cli_json_set(&with, "zlib", json_string(zlibVersion()));
    cli_json_set(&with, "zstd", json_string(ZSTD_versionString()));
    cli_json_set(&o, "libraries", with);
    if (!cli_model_folder(NULL, text, sizeof text, NULL))
        cli_json_set(&o, "shipped_model", cli_text_json(text, strlen(text)));
    if (!cli_sentence_folder(NULL, text, sizeof text, NULL))
        cli_json_set(&o, "shipped_sentence_model", cli_text_json(text, strlen(text)));
    return o;
}

/* ---- a model folder ---------------------------------------------------------------------------------------------- */

static bool rotates(const rf_config *c)
{
    const rf_position *p;
    return !rf_position_of(c, NULL, &p, NULL) && (rf_position_flags(p) & RF_POSITION_ROPE);
}

/* The keys of the decoder that differ; heads, layers and feed-forward above are the encoder's. */
static void add_decoder(json_t **o, const rf_config *c)
{
    const char *own = c->decoder_position_embedding_type;
    const int64_t heads = c->decoder_attention_heads, inner = c->decoder_ffn_dim;
    cli_json_set(o, "decoder_layers", json_integer(c->decoder_layers));
    cli_json_set(o, "decoder_heads", json_integer(heads ? heads : c->num_attention_heads));
    cli_json_set(o, "decoder_intermediate_size", json_integer(inner ? inner : c->intermediate_size));
    cli_json_set(o, "decoder_position", json_string(*own ? own : c->position_embedding_type));
    cli_json_set(o, "norm", json_string(c->normalize_before ? "before sub-layers" : "behind sub-layers"));
    cli_json_set(o, "shared_words", json_boolean(c->share_encoder_decoder_embeddings));
    cli_json_set(o, "tied_logits", json_boolean(c->tie_word_embeddings));
}

static json_t *config_json(const rf_config *c)
{
    json_t *o = json_object();
    cli_json_set(&o, "family", json_string(c->family));
    cli_json_set(&o, "architecture", json_string(c->architecture));
    cli_json_set(&o, "layers", json_integer(c->num_hidden_layers));
    cli_json_set(&o, "hidden_size", json_integer(c->hidden_size));
    cli_json_set(&o, "embedding_size", json_integer(c->embedding_size));
    cli_json_set(&o, "heads", json_integer(c->num_attention_heads));
    if (c->num_key_value_heads > 0)
        cli_json_set(&o, "key_value_heads", json_integer(c->num_key_value_heads));
    cli_json_set(&o, "head_size", json_integer(rf_config_head_width(c)));
    cli_json_set(&o, "intermediate_size", json_integer(c->intermediate_size));
    cli_json_set(&o, "activation", json_string(act_name(c->hidden_act)));
    cli_json_set(&o, "vocabulary", json_integer(c->vocab_size));
    if (c->type_vocab_size && !c->is_encoder_decoder) cli_json_set(&o, "token_types", json_integer(c->type_vocab_size));
    cli_json_set(&o, "max_position_embeddings", json_integer(c->max_position_embeddings));
    if (rotates(c)) {
        cli_json_set(&o, "rope_theta", json_real(c->rope_theta));
        cli_json_set(&o, "rotary_value", json_boolean(c->rotary_value));
    }
    cli_json_set(&o, "layer_norm_eps", json_real(c->layer_norm_eps));
    if (c->linear_pooler) cli_json_set(&o, "pooler", json_string("linear, of the first token"));
    if (c->is_encoder_decoder) add_decoder(&o, c);
    cli_json_set(&o, "parameters", json_integer(rf_config_parameters(c)));
    return o;
}

/* The model's encoding; NULL, with an error, if it is not supported. */
static json_t *position_json(const rf_config *c, const char *folder, rf_error *why)
{
    const rf_position *p;
    if (rf_position_of(c, folder, &p, why)) return NULL;
    const int flags = rf_position_flags(p);
    return json_pack("{s:s, s:s, s:I, s:b, s:b, s:s}", "name", rf_position_name(p), "equation",
                     rf_position_equation(p), "parameters", (json_int_t)rf_position_parameters(p, c),
                     "shift_invariant", (flags & RF_POSITION_SHIFT) != 0, "extrapolates",
                     (flags & RF_POSITION_EXTRAPOLATES) != 0, "source", rf_position_source(p));
}

/* One text of 128 tokens, or as long as a text can be; and a step of pre-training on eight of them. */
static json_t *work_json(const cli_io *io, const rf_config *c)
{
    rf_pass one = {.texts = 1, .tokens = 128}, step = {.texts = 8, .train = 1};
    if (c->max_position_embeddings > 0 && c->max_position_embeddings < one.tokens)
        one.tokens = c->max_position_embeddings;
    step.tokens = one.tokens;
    if (rf_pass_count(io->ctx, c, &one, NULL)) return NULL;
    json_t *o = json_pack("{s:I, s:f, s:I}", "tokens", (json_int_t)one.tokens, "forward_gflop", 1e-9 * one.flops,
                          "forward_bytes", (json_int_t)one.bytes);
    if (rf_pass_count(io->ctx, c, &step, NULL)) return o;
    cli_json_set(&o, "step_texts", json_integer((json_int_t)step.texts));
    cli_json_set(&o, "step_gflop", json_real(1e-9 * step.flops));
    cli_json_set(&o, "step_bytes", json_integer((json_int_t)step.bytes));
    return o;
}

static json_t *tokenizer_json(const rf_tokenizer *t)
{
    char *text = rf_tokenizer_describe(t);
    json_t *o = text ? json_loads(text, 0, NULL) : NULL;
    rf_text_free(t, text);
    return o;
}

/* The description of a part that cannot be read. */
static json_t *not_readable(const rf_error *why)
{
    return json_pack("{s:o}", "not readable", cli_text_json(why->text, strlen(why->text)));
}

/* Whether texts cannot be longer than max_position_embeddings. */
static bool positions_end(const rf_config *c)
{
    const rf_position *p;
    return !rf_position_of(c, NULL, &p, NULL) && !(rf_position_flags(p) & RF_POSITION_EXTRAPOLATES);
}

/* How vectors of texts are computed, if the folder defines it. */
static rf_status describe_vectors(const cli_io *io, const char *folder, const rf_config *c, json_t **o, rf_error *why)
{
    rf_sentence s;
    rf_error unread = {0};
    const rf_status status = rf_sentence_read(io->ctx, folder, &s, &unread);
    const bool said = status == RF_EUNSUPPORTED || status == RF_EDATA;
    if (said) cli_json_set(o, "vectors", not_readable(&unread));
    if (status) return said ? RF_OK : rf_fail(why, status, "%s", unread.text);
    if (*s.pooling) {
        json_t *v = json_object(), *names = json_array();
        char poolings[64];
        if (rf_sentence_poolings(io->ctx, folder, poolings, sizeof poolings, why)) *poolings = 0;
        cli_json_set(&v, "pooling", json_string(poolings));
        cli_json_set(&v, "normalize", json_boolean(s.normalize));
        if (s.max_length > c->max_position_embeddings && positions_end(c)) s.max_length = c->max_position_embeddings;
        if (s.max_length) cli_json_set(&v, "max_length", json_integer(s.max_length));
        if (strcmp(s.similarity, "cosine")) cli_json_set(&v, "similarity", json_string(s.similarity));
        if (s.truncate_dim) cli_json_set(&v, "truncate_dim", json_integer(s.truncate_dim));
        for (int64_t i = 0; i < s.prompts; i++) {
            const char *name = s.prompt[i].name;
            cli_json_add(&names, cli_text_json(name, strlen(name)));
        }
        if (s.default_prompt >= 0) {
            const char *usual = s.prompt[s.default_prompt].name;
            cli_json_set(&v, "default_prompt", cli_text_json(usual, strlen(usual)));
        }
        if (s.prompts) cli_json_set(&v, "prompts", json_incref(names));
        json_decref(names);
        cli_json_set(o, "vectors", v);
    }
    rf_sentence_free(&s);
    return RF_OK;
}

static json_t *shape_json(const rf_weight *w)
{
    json_t *shape = json_array();
    for (int i = 0; i < w->rank; i++) cli_json_add(&shape, json_integer(w->dim[i]));
    return shape;
}

static json_t *tensor_table(const rf_weights *w)
{
    json_t *list = json_array();
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        cli_json_add(&list, json_pack("{s:s,s:s,s:o,s:I}", "name", t->name, "type", t->dtype, "shape",
                                              shape_json(t), "bytes", (json_int_t)t->bytes));
    }
    return list;
}

/* The type of the largest matrix of fractions; integers are ids of positions, or codes with scales. */
static const char *main_type(const rf_weights *w)
{
    const rf_weight *best = NULL;
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        if ((*t->dtype == 'F' || *t->dtype == 'B') && (!best || t->bytes > best->bytes)) best = t;
    }
    return (best ? best : rf_weights_at(w, 0))->dtype;
}

/* Whether the weights match the configuration, and which tensors are not used. The parameters of a head that they do
 * not have are not counted. */
static rf_status fit(const cli_io *io, const rf_config *c, const rf_weights *w, json_t *config, json_t **o,
                     rf_error *why)
{
    rf_fit f;
    const rf_status status = rf_weights_fit(io->ctx, w, c, &f, why);
    if (status) return status;
    if (!f.head && rf_config_head(c) == RF_HEAD_MLM) {
        rf_config bare = *c;
        rf_config_set_head(&bare, RF_HEAD_EMBED);
        cli_json_set(&config, "parameters", json_integer(rf_config_parameters(&bare)));
    }
    cli_json_set(o, "mlm_head", json_boolean(f.head));
    cli_json_set(o, "ignored", json_string(*f.ignored ? f.ignored : "nothing"));
    rf_fit_free(&f);
    return RF_OK;
}

/* If the tokenizer cannot be read, the error is printed instead. */
static rf_status describe_tokenizer(const cli_io *io, const char *folder, json_t **o, rf_error *why)
{
    rf_tokenizer *t = NULL;
    rf_error unread = {0};
    cli_json_set(o, "tokenizer", json_null());
    if (!rf_tokenizer_found(io->ctx, folder)) return RF_OK;
    const rf_status status = rf_tokenizer_open(io->ctx, folder, &t, &unread);
    if (!status) {
        cli_json_set(o, "tokenizer", tokenizer_json(t));
        rf_tokenizer_free(t);
        return RF_OK;
    }
    if (status != RF_EUNSUPPORTED) return rf_fail(why, status, "%s", unread.text);
    cli_json_set(o, "tokenizer", not_readable(&unread));
    return RF_OK;
}

static rf_status describe(const cli_io *io, const char *folder, json_t **o, json_t **tensors, rf_error *why)
{
    char path[4096];
    rf_config c;
    rf_weights *w = NULL;
    cli_json_set(o, "model", cli_text_json(folder, strlen(folder)));
    rf_status status = rf_config_read(io->ctx, folder, &c, why);
    if (status) return status;
    cli_json_set(o, "config", config_json(&c));
    json_t *position = position_json(&c, folder, why);
    if (!position) return why->code ? why->code : rf_fail(why, RF_ENOMEM, "out of memory: a description");
    cli_json_set(o, "position", position);
    json_t *work = work_json(io, &c);
    if (work) cli_json_set(o, "work", work);
    if ((status = describe_tokenizer(io, folder, o, why)) || (status = describe_vectors(io, folder, &c, o, why)))
        return status;
    rf_error none = {0};
    if (rf_weights_path(folder, path, sizeof path, &none)) {
        cli_json_set(o, "weights", json_null());
        cli_note(io, "no weights: %s", none.text);
        return RF_OK;
    }
    if ((status = rf_weights_open(io->ctx, path, &w, why))) return status;
    json_t *weights = json_object();
    size_t bytes = 0;
    json_int_t in_int8 = 0;
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        bytes += rf_weights_at(w, i)->bytes;
        in_int8 += c.quantized && !strcmp(rf_weights_at(w, i)->dtype, "I8");
    }
    cli_json_set(&weights, "file", cli_text_json(path, strlen(path)));
    cli_json_set(&weights, "tensors", json_integer((json_int_t)rf_weights_count(w)));
    cli_json_set(&weights, "bytes", json_integer((json_int_t)bytes));
    if (rf_weights_count(w)) cli_json_set(&weights, "type", json_string(main_type(w)));
    if (in_int8) cli_json_set(&weights, "matrices_in_int8", json_integer(in_int8));
    status = fit(io, &c, w, json_object_get(*o, "config"), &weights, why);
    cli_json_set(o, "weights", weights);
    *tensors = tensor_table(w);
    rf_weights_close(w);
    return status;
}

static void print_tensors(const json_t *list)
{
    printf("tensors\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *t = json_array_get(list, i), *shape = json_object_get(t, "shape");
        char text[128] = "";
        size_t n = 0;
        for (size_t k = 0; k < json_array_size(shape) && n < sizeof text; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", k ? " x " : "",
                                  (long long)json_integer_value(json_array_get(shape, k)));
        printf("  %-5s %-14s ", json_string_value(json_object_get(t, "type")), text);
        cli_put_name(json_string_value(json_object_get(t, "name")));
        putchar('\n');
    }
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    char folder[4096];
    json_t *o, *tensors = NULL;
    if (a->env && (a->folder.n || a->tensors || cli_given(io->parsed, "model"))) {
        rf_fail(&io->why, RF_EARG,
                "--env: expected no model folder and no --tensors, got one of them; --env describes this program and "
                "machine");
        return cli_exit(io);
    }
    if (a->env) {
        o = environment(io);
    } else {
        if (a->folder.n && cli_given(io->parsed, "model"))
            rf_fail(&io->why, RF_EARG, "DIR, --model: expected one of them, got both");
        if (io->why.code ||
            cli_model_folder(a->folder.n ? a->folder.item[0] : a->model, folder, sizeof folder, &io->why))
            return cli_exit(io);
        o = json_object();
        rf_held_folder *held = NULL;
        rf_status status = rf_folder_hold(io->ctx, folder, &held, &io->why);
        if (!status) status = describe(io, folder, &o, &tensors, &io->why);
        rf_folder_release(&held, status, &io->why);
    }
    if (!o && !io->why.code) rf_fail(&io->why, RF_ENOMEM, "out of memory: a description");
    if (a->json) {
        if (tensors) cli_json_set(&o, "tensors", json_incref(tensors));
        if (!io->why.code) cli_print_json(json_incref(o), JSON_INDENT(2), &io->why);
    } else if (!io->why.code) {
        print_object(o, 0);
        if (tensors && a->tensors) print_tensors(tensors);
    }
    json_decref(tensors);
    json_decref(o);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION(struct args, model),
    {"env", 0, CLI_FLAG, A(env), NULL, NULL, 0, 0, NULL, "describe this program and this machine, for bug reports",
     NULL},
    {"tensors", 0, CLI_FLAG, A(tensors), NULL, NULL, 0, 0, NULL, "list every tensor (--json always does)", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one JSON object", NULL},
    {"DIR", 0, CLI_OPERANDS, A(folder), NULL, NULL, 0, 1, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer info",
    "roformer info my-model --tensors",
    "roformer info --env",
    NULL,
};

const cli_command cmd_info = {
    "info",
    "[DIR]",
    "describe a model folder or this machine",
    "Prints for a model folder (DIR or -m): dimensions, number of parameters, position encoding, tokenizer, pooling "
    "and prompts if the folder defines them, weights, whether weights and configuration match, and which tensors are "
    "not used.  With --env: version, libraries, processor, kernels and memory.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};

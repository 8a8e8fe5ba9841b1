/* checkpoint.h — the model folder: config.json and model.safetensors, both ways.
 *
 * The folder is Hugging Face's: what is written here loads with `from_pretrained`, and the other way round.
 * Every size read from a file is checked against the file's real size before anything is used.
 *
 * threads   an rf_weights is immutable after opening and may be shared                                              */
#ifndef ROFORMER_CHECKPOINT_H
#define ROFORMER_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"
#include "roformer/kernel/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- safetensors ------------------------------------------------------------------------------------------------- */

enum { RF_MAX_RANK = 8 };

typedef struct rf_weight {
    const char *name;
    const char *dtype;          /* as the file says it: "F32", "BF16", "I64", ...                                     */
    int readable;               /* 0: listed only, a data type that has no rf_type                                    */
    rf_type type;               /* when readable                                                                      */
    int rank;
    int64_t dim[RF_MAX_RANK];
    size_t count, bytes;        /* elements; bytes in the file                                                        */
    const void *data;           /* inside the mapping; may be unaligned                                               */
    /* elements from one to the next of each dimension, where that is not what the dimensions say (a transposed tensor
     * of torch.save: `bytes` is then from its first to its last); NULL: the tensor lies in one piece, as in C */
    const int64_t *stride;
} rf_weight;

typedef struct rf_weights rf_weights;

/* Maps a .safetensors file or a checkpoint of PyTorch (torch.save's zip, or the pickles before it; nothing is
 * executed), or all shards that an index names, or what a folder holds of these.
 *
 *   out             closed with rf_weights_close; untouched on error
 *   cost            the headers are read, the data is only mapped
 *   RF_EIO          cannot be opened or mapped
 *   RF_EDATA        not such a file: header length, JSON, duplicate names, shapes, offsets (message says which);
 *                   an index that names another folder, a missing shard, a tensor in two shards
 *   RF_EUNSUPPORTED a data type that the format does not know                                                        */
rf_status rf_weights_open(const rf_ctx *ctx, const char *path, rf_weights **out, rf_error *why);

/* The file that a folder's weights are opened by: model.safetensors, its index, pytorch_model.bin or its index,
 * whichever is there first.  RF_EIO: none is. */
rf_status rf_weights_path(const char *folder, char *path, size_t size, rf_error *why);
void rf_weights_close(rf_weights *w);
size_t rf_weights_count(const rf_weights *w);
const rf_weight *rf_weights_at(const rf_weights *w, size_t i);                       /* in the order of the file     */
const rf_weight *rf_weights_find(const rf_weights *w, const char *name);             /* NULL when there is none      */
const char *rf_weights_metadata(const rf_weights *w, const char *key);               /* NULL when there is none      */

/* Copies a tensor as f32: F32, BF16 and F16, exactly; a matrix in I8 times the scales of its rows ("..._scale").
 *
 *   to              [t->count]
 *   RF_ENUMERIC     a value is not finite and `finite` asks for that; the message names the first
 *   RF_EUNSUPPORTED any other data type: integers without a scale                                                    */
rf_status rf_weights_read(const rf_weights *w, const rf_weight *t, float *to, int finite, rf_error *why);
void rf_weights_forget(const rf_weights *w, const rf_weight *t);                     /* its pages may go             */

/* What to write: f32 values, kept as `type` (RF_F32, RF_BF16, RF_F16; RF_I8: whole numbers in -128..127). */
typedef struct rf_weight_out {
    const char *name;
    rf_type type;
    int rank;
    int64_t dim[4];
    const float *data;
} rf_weight_out;

/* Writes a .safetensors file as a whole or not at all: temporary name, fsync, rename, fsync of the folder.
 *
 *   metadata        key, value, key, value, ..., NULL; or NULL.  {"format": "pt"} is added: transformers asks for it
 *   order           wide types first, then by name: the same tensors give the same bytes
 *   memory          64 KiB, whatever the tensors' size
 *   RF_EARG         a name twice, empty or not UTF-8; rank, dimension or type outside what rf_weight_out can say
 *   RF_ENUMERIC     a value that is not finite, or not after rounding to its type, or no whole number of 8 bits for
 *                   RF_I8; nothing is written
 *   RF_EIO          the old file, if any, is untouched                                                               */
rf_status rf_weights_write(const rf_ctx *ctx, const char *path, const rf_weight_out *tensor, size_t count,
                           const char *const *metadata, rf_error *why);

/* ---- config.json ------------------------------------------------------------------------------------------------- */

/* What stands on top of the encoder: transformers' RoFormerFor... classes, and BERT's pooler with a classifier. */
typedef enum rf_head {
    RF_HEAD_MLM,                /* MaskedLM, CausalLM (the same tensors), or no head at all                           */
    RF_HEAD_SEQUENCE,           /* SequenceClassification: K logits for a text                                        */
    RF_HEAD_POOLED,             /* the same with BERT's pooler                                                        */
    RF_HEAD_TOKEN,              /* TokenClassification: K logits for each token                                       */
    RF_HEAD_SPAN,               /* QuestionAnswering: begin and end for each token                                    */
    RF_HEAD_CHOICE,             /* MultipleChoice: one logit for each candidate                                       */
    RF_HEAD_SEQ2SEQ,            /* of an encoder and a decoder: the next word of the target                           */
    RF_HEAD_EMBED               /* no tensors: a vector for each text, as sentence_pooling says                       */
} rf_head;

/* The vector of a text that MultipleChoice looks at (summary_type). */
typedef enum rf_summary { RF_SUMMARY_LAST, RF_SUMMARY_FIRST, RF_SUMMARY_MEAN } rf_summary;

/* How rotary positions are stretched beyond the trained length: rope_scaling of config.json, with transformers' names.
 * A number that is 0 was not given. */
typedef enum rf_rope_type {
    RF_ROPE_DEFAULT, RF_ROPE_LINEAR, RF_ROPE_NTK, RF_ROPE_DYNAMIC, RF_ROPE_YARN, RF_ROPE_LONGROPE, RF_ROPE_LLAMA3
} rf_rope_type;
enum { RF_ROPE_LIST = 256, RF_ROPE_SECTIONS = 3, RF_ROPE_LAYERS = 64 };           /* the longest lists                */
typedef struct rf_rope_scaling {
    rf_rope_type rope_type;
    double factor, attention_factor, beta_fast, beta_slow, mscale, mscale_all_dim, low_freq_factor, high_freq_factor;
    int64_t original_max_position_embeddings;
    int no_truncate;             /* truncate: false                                                                   */
    int64_t shorts, longs, sections;                 /* lengths of the lists                                          */
    const double *short_factor, *long_factor;        /* a number for each plane; see rf_config on whose they are      */
    int64_t mrope_section[RF_ROPE_SECTIONS];
    int64_t final_length;        /* dynamic, longrope: what a text will have at its end; 0: each text its own         */
} rf_rope_scaling;
enum { RF_ROPE_SCALING_MOST = 256 };                 /* bytes that it may grow to in a struct that holds it */

/* attention_type: softmax of scores, or products of features (rf_linear_attention). */
typedef enum rf_attention_type { RF_ATTENTION_SOFTMAX, RF_ATTENTION_LINEAR } rf_attention_type;

/* rotation_order: features are rotated, in the numerator alone (RoFormer, Eq. 19); queries and keys are, before the map
 * (performer-pytorch); nothing is. */
typedef enum rf_rotation_order { RF_ROTATE_FEATURES, RF_ROTATE_BEFORE, RF_ROTATE_NONE } rf_rotation_order;

/* A model's shape.  A program fills one in from rf_config_defaults on, or reads it from a folder.
 *
 * Copies     by assignment; of one that is lent by the library (rf_model_config) with rf_config_copy, which knows the
 *            size that the program's own struct has
 * Lists      are pointed at.  Those of a config that was read belong to the context, with which they end, so there is
 *            nothing to free; those that a program puts in are its own, and looked at during calls alone             */
typedef struct rf_config {
    size_t size;                 /* of this struct, set by whatever fills it in                                       */
    char family[32];             /* "roformer", "bert", "roformer_v2": a row of src/model/families.def                */
    int64_t vocab_size, embedding_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size;
    int64_t max_position_embeddings, type_vocab_size, pad_token_id;
    rf_act hidden_act;
    double hidden_dropout_prob, attention_probs_dropout_prob, initializer_range, layer_norm_eps;
    double classifier_dropout;   /* before a BERT's classifier; below 0: hidden_dropout_prob                          */
    double rope_theta;           /* 10000: RoFormer's constant; our own key for other bases                           */
    int rotary_value, tie_word_embeddings;
    int is_decoder;              /* attention sees earlier tokens only: a causal language model                       */
    char position_embedding_type[32];   /* "rotary", or another row of `roformer positions`                           */
    union {
        rf_rope_scaling rope_scaling;
        unsigned char rope_scaling_may_grow[RF_ROPE_SCALING_MOST];
    };
    const double *rope_theta_per_layer;              /* a base for each layer in rope_theta's place                   */
    int64_t rope_thetas;         /* how many; 0: rope_theta for all                                                   */
    double partial_rotary_factor;                    /* share of a head's columns that is rotated                     */
    int rope_interleave;         /* planes are pairs (2i, 2i+1); 0: (i, i + r/2)                                      */
    int64_t rotary_heads;        /* the first heads that are rotated; 0: all                                          */
    int rotary_value_inverse;    /* with rotary_value: results are rotated back, so that only distances count         */
    int use_logn_attn;           /* queries grow with the logarithm of the text's length beyond the trained one       */
    int64_t position_grid_width, position_grid_height;   /* positions are cells of a grid, row after row              */
    double hierarchical_alpha, position_step, xpos_scale_base;
    int64_t rerope_window;       /* distances are true below it ...                                                   */
    double rerope_leak;          /* ... and divided by this beyond; 0: cut                                            */
    int64_t relative_attention_num_buckets, relative_attention_max_distance;       /* T5's and TUPE's                 */
    int64_t max_relative_position;                   /* Shaw, NEZHA: offsets are cut to it                            */
    int64_t max_relative_positions, position_buckets;  /* DeBERTa; below 1: max_position_embeddings, no logarithm     */
    int share_att_key;           /* DeBERTa: places are projected by the words' key and query matrices                */
    int64_t clamp_len;           /* Transformer-XL, XLNet: distances are cut to it; below 0: not                      */
    int scale_embedding;         /* words times the root of embedding_size (Vaswani et al. 2017, Sec. 3.4)            */
    int64_t sandwich_width;      /* of the sines whose product Sandwich is                                            */
    double cape_max_global_shift, cape_max_local_shift, cape_max_global_scaling;   /* in training                     */
    int64_t conv_kernel_size;    /* of the convolution in front                                                       */
    char architecture[64];       /* "RoFormerForMaskedLM"                                                             */
    int64_t num_labels;          /* K, the logits of a fine-tuned head: the size of id2label; 2 when nothing says it  */
    const char *const *label;    /* [num_labels] their names, the caller's; NULL: LABEL_0, ...; see rf_labels_read    */
    const char *const *task_label;   /* [num_task_labels] of tasks whose outputs are not their labels; NULL: they are */
    int64_t num_task_labels;             /* task_labels in config.json; rf_labels_read reads those                    */
    char problem_type[32];       /* "single_label_classification", "multi_label_classification", "regression" or ""   */
    char finetuning_task[32];    /* "cls", "glue/mrpc", ... or ""                                                     */
    int64_t task_max_length;     /* tokens of a text in fine-tuning; 0: not said                                      */
    /* columns of labeled files, when named; or "" */
    char task_text_column[128], task_pair_column[128], task_label_column[128];
    int task_pairs;              /* fine-tuned on pairs of texts                                                      */
    char task_header[8], task_separator[8];     /* of tables, when told: "yes" or "no"; "tab" or the character; or "" */
    int version_2_with_negative; /* a head for answers may say that there is none                                     */
    rf_summary summary;
    rf_attention_type attention_type;               /* of all layers, or of each where a list is given ...            */
    rf_rotation_order rotation_order;               /* of linear attention with rotary positions                      */
    const unsigned char *attention_type_per_layer;
    int64_t attention_types;     /* ... of so many; 0: attention_type for all                                         */
    char feature_map[16];        /* of linear attention: "favor", or another row of feature_maps.def                  */
    int64_t num_random_features; /* below 0: d ln d, d the width of a head                                            */
    double feature_epsilon;      /* added to features; below 0: the map's own                                         */
    int64_t feature_seed;        /* of random features; below 0: not known                                            */
    int64_t feature_redraw_interval, feature_draw;  /* steps of training for which they are kept; which draw they are */
    /* Models of an encoder and a decoder: num_hidden_layers, num_attention_heads and intermediate_size are the
     * encoder's. */
    int is_encoder_decoder;
    int64_t decoder_layers, decoder_attention_heads, decoder_ffn_dim;
    int64_t decoder_start_token_id, eos_token_id;    /* before a target's first word, and behind its last             */
    int64_t decoder_vocab_size;                      /* -1: vocab_size, which it must be                              */
    int share_encoder_decoder_embeddings;            /* one table of words for both sides                             */
    int normalize_before;                            /* norms stand before sub-layers, and one behind the last layer  */
    int rotary_cross_attention;                      /* rotation by places in target and source there, too            */
    double activation_dropout;                       /* inside the feed-forward                                       */
    char decoder_position_embedding_type[32];        /* "": position_embedding_type                                   */
    /* RF_HEAD_EMBED: how the vectors of tokens become one, by rf_pooling's names "cls", "mean", "max"; whether vectors
     * have length 1 */
    char sentence_pooling[8];
    int sentence_normalize;
    double sinusoidal_base;      /* 10000: of every encoding that is made of sines (rope_theta: of those that rotate) */
    int64_t concat_width;        /* columns of the position beside the word; 0: embedding_size                        */
    /* The folder's matrices are in int8 with scales (quantization_config).  Of its files, not of the model: it is not
     * written (rf_convert writes such folders). */
    int quantised;
    /* RoFormer-Sim (pooler_activation "linear"): the vector of a text is W h_[CLS] + b, and a causal model sees all of
     * a prompt at each of its tokens (UniLM's mask); what it writes has token type 1. */
    int linear_pooler;
} rf_config;

/* RoFormerConfig's own defaults. */
void rf_config_init(rf_config *c, size_t size);
#define rf_config_defaults(c) rf_config_init((c), sizeof *(c))

/* The defaults of another family.  RF_EARG: there is none of this name, the message lists all. */
rf_status rf_config_defaults_of_sized(const char *family, rf_config *c, size_t size, rf_error *why);
#define rf_config_defaults_of(family, c, why) rf_config_defaults_of_sized((family), (c), sizeof *(c), (why))

/* `path` is a config.json or a folder that holds one; the config, untouched on error, need not be filled in before.
 *   RF_EDATA         names the key, the value and the allowed range; wrong types, heads that do not divide hidden_size
 *   RF_EUNSUPPORTED  another model_type, or keys that would change the mathematics (norm_type, use_bias,
 *                    cross-attention); a quantization_config of another scheme than W8A8 of compressed-tensors */
rf_status rf_config_read_sized(const rf_ctx *ctx, const char *path, rf_config *out, size_t size, rf_error *why);
#define rf_config_read(ctx, path, out, why) rf_config_read_sized((ctx), (path), (out), sizeof *(out), (why))

/* The same of a config.json that somebody wrote for a new model: keys that nothing reads are mostly slips of the pen.
 *   RF_EDATA         also a key that is nearly one that is read, with that one; a key of linear attention without
 *                    attention_type
 * strange: the other keys that nothing reads, with commas between them, cut at strange_size bytes; "": none. */
rf_status rf_config_read_new_sized(const rf_ctx *ctx, const char *path, rf_config *out, size_t size, char *strange,
                                   size_t strange_size, rf_error *why);
#define rf_config_read_new(ctx, path, out, strange, strange_size, why)                                                 \
    rf_config_read_new_sized((ctx), (path), (out), sizeof *(out), (strange), (strange_size), (why))

/* Keys of a folder's config.json that are nearly ones that are read, each as "FILE: unknown key K; did you mean L?",
 * with spaces between them, cut at `size` bytes; "": none.  Other keys that are unknown mean nothing here. */
rf_status rf_config_unknown_keys(const rf_ctx *ctx, const char *folder, char *text, size_t size, rf_error *why);

/* rf_config_read of text, `bytes` long, whose name messages say. */
rf_status rf_config_parse_sized(const rf_ctx *ctx, const char *json, size_t bytes, const char *name, rf_config *out,
                                size_t size, rf_error *why);
#define rf_config_parse(ctx, json, bytes, name, out, why)                                                              \
    rf_config_parse_sized((ctx), (json), (bytes), (name), (out), sizeof *(out), (why))

void rf_config_copy_sized(rf_config *to, size_t size, const rf_config *from);
#define rf_config_copy(to, from) rf_config_copy_sized((to), sizeof *(to), (from))

rf_status rf_config_write(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why);

/* RF_EDATA as above; RF_EARG, of one made in memory: not filled in, a list that is not there or too long, or a text
 * without an end. */
rf_status rf_config_check(const rf_config *c, const char *name, rf_error *why);

rf_head rf_config_head(const rf_config *c);                 /* by the architecture's name                             */

/* Names the family's class of a head in c->architecture (for RF_HEAD_MLM with is_decoder the causal one). */
void rf_config_set_head(rf_config *c, rf_head head);

/* The names of a fine-tuned model's labels, LABEL_0 ... where config.json has none. */
typedef struct rf_labels { const rf_ctx *ctx; int64_t n; char **name; } rf_labels;
rf_status rf_labels_read(const rf_ctx *ctx, const char *folder, rf_labels *out, rf_error *why);
void rf_labels_free(rf_labels *l);

/* Parameters of a model of this shape with the head that its architecture names; the table of positions is computed and
 * does not count. */
int64_t rf_config_parameters(const rf_config *c);

const char *rf_rope_type_name(rf_rope_type type);           /* as in rope_scaling: "default", "linear", "yarn", ...  */

/* ---- sentence-transformers' folders ------------------------------------------------------------------------------ */

typedef struct rf_sentence_prompt { char *name, *text; } rf_sentence_prompt;

/* What modules.json and the files that it names say of vectors of texts; without it, config.json. */
typedef struct rf_sentence {
    const rf_ctx *ctx;
    char transformer[128];      /* where the model lies below the folder; "": in it                                   */
    char pooling[8];            /* "cls", "mean", "max"; "": the folder does not say                                  */
    int normalize;              /* vectors have length 1                                                              */
    int include_prompt;         /* a prompt's tokens are pooled with the others                                       */
    int64_t max_length;         /* tokens of a text; 0: not said                                                      */
    int64_t prompts;
    rf_sentence_prompt *prompt; /* put before texts, by name                                                          */
    int64_t default_prompt;     /* which of them without a name; -1: none                                             */
    int64_t truncate_dim;       /* vectors are cut to their first so many numbers, after normalize; 0: they are not   */
    char similarity[12];        /* what they are compared by (similarity_fn_name): "cosine", "dot", "euclidean", ... */
} rf_sentence;

/*   out              freed with rf_sentence_free; untouched on error
 *   RF_EDATA         a file is not what it must be; the message names it
 *   RF_EUNSUPPORTED  a module or a pooling that is not here, by its name                                             */
rf_status rf_sentence_read(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf_error *why);
void rf_sentence_free(rf_sentence *s);

/* RF_EUNSUPPORTED: the folder says that its vectors are not compared by their cosines.  The dot product of vectors of
 * length 1 is their cosine. */
rf_status rf_sentence_cosines(const rf_sentence *s, rf_error *why);

/* The same files for a model of RF_HEAD_EMBED; rf_sentence_files: their names below the folder, NULL at the end. */
rf_status rf_sentence_write(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why);
const char *const *rf_sentence_files(const rf_config *c);

/* Those that one folder has to another one, byte by byte. */
rf_status rf_sentence_copy(const rf_ctx *ctx, const char *from, const char *to, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif

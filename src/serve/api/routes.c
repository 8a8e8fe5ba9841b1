/* routes.c — the table of routes, and the members of their bodies. */
#include <stdlib.h>

#include "serve/api/api.h"
#include "serve/api/writing.h"

#define END \
    { \
        NULL, SRV_END, false, 0, 0, NULL, NULL, NULL \
    }
#define MODEL \
    { \
        "model", SRV_STRING, false, 0, 0, NULL, NULL, "name of a model or an alias; default: the first model" \
    }
#define USER \
    {"user", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL}, {"metadata", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL}, \
    { \
        "priority", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL \
    }
#define TRUNCATE \
    {"truncate", SRV_BOOL, false, 0, 0, NULL, NULL, "truncate inputs that are too long; default: --auto-truncate"}, \
    { \
        "truncation_direction", SRV_CHOICE, false, 0, 0, "Right|right|Left|left", NULL, \
            "the end that is cut; default: Right" \
    }
#define PROMPT \
    { \
        "prompt_name", SRV_STRING, false, 0, 0, NULL, NULL, "name of a prompt of the model's folder" \
    }
#define DIMENSIONS \
    { \
        "dimensions", SRV_INT, false, 1, RF_MAX_INDEX_DIMENSIONS, NULL, NULL, \
            "keep only the first components, before normalization" \
    }
#define TOP_K \
    { \
        "top_k", SRV_INT, false, 1, 1000000, NULL, NULL, "number of results" \
    }
#define SAMPLING \
    {"temperature", SRV_REAL, false, 0, RF_TEMPERATURE_MOST, NULL, NULL, "0: the most likely token"}, \
        {"top_k", SRV_INT, false, 1, 1000000, NULL, NULL, "sample among this number of the most likely tokens"}, \
        {"min_p", SRV_REAL, false, 0, \
         1,       NULL,     NULL,  "sample among tokens of at least this share of the highest probability"}, \
        {"top_p", SRV_REAL, false, RF_TOP_P_LEAST, \
         1,       NULL,     NULL,  "sample among the most likely tokens of this probability"}, \
        {"repetition_penalty",       SRV_REAL, false, RF_REPETITION_PENALTY_LEAST, \
         RF_REPETITION_PENALTY_MOST, NULL,     NULL,  "penalty of tokens that the text has; 1: none"}, \
        {"presence_penalty",        SRV_REAL, false, -RF_PRESENCE_PENALTY_MOST, \
         RF_PRESENCE_PENALTY_MOST, NULL,     NULL,  "taken from the scores of tokens of the new text; default: 0"}, \
        {"frequency_penalty",       SRV_REAL, false, -RF_PRESENCE_PENALTY_MOST, \
         RF_PRESENCE_PENALTY_MOST, NULL,     NULL,  "the same for each time that they occur; default: 0"}, \
        {"seed", \
         SRV_INT, \
         false, \
         0, \
         9007199254740992.0, \
         NULL, \
         NULL, \
         "the same seed gives the same text; without it, each request samples anew"}, \
    { \
        "stop", SRV_STRINGS, false, 0, 0, NULL, NULL, "at most 16 strings that end the text" \
    }

#define MIN_TOKENS \
    { \
        "min_tokens", SRV_INT, false, 0, RF_NEW_TOKENS_MOST, NULL, NULL, "the text ends later; default: 0" \
    }

static const srv_field srv_root_fields[] = {
    {"inputs", SRV_ANY, false, 0, 0, NULL, NULL, "as the task of the model has them"},
    {"query", SRV_ANY, false, 0, 0, NULL, NULL, "for a reranker: with texts in place of inputs, as /rerank"},
    {"texts", SRV_ANY, false, 0, 0, NULL, NULL, "for a reranker"},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, NULL, "options of the task"},
    {"options", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    {"truncate", SRV_BOOL, false, 0, 0, NULL, NULL, "truncate inputs that are too long; default: --auto-truncate"},
    MODEL,
    END,
};

static const srv_field srv_embed_fields[] = {
    {"inputs", SRV_INPUTS, true, 0, 0, NULL, NULL, "a text, texts, token ids, or lists of these"},
    {"normalize", SRV_BOOL, false, 0, 0, NULL, NULL, "vectors of length 1; default: true"},
    TRUNCATE,
    PROMPT,
    DIMENSIONS,
    MODEL,
    END,
};

static const srv_field srv_sparse_fields[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, "a text or texts"},
    TRUNCATE,
    PROMPT,
    MODEL,
    END,
};

static const srv_field srv_embed_all_fields[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, "a text or texts"},
    {"normalize", SRV_BOOL, false, 0, 0, NULL, NULL, "vectors of length 1; default: false"},
    TRUNCATE,
    PROMPT,
    DIMENSIONS,
    MODEL,
    END,
};

#define ZERO_SHOT(required) \
    {"candidate_labels", \
     SRV_STRINGS, \
     required, \
     0, \
     0, \
     NULL, \
     NULL, \
     "zero-shot classification: labels in place of the model's, or a text of labels separated by commas"}, \
        {"hypothesis_template", SRV_STRING, false, 0, 0, NULL, NULL, \
         "what a label says of a text, with {} in its place; default: This example is {}."}, \
    { \
        "multi_label", SRV_BOOL, false, 0, 0, NULL, NULL, "each label has a probability of its own; default: false" \
    }

#define LABEL_OPTIONS \
    TOP_K, \
    { \
        "function_to_apply", SRV_CHOICE, false, 0, 0, "softmax|sigmoid|none", NULL, "default: as the model says" \
    }

static const srv_field predict_options[] = {LABEL_OPTIONS, ZERO_SHOT(false), END};
static const srv_field srv_predict_fields[] = {
    {"inputs", SRV_TEXTS_OR_PAIRS, true, 0, 0, NULL, NULL,
     "a text, a pair of texts, or a list of lists of one or two texts; with candidate_labels, a text or texts"},
    {"raw_scores", SRV_BOOL, false, 0, 0, NULL, NULL, "the model's outputs in place of probabilities; default: false"},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, predict_options, "options of transformers' pipelines"},
    TRUNCATE,
    MODEL,
    END,
};

static const srv_field srv_rerank_fields[] = {
    {"query", SRV_STRING, true, 0, 0, NULL, NULL, "the query"},
    {"texts", SRV_TEXTS, false, 0, 0, NULL, NULL, "the texts"},
    {"documents", SRV_DOCUMENTS, false, 0, 0, NULL, NULL, "in place of texts: the answer has the form of /v1/rerank"},
    {"top_n", SRV_INT, false, 1, 1000000, NULL, NULL, "with documents: number of results; default: all"},
    {"return_documents", SRV_BOOL, false, 0, 0, NULL, NULL, "with documents: return them, too; default: false"},
    {"raw_scores", SRV_BOOL, false, 0, 0, NULL, NULL, "the model's outputs in place of their sigmoids; default: false"},
    {"return_text", SRV_BOOL, false, 0, 0, NULL, NULL, "return the texts, too; default: false"},
    TRUNCATE,
    MODEL,
    END,
};

static const srv_field sentence_fields[] = {
    {"source_sentence", SRV_STRING, true, 0, 0, NULL, NULL, "the sentence that others are compared with"},
    {"sentences", SRV_TEXTS, true, 0, 0, NULL, NULL, "the others"},
    END,
};
static const srv_field sentence_options[] = {TRUNCATE, PROMPT, END};

static const srv_field srv_similarity_fields[] = {
    {"inputs", SRV_OBJECT, true, 0, 0, NULL, sentence_fields, "source_sentence and sentences"},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, sentence_options, "truncate, truncation_direction, prompt_name"},
    MODEL,
    END,
};

static const srv_field srv_tokenize_fields[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, "a text or texts"},
    {"add_special_tokens", SRV_BOOL, false, 0, 0, NULL, NULL, "with [CLS] and [SEP]; default: true"},
    PROMPT,
    MODEL,
    END,
};

static const srv_field srv_decode_fields[] = {
    {"ids", SRV_IDS, true, 0, 0, NULL, NULL, "token ids, or lists of them"},
    {"skip_special_tokens", SRV_BOOL, false, 0, 0, NULL, NULL, "without [CLS], [SEP] and the like; default: true"},
    MODEL,
    END,
};

static const srv_field fill_options[] = {
    TOP_K,
    {"targets", SRV_STRINGS, false, 0, 0, NULL, NULL, "words to choose from"},
    END,
};
static const srv_field srv_fill_mask_fields[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, "a text or texts with at least one mask token"},
    TOP_K,
    {"targets", SRV_STRINGS, false, 0, 0, NULL, NULL, "words to choose from"},
    {"truncate", SRV_BOOL, false, 0, 0, NULL, NULL, "truncate inputs that are too long; default: --auto-truncate"},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, fill_options, "top_k and targets may also be here"},
    MODEL,
    END,
};

static const srv_field generate_options[] = {
    {"max_new_tokens", SRV_INT, false, 1, RF_NEW_TOKENS_MOST, NULL, NULL, "number of new tokens"},
    {"do_sample", SRV_BOOL, false, 0, 0, NULL, NULL, "sample; default: as the model's folder says"},
    {"return_full_text", SRV_BOOL, false, 0, 0, NULL, NULL, "with the prompt; default: true"},
    {"num_return_sequences", SRV_INT, false, 1, 128, NULL, NULL, "number of texts; default: 1"},
    {"best_of", SRV_ONLY, false, 0, 0, "1", NULL, "one text for each request"},
    {"num_beams", SRV_ONLY, false, 0, 0, "1", NULL, "not supported"},
    {"min_new_tokens", SRV_INT, false, 0, RF_NEW_TOKENS_MOST, NULL, NULL, "the text ends later; default: 0"},
    {"details", SRV_BOOL, false, 0, 0, NULL, NULL, "with the new tokens and their log-probabilities; default: false"},
    {"top_n_tokens", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    {"adapter_id", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    {"decoder_input_details", SRV_ONLY, false, 0, 0, "false", NULL, "not supported"},
    {"typical_p", SRV_ONLY, false, 0, 0, "1", NULL, "not supported"},
    {"watermark", SRV_ONLY, false, 0, 0, "false", NULL, "not supported"},
    {"truncate", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    {"grammar", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    SAMPLING,
    END,
};
static const srv_field srv_generate_fields[] = {
    {"inputs", SRV_STRING, true, 0, 0, NULL, NULL, "the text to continue"},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, generate_options, "options of the generation"},
    {"stream", SRV_BOOL, false, 0, 0, NULL, NULL, "as /generate_stream; default: false"},
    MODEL,
    END,
};

static const srv_field srv_vertex_fields[] = {
    {"instances", SRV_OBJECTS, true, 0, 0, NULL, NULL, "a list of bodies"},
    MODEL,
    END,
};

static const srv_field srv_search_fields[] = {
    {"query", SRV_STRING, true, 0, 0, NULL, NULL, "the query"},
    TOP_K,
    MODEL,
    END,
};

static const srv_field srv_openai_embedding_fields[] = {
    {"input", SRV_INPUTS, true, 0, 0, NULL, NULL, "a text, texts, token ids, or lists of these"},
    MODEL,
    {"encoding_format", SRV_CHOICE, false, 0, 0, "float|base64", NULL, "default: float"},
    DIMENSIONS,
    {"normalized", SRV_ONLY, false, 0, 0, "true", NULL, "vectors have length 1"},
    {"late_chunking", SRV_ONLY, false, 0, 0, "false", NULL, "not supported"},
    {"add_special_tokens", SRV_ONLY, false, 0, 0, "true", NULL, "with [CLS] and [SEP]"},
    USER,
    TRUNCATE,
    PROMPT,
    END,
};

static const srv_field stream_options[] = {
    {"include_usage", SRV_BOOL, false, 0, 0, NULL, NULL, "numbers of tokens in an event of their own; default: false"},
    {"include_obfuscation", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    END,
};
static const srv_field srv_completion_fields[] = {
    {"prompt", SRV_INPUTS, true, 0, 0, NULL, NULL, "a text, texts, token ids, or lists of these"},
    MODEL,
    {"max_tokens", SRV_INT, false, 0, RF_NEW_TOKENS_MOST, NULL, NULL,
     "number of new tokens; 0: only with `echo`; default: 16"},
    MIN_TOKENS,
    {"stream", SRV_BOOL, false, 0, 0, NULL, NULL, "send text as server-sent events; default: false"},
    SAMPLING,
    {"n", SRV_INT, false, 1, 128, NULL, NULL, "number of texts for each prompt; default: 1"},
    {"best_of", SRV_INT, false, 1, 128, NULL, NULL, "the same as n"},
    {"echo", SRV_BOOL, false, 0, 0, NULL, NULL, "with the prompt; default: false"},
    {"logprobs", SRV_INT, false, 0, SRV_TOPS, NULL, NULL,
     "the new tokens, with `echo` those of the prompt, too, with their log-probabilities, and this number of the most "
     "likely ones"},
    {"logit_bias", SRV_ONLY, false, 0, 0, "{}", NULL, "not supported"},
    {"suffix", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    {"stream_options", SRV_OBJECT, false, 0, 0, NULL, stream_options, "only with `stream`"},
    USER,
    END,
};

static const srv_field srv_chat_fields[] = {
    {"messages", SRV_ANY, true, 0, 0, NULL, NULL,
     "the messages, each with role and content: a text, or a list of {type: text, text}"},
    MODEL,
    {"max_tokens", SRV_INT, false, 1, RF_NEW_TOKENS_MOST, NULL, NULL,
     "number of new tokens; default: --max-new-tokens, or what the model's context has left"},
    {"max_completion_tokens", SRV_INT, false, 1, RF_NEW_TOKENS_MOST, NULL, NULL, "the same"},
    MIN_TOKENS,
    {"stream", SRV_BOOL, false, 0, 0, NULL, NULL, "send text as server-sent events; default: false"},
    {"stream_options", SRV_OBJECT, false, 0, 0, NULL, stream_options, "only with `stream`"},
    SAMPLING,
    {"n", SRV_INT, false, 1, 128, NULL, NULL, "number of answers; default: 1"},
    {"tools", SRV_ANY, false, 0, 0, NULL, NULL,
     "for the template, if it names tools; a call of one is text of the answer"},
    {"tool_choice", SRV_CHOICE, false, 0, 0, "auto|none", NULL, "none: the template gets no tools"},
    {"parallel_tool_calls", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    {"chat_template_kwargs", SRV_OBJECT, false, 0, 0, NULL, NULL,
     "other variables of the template, such as enable_thinking"},
    {"response_format", SRV_ONLY, false, 0, 0, "{\"type\":\"text\"}", NULL, "text"},
    {"logprobs", SRV_BOOL, false, 0, 0, NULL, NULL, "the new tokens with their log-probabilities; default: false"},
    {"top_logprobs", SRV_INT, false, 0, SRV_TOPS, NULL, NULL, "with `logprobs`: this number of the most likely tokens"},
    {"logit_bias", SRV_ONLY, false, 0, 0, "{}", NULL, "not supported"},
    {"modalities", SRV_ONLY, false, 0, 0, "[\"text\"]", NULL, "text"},
    {"store", SRV_ONLY, false, 0, 0, "false", NULL, "nothing is kept"},
    {"service_tier", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    {"safety_identifier", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    {"prompt_cache_key", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    USER,
    END,
};

static const srv_field srv_no_fields[] = {END};

static const srv_field srv_cohere_embed_fields[] = {
    {"texts", SRV_TEXTS, true, 0, 0, NULL, NULL, "the texts"},
    MODEL,
    {"input_type", SRV_CHOICE, false, 0, 0, "search_document|search_query|classification|clustering", NULL,
     "the prompt of the model's folder for this kind of text, if it has one"},
    {"embedding_types", SRV_TEXTS, false, 0, 0, NULL, NULL, "float, base64; default: float"},
    {"truncate", SRV_CHOICE, false, 0, 0, "NONE|START|END", NULL, "the end that is cut; NONE: long texts are refused"},
    {"output_dimension", SRV_INT, false, 1, RF_MAX_INDEX_DIMENSIONS, NULL, NULL, "keep only the first components"},
    {"images", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    USER,
    END,
};

static const srv_field srv_cohere_tokenize_fields[] = {
    {"text", SRV_STRING, true, 0, 0, NULL, NULL, "a text"},
    MODEL,
    END,
};

static const srv_field srv_cohere_detokenize_fields[] = {
    {"tokens", SRV_IDS, true, 0, 0, NULL, NULL, "token ids"},
    MODEL,
    END,
};

static const srv_field srv_cohere_fields[] = {
    {"query", SRV_STRING, true, 0, 0, NULL, NULL, "the query"},
    {"documents", SRV_DOCUMENTS, true, 0, 0, NULL, NULL, "texts, or objects with a member \"text\""},
    MODEL,
    {"top_n", SRV_INT, false, 1, 1000000, NULL, NULL, "number of results; default: all"},
    {"return_documents", SRV_BOOL, false, 0, 0, NULL, NULL, "return the documents, too; default: false"},
    {"max_chunks_per_doc", SRV_INT, false, 1, 10000, NULL, NULL,
     "refused if a document is too long for one chunk: none is divided"},
    {"max_tokens_per_doc", SRV_INT, false, 1, 1000000000, NULL, NULL,
     "refused if a document has more tokens: none is truncated by itself"},
    {"rank_fields", SRV_ONLY, false, 0, 0, "null", NULL, "not supported"},
    {"raw_scores", SRV_BOOL, false, 0, 0, NULL, NULL, "as for /rerank; default: false"},
    {"truncation", SRV_ONLY, false, 0, 0, "true", NULL, "documents that are too long are truncated"},
    {"return_embeddings", SRV_ONLY, false, 0, 0, "false", NULL, "not supported"},
    USER,
    END,
};

static const srv_field srv_translate_fields[] = {
    {"q", SRV_STRINGS, true, 0, 0, NULL, NULL, "a text or texts"},
    {"source", SRV_STRING, true, 0, 0, NULL, NULL, "the model's source language, or one of its languages, or auto"},
    {"target", SRV_STRING, true, 0, 0, NULL, NULL, "the model's target language, or one of its languages"},
    {"format", SRV_ONLY, false, 0, 0, "\"text\"", NULL, "texts are not HTML"},
    {"alternatives", SRV_ONLY, false, 0, 0, "0", NULL, "one translation for each text"},
    {"alignments", SRV_BOOL, false, 0, 0, NULL, NULL, "return pairs of words of the text and its translation, too"},
    {"api_key", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    MODEL,
    END,
};

static const srv_field srv_detect_fields[] = {
    {"q", SRV_STRINGS, true, 0, 0, NULL, NULL, "a text or texts"},
    {"api_key", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL},
    MODEL,
    END,
};

#define HEAD_OF_LAYER \
    {"layer", SRV_INT, false, 0, 4095, NULL, NULL, "layer, from 0; default: 0"}, \
    { \
        "head", SRV_INT, false, 0, 4095, NULL, NULL, "head of the layer, from 0; default: 0" \
    }

static const srv_field srv_attention_fields[] = {
    {"inputs", SRV_STRING, true, 0, 0, NULL, NULL, "a text"},
    HEAD_OF_LAYER,
    MODEL,
    END,
};

static const srv_field srv_positions_fields[] = {
    {"inputs", SRV_STRING, false, 0, 0, NULL, NULL, "a text on which the head is measured; default: only the encoding"},
    HEAD_OF_LAYER,
    {"max_distance", SRV_INT, false, 1, 4096, NULL, NULL, "largest distance of the scores; default: 128"},
    MODEL,
    END,
};

const srv_route srv_routes[] = {
#define SRV_ROUTE(method, path, dialect, access, where, step, field, what) \
    {method, path, dialect, access, where, step, #step, field, what},
#include "serve/api/api.def"
    {0},
};

/* A path may end with the name of a model. */
static bool is_path_of(const srv_route *x, const char *path, size_t size)
{
    const size_t n = strcspn(x->path, "{");
    return (x->path[n] ? size > n : size == n) && !memcmp(x->path, path, n);
}

/* The methods of the path, if none of its routes has this one; or "". */
static const srv_route *route_of(const char *method, const char *path, size_t size, char allowed[32])
{
    size_t n = 0;
    *allowed = 0;
    for (const srv_route *x = srv_routes; x->path; x++) {
        if (!is_path_of(x, path, size)) continue;
        if (!strcmp(x->method, method)) return x;
        n += (size_t)snprintf(allowed + n, 32 - n, "%s%s", n ? ", " : "", x->method);
    }
    return NULL;
}

bool srv_find_route(srv_request *r)
{
    char allowed[32];
    const size_t n = strcspn(r->path, "?");
    const bool post = !strcmp(r->method, "POST"), slash = post && n > 1 && r->path[n - 1] == '/';
    r->route = route_of(!strcmp(r->method, "HEAD") ? "GET" : r->method, r->path, n - slash, allowed);
    if (r->route) r->dialect = r->route->dialect;
    else if (!*allowed) srv_error(r, 404, "NotFound", "there is no such path; GET /docs lists them");
    else {
        snprintf(r->header, sizeof r->header, "Allow");
        snprintf(r->header_value, sizeof r->header_value, "%s", allowed);
        srv_error(r, 405, "MethodNotAllowed", "the path does not have this method");
    }
    return r->route;
}

/* ---- POST / ------------------------------------------------------------------------------------------------------ */

static const srv_field no_parameters[] = {END};
static const srv_field root_embed[] = {
    {"inputs", SRV_INPUTS, true, 0, 0, NULL, NULL, NULL},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, no_parameters, NULL},
    {"normalize", SRV_BOOL, false, 0, 0, NULL, NULL, NULL},
    {"encoding_format", SRV_ONLY, false, 0, 0, "\"float\"", NULL, NULL},
    TRUNCATE,
    PROMPT,
    DIMENSIONS,
    END,
};
static const srv_field root_label_options[] = {LABEL_OPTIONS, END};
static const srv_field root_label[] = {
    {"inputs", SRV_LABELED, true, 0, 0, NULL, NULL, NULL},
    {"raw_scores", SRV_BOOL, false, 0, 0, NULL, NULL, NULL},
    TRUNCATE,
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, root_label_options, NULL},
    END,
};
static const srv_field zero_shot_options[] = {ZERO_SHOT(true), END};
static const srv_field root_zero_shot[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, NULL},
    TRUNCATE,
    {"parameters", SRV_OBJECT, true, 0, 0, NULL, zero_shot_options, NULL},
    END,
};
static const srv_field no_options[] = {
    {"src_lang", SRV_STRING, false, 0, 0, NULL, NULL, NULL},
    {"tgt_lang", SRV_STRING, false, 0, 0, NULL, NULL, NULL},
    {"generate_parameters", SRV_ONLY, false, 0, 0, "null", NULL, NULL},
    {"alignments", SRV_BOOL, false, 0, 0, NULL, NULL, NULL},
    END,
};
static const srv_field root_translate[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, NULL},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, no_options, NULL},
    END,
};

static const srv_field tag_options[] = {
    {"aggregation_strategy", SRV_CHOICE, false, 0, 0, "none|simple|first|average|max", NULL, NULL},
    {"ignore_labels", SRV_TEXTS, false, 0, 0, NULL, NULL, NULL},
    {"stride", SRV_ONLY, false, 0, 0, "null", NULL, NULL},
    END,
};
static const srv_field root_tag[] = {
    {"inputs", SRV_STRINGS, true, 0, 0, NULL, NULL, NULL},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, tag_options, NULL},
    END,
};
static const srv_field question_inputs[] = {
    {"question", SRV_STRING, true, 0, 0, NULL, NULL, NULL},
    {"context", SRV_STRING, true, 0, 0, NULL, NULL, NULL},
    END,
};
static const srv_field question_options[] = {
    {"max_answer_len", SRV_INT, false, 1, 1000, NULL, NULL, NULL},
    {"handle_impossible_answer", SRV_BOOL, false, 0, 0, NULL, NULL, NULL},
    {"top_k", SRV_INT, false, 1, SRV_ANSWERS_MOST, NULL, NULL, NULL},
    {"doc_stride", SRV_INT, false, 1, 1000000, NULL, NULL, NULL},
    {"max_question_len", SRV_IGNORED, false, 0, 0, NULL, NULL, NULL}, /* of Python's slow tokenizers only */
    {"max_seq_len", SRV_INT, false, 1, 1000000, NULL, NULL, NULL},
    {"align_to_words", SRV_BOOL, false, 0, 0, NULL, NULL, NULL},
    END,
};
static const srv_field root_question[] = {
    {"inputs", SRV_OBJECT, true, 0, 0, NULL, question_inputs, NULL},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, question_options, NULL},
    END,
};

static bool is_zero_shot(const srv_request *r)
{
    return srv_member(srv_member(r->in, "parameters"), "candidate_labels") != NULL;
}

static void choose_label(srv_request *r) { srv_zero_shot(r, false); }

static void no_task(srv_request *r)
{
    rf_error why = {0};
    rf_fail(&why, RF_EUNSUPPORTED, "the model is %s, for which there is no route", srv_model_kind(r->model));
    srv_fail(r, &why);
}

void srv_api_root(srv_request *r)
{
    if (!srv_read_body(r) || !srv_need_model(r, NULL)) return;
    const bool sentences = json_is_object(json_object_get(r->in, "inputs"));
    const srv_field *field = NULL;
    srv_step *step = no_task;
    switch (srv_model_head(r->model)) {
    case RF_HEAD_MLM:
        field = srv_generates(r->model) ? srv_generate_fields : srv_fill_mask_fields;
        step = srv_generates(r->model) ? srv_generate_text : srv_fill_mask;
        break;
    case RF_HEAD_EMBED: field = root_embed, step = srv_features; break;
    case RF_HEAD_SEQUENCE:
    case RF_HEAD_POOLED: field = root_label, step = srv_predict; break;
    case RF_HEAD_TOKEN: field = root_tag, step = srv_tag; break;
    case RF_HEAD_SPAN: field = root_question, step = srv_answer_question; break;
    case RF_HEAD_SEQ2SEQ: field = root_translate, step = srv_translate_text; break;
    default: break;
    }
    if (step == srv_predict && is_zero_shot(r)) field = root_zero_shot, step = choose_label;
    if (srv_reranks(r->model) && srv_member(r->in, "query")) field = srv_rerank_fields, step = srv_rerank;
    if (sentences && !r->model->no_vectors.code) field = srv_similarity_fields, step = srv_similarity;
    if (!field || srv_check(r, r->in, field)) step(r);
}

/* ---- POST /predict ----------------------------------------------------------------------------------------------- */

static const srv_field predict_label[] = {
    {"inputs", SRV_PAIRS, true, 0, 0, NULL, NULL, NULL},
    {"parameters", SRV_OBJECT, false, 0, 0, NULL, root_label_options, NULL},
    END,
};

void srv_api_predict(srv_request *r)
{
    if (!srv_read_body(r) || !srv_need_model(r, NULL)) return;
    const bool chosen = is_zero_shot(r);
    if (!srv_labels_texts(r->model)) srv_wrong_model(r, "gives no labels of texts", srv_labels_texts);
    else if (!srv_check(r, r->in, chosen ? root_zero_shot : predict_label)) return;
    else if (chosen) srv_zero_shot(r, true);
    else srv_predict_flat(r);
}

/* mpnet.c — MPNet's tokenizer: BERT's WordPiece with RoBERTa's special tokens.         transformers' MPNetTokenizer
 *
 *     <s> A </s>          <s> A </s></s> B </s>          all token types are 0
 *
 * A mask token that the settings give as a string also absorbs the blanks before it. */
#include "wordpiece.h"

static rf_status add_mask(rf_tokenizer_folder *f, const char *mask)
{
    const json_t *x = json_object_get(f->map, "mask_token"), *id = json_object_get(f->legacy, mask);
    if (!x) x = json_object_get(f->config, "mask_token");
    if (json_is_object(x) || json_object_get(f->config, "added_tokens_decoder")) return RF_OK;
    return rf__folder_add(f, f->config_path,
                          (rf_added){.text = mask, .size = strlen(mask), .special = true, .lstrip = true,
                                     .id = id ? (int32_t)rf__whole_number(id) : RF_ADDED_OPEN});
}

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    static const char *const name[RF_SPECIALS] = {
        [RF_UNK] = "[UNK]", [RF_CLS] = "<s>", [RF_SEP] = "</s>", [RF_PAD] = "<pad>", [RF_MASK] = "<mask>"};
    for (int i = 0; i < RF_SPECIALS; i++)
        if (!f->parts.special[i]) f->parts.special[i] = name[i];
    f->parts.one_type = true;
    f->parts.more_middle = 1;
    f->parts.trims = true;
    const rf_status status = add_mask(f, f->parts.special[RF_MASK]);
    return status ? status : rf__wordpiece_open_as(f, &rf__tokenizer_mpnet, out);
}

static const char *const classes[] = {"MPNetTokenizer", "MPNetTokenizerFast", NULL};
static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB, NULL};

const rf_tokenizer_row rf__tokenizer_mpnet = {
    .name = "mpnet",
    .title = "WordPiece (MPNet)",
    .classes = classes,
    .files = files,
    .transformers = "MPNetTokenizerFast",
    .open = open_folder,
    RF_WORDPIECE_ROW,
};

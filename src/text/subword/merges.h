/* merges.h — older files, of which a tokenizer.json is made: vocab.json and merges.txt, SentencePiece
 * models. */
#ifndef RF_TEXT_MERGES_H
#define RF_TEXT_MERGES_H

#include "spm.h"
#include "text/tokenizer.h"

/* The tokenizer.json that transformers' RobertaTokenizer would write for the folder's files and settings: its text,
 * freed with rf__free.  Sets f->fast and f->fast_path (of vocab.json, which messages name). */
rf_status rf__merges_read(rf_tokenizer_folder *f, char **text, size_t *size);

/* The same for a SentencePiece model, of the classes in spm_folder.c. */
rf_status rf__spm_folder_read(rf_tokenizer_folder *f, char **text, size_t *size);
bool rf__spm_folder_has(const rf_tokenizer_folder *f);

/* Parts of such a tokenizer.json: the normalizer with the model's charsmap; blanks as U+2581; DeBERTa's as a whole
 * (spm_deberta.c).  NULL: no memory. */
json_t *rf__spm_precompiled(const rf_tokenizer_folder *f, const rf__spm *m);
json_t *rf__spm_metaspace(int prefix);
rf_status rf__spm_deberta(rf_tokenizer_folder *f, const rf__spm *m, int prefix, json_t **out);

/* Takes ownership of a tokenizer.json that was made: its text, and f->fast. */
rf_status rf__folder_made(rf_tokenizer_folder *f, json_t *all, char **text, size_t *size);

#endif

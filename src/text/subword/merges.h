/* merges.h — the older files of byte-level BPE, vocab.json and merges.txt. */
#ifndef RF_TEXT_MERGES_H
#define RF_TEXT_MERGES_H

#include "text/tokenizer.h"

/* The tokenizer.json that transformers' RobertaTokenizer would write for the folder's files and settings: its text,
 * freed with rf__free.  Sets f->fast and f->fast_path (of vocab.json, which messages name). */
rf_status rf__merges_read(rf_tokenizer_folder *f, char **text, size_t *size);

#endif

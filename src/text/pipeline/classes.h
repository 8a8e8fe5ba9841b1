/* classes.h — the classes of characters in the components of Hugging Face's tokenizers that are written in Rust.
 * Each comes from a library with its own version of Unicode (tools/pipeline_tables.py). */
#ifndef RF_TEXT_CLASSES_H
#define RF_TEXT_CLASSES_H

#include "base/base.h"

enum {
    RF_CLASS_WORD = 1,                  /* \w of Whitespace                                                           */
    RF_CLASS_NUMERIC = 2,               /* of Digits                                                                  */
    RF_CLASS_COMBINING = 4,             /* removed by StripAccents                                                    */
    RF_CLASS_PUNCT = 8,                 /* of Punctuation and BertPreTokenizer                                        */
    RF_CLASS_WHITE = 16,                /* the property White_Space                                                   */
    RF_CLASS_NEWER = 32                 /* utf8proc decomposes or orders it, tokenizers does not                      */
};

unsigned rf__classes_of(uint32_t c);
unsigned rf__script_of(uint32_t c);     /* of UnicodeScripts, which joins some of them; 0: a part of any script       */

#endif

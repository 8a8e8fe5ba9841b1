/* unread.h — a note about texts that a vocabulary does not read. */
#ifndef CLI_UNREAD_H
#define CLI_UNREAD_H

#include "cli/io/io.h"

/* Says once what to do if all tokens of a text, apart from special ones that it holds, are unknown: the ids are those
 * of transformers, but an answer says nothing about the text. */
void cli_note_unread(cli_io *io, const rf_tokenizer *t, const char *text, size_t size, bool *noted);

/* What to do with such texts. */
const char *cli_unread_advice(const rf_tokenizer *t);

#endif

/* unread.c — a note about texts that a vocabulary does not read. */
#include "cli/shared/unread.h"

const char *cli_unread_advice(const rf_tokenizer *t)
{
    rf_residues how;
    if (!rf_tokenizer_residues(t, &how, NULL) && how == RF_RESIDUES_APART)
        return "this vocabulary has single letters: put a blank between two of them (M K T V), or read a FASTA file";
    return "use a model for this language (-m)";
}

void cli_note_unread(cli_io *io, const rf_tokenizer *t, const char *text, size_t size, bool *noted)
{
    rf_encoding e;
    const int32_t unknown = rf_tokenizer_unk(t);
    size_t unread = 0, read = 0;
    if (*noted || unknown < 0) return;
    rf_encoding_init(&e, io->ctx);
    if (!rf_encode(t, text, size, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL)) {
        for (size_t i = 0; i < e.n; i++)
            if (e.id[i] == unknown) unread++;
            else read += !rf_tokenizer_is_special(t, e.id[i]) && e.end[i] - e.start[i] > 0;
    }
    rf_encoding_clear(&e);
    *noted = unread && !read;
    if (*noted)
        cli_note(io, "a text has only tokens that are unknown to the vocabulary, so its result means little; %s",
                 cli_unread_advice(t));
}

/* fasta.h — lines of a FASTA file: names and residues of proteins. */
#ifndef RF_DATA_FASTA_H
#define RF_DATA_FASTA_H

#include "base/base.h"

/* Whether it is a header of PIR, ">P1;NAME": the line after it is a description. */
bool rf__fasta_pir(const char *line, size_t n);

/* The name in a header line, which is the first word after '>' or after the type of PIR, or "" if there is none. */
void rf__fasta_name(const char *line, size_t n, char *name, size_t size);

/* Residues of one line: letters become uppercase, white space is removed, '-' and '.' (gaps) and '*' stay. *used: the
 * number of bytes written to out[n]. RF_EDATA: the line has another character; the message does not contain the line
 * number. */
rf_status rf__fasta_residues(const char *line, size_t n, char *out, size_t *used, rf_error *why);

#endif

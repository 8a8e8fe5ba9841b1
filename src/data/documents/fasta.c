/* fasta.c — FASTA (Pearson & Lipman 1988):
 *
 *     >name and a description
 *     MKTVRQERLK
 *     SIVRILERSK*
 *     ;a comment
 *
 * A record is a header line and the residues of the lines after it. Lowercase letters, which mark regions of low
 * complexity, are the same residues as uppercase letters. PIR (NBRF) has a type in its header, and a line for the
 * description, whatever letters it has:
 *
 *     >P1;NAME
 *     Alpha crystallin B chain
 *     MDIAIHHPWI RRPFFPFHSP*                                                                                    */
#include <stdio.h>

#include "data/documents/fasta.h"

#include "text/unicode/unicode.h"

bool rf__fasta_pir(const char *line, size_t n)
{
    static const char *const types[] = {"P1", "F1", "DL", "DC", "RL", "RC", "N1", "N3", "XX"};
    for (size_t i = 0; i < RF_COUNT(types) && n > 3 && line[3] == ';'; i++)
        if (!memcmp(line + 1, types[i], 2)) return true;
    return false;
}

void rf__fasta_name(const char *line, size_t n, char *name, size_t size)
{
    size_t from = rf__fasta_pir(line, n) ? 4 : n > 0, to;
    while (from < n && rf__white(line[from])) from++;
    for (to = from; to < n && !rf__white(line[to]);) to++;
    snprintf(name, size, "%.*s", (int)(to - from), line + from);
}

rf_status rf__fasta_residues(const char *line, size_t n, char *out, size_t *used, rf_error *why)
{
    *used = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = line[i], capital = (char)(c & ~0x20);
        if (rf__white(c)) continue;
        if (capital >= 'A' && capital <= 'Z') out[(*used)++] = capital;
        else if (c == '-' || c == '.' || c == '*') out[(*used)++] = c;
        else
            return rf_fail(why, RF_EDATA, "expected residues (letters, '-', '.', '*'), got byte 0x%02X at byte %zu",
                           (unsigned char)c, i + 1);
    }
    return RF_OK;
}

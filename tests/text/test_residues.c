/* How vocabularies read proteins: residues as words (AntiBERTa2, ProtBert), residues and pieces as they are (ESM-2,
 * bytes), and words of a language. */
#include "one_context.h"

#include "roformer/tokenizer.h"

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
#define AMINO "A\nC\nD\nE\nF\nG\nH\nI\nK\nL\nM\nN\nP\nQ\nR\nS\nT\nV\nW\nY\nX\n"
#define SMALL "a\n##a\nc\n##c\nd\n##d\ne\n##e\n##f\n##g\n##h\n##i\n##k\n" \
              "##l\n##m\n##n\n##p\n##q\n##r\n##s\n##t\n##v\n##w\n##y\n"

static void reads(const char *vocab, int lowercase, rf_residues expected)
{
    rf_tokenizer_options o;
    rf_tokenizer *t;
    rf_error why = {0};
    rf_residues how = (rf_residues)9;
    rf_tokenizer_defaults(&o);
    o.lowercase = lowercase;
    if (rf_tokenizer_new(ctx, vocab, strlen(vocab), "vocab.txt", &o, &t, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_tokenizer_residues(t, &how, &why), RF_OK);
    assert_int_equal(how, expected);
    assert_int_equal(rf_tokenizer_residues(t, NULL, NULL), RF_EARG);
    rf_tokenizer_free(t);
}

static void of_letters_of_pieces_and_of_words(void **state)
{
    (void)state;
    reads(SPECIALS AMINO, 0, RF_RESIDUES_APART);
    reads(SPECIALS AMINO, 1, RF_RESIDUES_JOINED);                 /* nothing is known: another note says so */
    reads(SPECIALS SMALL, 1, RF_RESIDUES_JOINED);                 /* a vocabulary that was learned on proteins */
    reads(SPECIALS SMALL "to\n##ion\nof\nyou\n", 1, RF_RESIDUES_WORDS);
}

static void of_other_kinds(void **state)
{
    (void)state;
    rf_tokenizer *t;
    rf_residues how = (rf_residues)9;
    assert_int_equal(rf_tokenizer_make(ctx, "bytes", &t, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_residues(t, &how, NULL), RF_OK);
    assert_int_equal(how, RF_RESIDUES_JOINED);
    rf_tokenizer_free(t);
    assert_int_equal(rf_tokenizer_open(ctx, "tests/golden/esm/whole", &t, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_residues(t, &how, NULL), RF_OK);
    assert_int_equal(how, RF_RESIDUES_JOINED);
    rf_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_letters_of_pieces_and_of_words),
                                       cmocka_unit_test(of_other_kinds)};
    return cmocka_run_group_tests_name("text/residues", tests, setup, teardown);
}

/* families.h — lists the golden folders of the model families.
 *
 * A golden folder is tests/golden/<family>/<name>, and its golden.txt has `word` at the beginning of the second line.
 * The test fails if a family has no golden folder.  The golden folders of RoFormer are in tests/golden/models and
 * tests/golden/heads.  Those of encoder-decoder models have the `word` "pairs"; their families may have encoders alone,
 * too. */
#ifndef T_FAMILIES_H
#define T_FAMILIES_H

#include <dirent.h>

#include "t.h"

#include "store/family.h"

enum { T_GOLDENS = 256 };
typedef struct t_goldens { int n; char folder[T_GOLDENS][256]; } t_goldens;

/* NULL: every folder. */
static inline bool t_golden_begins(const char *folder, const char *word)
{
    char path[512], first[32] = "";
    snprintf(path, sizeof path, "%s/golden.txt", folder);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    while (fgetc(f) != '\n') {}
    const bool begins = fscanf(f, "%31s", first) == 1 && (!word || !strcmp(first, word));
    fclose(f);
    return begins;
}

static inline t_goldens t_family_goldens(const char *word)
{
    t_goldens all = {0};
    for (const rf_family_config *const *f = rf__config_families + 1; *f; f++) {
        char root[128];
        const int before = all.n;
        const bool pairs = word && !strcmp(word, "pairs");
        if ((pairs && !(*f)->pairs) || ((*f)->pairs && (*f)->elsewhere)) continue;
        snprintf(root, sizeof root, "tests/golden/%s", (*f)->name);
        DIR *d = opendir(root);
        if (!d) fail_msg("family %s has no golden folder %s", (*f)->name, root);
        for (const struct dirent *e; (e = readdir(d)) && all.n < T_GOLDENS;) {
            if (e->d_name[0] == '.') continue;
            snprintf(all.folder[all.n], sizeof all.folder[0], "%s/%.100s", root, e->d_name);
            all.n += t_golden_begins(all.folder[all.n], word);
        }
        closedir(d);
        if (all.n == before && (!word || (*f)->pairs == pairs))
            fail_msg("%s has no golden.txt that begins with %s", root, word ? word : "a word");
    }
    return all;
}

#endif

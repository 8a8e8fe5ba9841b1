/* hub.c — finds the folders of published models below a folder HUB. */
#include "hub.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "roformer/inspect/folder.h"

owned hub_owner_of(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? (owned){name, slash + 1, (int)(slash - name)} : (owned){"junnyu", name, 6};
}

static bool holds(const char *folder, const char *file)
{
    char path[2200];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    return n > 0 && (size_t)n < sizeof path && !access(path, R_OK);
}

bool hub_find(const char *hub, const char *name, char *path, size_t size)
{
    char form[3][2048];
    const owned o = hub_owner_of(name);
    snprintf(form[0], sizeof form[0], "%s/%s", hub, o.name);
    snprintf(form[1], sizeof form[1], "%s/%.*s/%s", hub, o.length, o.owner, o.name);
    snprintf(form[2], sizeof form[2], "%s/models--%.*s--%s/snapshots/*", hub, o.length, o.owner, o.name);
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        glob_t found;
        if (glob(form[i], 0, NULL, &found)) continue;
        snprintf(path, size, "%s", found.gl_pathv[0]);
        globfree(&found);
        if (holds(path, RF_FILE_CONFIG) || holds(path, RF_FILE_TF_CONFIG)) return true;
    }
    return false;
}

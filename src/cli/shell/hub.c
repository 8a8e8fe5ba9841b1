/* hub.c — see hub.h. */
#include "cli/shell/hub.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/os/program.h"

/* The value of a variable that is set and not empty, otherwise NULL. */
static const char *variable(const char *name)
{
    const char *value = cli_os_variable(name);
    return value && *value ? value : NULL;
}

__attribute__((format(printf, 3, 4))) static bool put(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(out, size, format, args);
    va_end(args);
    return n >= 0 && (size_t)n < size;
}

bool cli_home_path(const char *path, char *out, size_t size)
{
    const char *home = cli_os_home();
    const bool begins = *path == '~' && (!path[1] || rf__os_is_slash(path[1]));
    return begins && home && put(out, size, "%s%s", home, path + 1);
}

bool cli_hub_cache(char *out, size_t size)
{
    const char *named = variable("HF_HUB_CACHE"), *home;
    if (!named) named = variable("HUGGINGFACE_HUB_CACHE");
    if (named) return *named == '~' ? cli_home_path(named, out, size) : put(out, size, "%s", named);
    if ((home = variable("HF_HOME"))) return put(out, size, "%s/hub", home);
    if ((home = variable("XDG_CACHE_HOME"))) return put(out, size, "%s/huggingface/hub", home);
    return cli_home_path("~/.cache/huggingface/hub", out, size);
}

bool cli_hub_name(const char *text)
{
    const char *slash = strchr(text, '/');
    if (!*text || *text == '.' || *text == '~' || cli_os_absolute(text)) return false;
    if (slash && (!slash[1] || slash[1] == '.')) return false;
    return !slash || !strchr(slash + 1, '/');
}

/* The commit that refs/main names, a word; false: there is none. */
static bool commit_of(const char *model, char *out, size_t size)
{
    char path[4096];
    if (!put(path, sizeof path, "%s/refs/main", model)) return false;
    FILE *f = rf__os_stream(path, "r");
    if (!f) return false;
    const size_t n = fread(out, 1, size - 1, f);
    fclose(f);
    out[n] = 0;
    out[strcspn(out, "\r\n \t")] = 0;
    return *out && *out != '.' && !strchr(out, '/');
}

static bool snapshot(const char *cache, const char *organization, const char *name, char *out, size_t size)
{
    char model[4096], commit[128];
    rf__os_state st;
    const char *slash = strchr(name, '/');
    const int first = slash ? (int)(slash - name) : 0;
    if (!put(model, sizeof model, "%s/models--%s%.*s%s%s", cache, organization, first, name, slash ? "--" : "",
             slash ? slash + 1 : name))
        return false;
    return commit_of(model, commit, sizeof commit) && put(out, size, "%s/snapshots/%s", model, commit) &&
           !rf__os_look(out, &st) && st.kind == RF__OS_FOLDER;
}

bool cli_hub_folder(const char *name, char *out, size_t size)
{
    char cache[4096];
    if (!cli_hub_name(name) || !cli_hub_cache(cache, sizeof cache)) return false;
    return snapshot(cache, "", name, out, size) ||
           (!strchr(name, '/') && snapshot(cache, "sentence-transformers--", name, out, size));
}

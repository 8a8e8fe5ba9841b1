/* model_folder.c — where a folder has its model: in itself, or below, as sentence-transformers wrote it before 1.2.
 *
 *     modules.json    [{"type": "...Transformer", "path": "0_Transformer"}, ...] */
#include "base/files/path.h"
#include "base/json.h"
#include "roformer/inspect/files.h"

/* The path of the first module; "" also for one that leaves the folder. */
static const char *first_path(const json_t *modules)
{
    const char *below = json_string_value(json_object_get(json_array_get(modules, 0), "path"));
    return below && rf__stays_below(below) ? below : "";
}

const char *rf__model_folder(const rf_ctx *ctx, const char *folder, char path[4096])
{
    static const char *const own[] = {RF_FILE_CONFIG, RF_FILE_TF_CONFIG};
    rf_map map;
    json_error_t bad;
    bool memory;
    for (size_t i = 0; i < RF_COUNT(own); i++)
        if (rf__path(path, 4096, folder, own[i], NULL) || rf__is_there(ctx, path)) return folder;
    if (rf__path(path, 4096, folder, RF_FILE_MODULES, NULL) || !rf__is_there(ctx, path) ||
        rf__map_open(ctx, path, &map, NULL))
        return folder;
    json_t *modules = rf__json_load((const char *)map.data, map.size, 0, &bad, &memory);
    rf__map_close(ctx, &map);
    const char *below = first_path(modules);
    const bool fits = *below && !rf__path(path, 4096, folder, below, NULL);
    json_decref(modules);
    for (size_t n = fits ? strlen(path) : 0; n && path[n - 1] == '/'; n--) path[n - 1] = 0;
    return fits && rf__holds_folder(ctx, path) ? path : folder;
}

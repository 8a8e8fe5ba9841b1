/* substitute.c — what stands in place of a file that was not downloaded: a pointer of Git LFS (a clone without
 * git-lfs), a page of a web server, or the one line with which a model hub answers for a file that it lacks. */
#include <strings.h>

#include "base/base.h"

static bool begins(const char *text, size_t size, const char *with)
{
    const size_t n = strlen(with);
    return size >= n && !strncasecmp(text, with, n);
}

static bool is_page(const char *data, size_t size)
{
    while (size && strchr(" \t\r\n", *data) && *data) data++, size--;
    return begins(data, size, "<!doctype html") || begins(data, size, "<html>") || begins(data, size, "<html ");
}

static bool is_answer(const char *data, size_t size)
{
    static const char *const answers[] = {"Entry not found", "Repository not found", "Invalid username or password",
                                          "404: Not Found", "Not Found"};
    while (size && strchr("\r\n", data[size - 1]) && data[size - 1]) size--;
    for (size_t i = 0; i < RF_COUNT(answers); i++)
        if (begins(data, size, answers[i]) && size <= strlen(answers[i]) + 1) return true;
    return false;
}

rf_status rf__check_substitute(const char *path, const void *data, size_t size, rf_error *why)
{
    if (begins(data, size, RF__LFS_POINTER))
        return rf_fail(why, RF_EDATA, "%s: expected the file, got a pointer of Git LFS to it; fetch the file: git lfs "
                       "pull", path);
    if (is_page(data, size))
        return rf_fail(why, RF_EDATA, "%s: expected the file, got a web page (HTML), perhaps of a failed download; "
                       "download the file again", path);
    if (is_answer(data, size))
        return rf_fail(why, RF_EDATA, "%s: expected the file, got the answer to a failed download, such as \"Entry not "
                       "found\"; download the file again", path);
    return RF_OK;
}

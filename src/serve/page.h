/* page.h — the files of src/serve/page, which the build converts to constants (cmake/RoformerPage.cmake). */
#ifndef SRV_PAGE_H
#define SRV_PAGE_H

#include <stddef.h>

typedef struct srv_page_file {
    const char *name; /* page.css */
    const unsigned char *at;
    size_t size;
} srv_page_file;
extern const srv_page_file srv_page_files[]; /* a row without a name at the end */

#endif

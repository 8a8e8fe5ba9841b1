/* template.h — chat templates: the part of the Jinja language (3.1) that chat templates use, with the settings and
 * functions of transformers' apply_chat_template.
 *
 *     text {{ expression }} {% if for set macro generation break continue %} {# comment #}
 *
 * Values are those of JSON. A template comes from somebody else: its steps, output and depth are bounded, and what is
 * not known here is refused with its line. */
#ifndef RF_TEXT_TEMPLATE_H
#define RF_TEXT_TEMPLATE_H

#include <jansson.h>
#include <time.h>

#include "base/base.h"

/* Limits: bytes of a template and of the text that it makes; steps, where one also counts for 32 bytes of text. */
enum { RF_TEMPLATE_BYTES = 1 << 20, RF_TEMPLATE_OUTPUT = 1 << 24, RF_TEMPLATE_STEPS = 1 << 22 };

typedef struct rf_template rf_template;

/* Reads a template. `name`: the file, for messages. RF_EDATA, RF_EUNSUPPORTED: what cannot be read, with its line. */
rf_status rf__template_new(const rf_ctx *ctx, const char *name, const char *text, size_t size, rf_template **out,
                           rf_error *why);
void rf__template_free(rf_template *t); /* NULL is allowed */

/* Whether the template uses a variable; whether it goes through the parts of a message's content, as templates of
 * models for texts and images do. */
bool rf__template_uses(const rf_template *t, const char *variable);
bool rf__template_takes_parts(const rf_template *t);

/* The text for these variables, an object, freed with rf__free. `now`: for strftime_now.
 *
 *   RF_EARG          raise_exception: its text alone
 *   RF_EUNSUPPORTED  something that is not known here
 *   RF_EDATA         an error of the template, such as a member of an undefined value
 *   RF_ERANGE        a limit */
rf_status rf__template_render(const rf_template *t, const json_t *variables, const struct tm *now, char **text,
                              size_t *size, rf_error *why);

#endif

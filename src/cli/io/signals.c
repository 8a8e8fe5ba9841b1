/* signals.c — stops on signals, and incomplete files. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "cli/io/io.h"
#include "cli/os/program.h"

static atomic_int stopped, save_asked;

/* ---- incomplete files: removed if the program ends before they are complete -----------------------------------------
 * A handler may remove files.  If there are more files than slots, the last ones are not removed.                    */

enum { INCOMPLETE = 8 };
static const char *_Atomic incomplete[INCOMPLETE];

static void remove_incomplete(void)
{
    for (size_t i = 0; i < INCOMPLETE; i++) {
        const char *path = atomic_load(&incomplete[i]);
        if (path) rf__os_remove(path);
    }
}

/* For a command that does not stop at a suitable point itself: the signal then ends the program as by default. */
static void clean_up(int number)
{
    remove_incomplete();
    cli_os_end_by(number);
}

void cli_incomplete(const char *path)
{
    for (size_t i = 0; i < INCOMPLETE; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&incomplete[i], &none, path)) break;
    }
    cli_os_on_end(clean_up, true);
}

void cli_complete(const char *path)
{
    for (size_t i = 0; i < INCOMPLETE; i++) {
        const char *same = path;
        if (atomic_compare_exchange_strong(&incomplete[i], &same, NULL)) return;
    }
}

void cli_end(int code)
{
    remove_incomplete();
    _Exit(code);
}

/* ---- stopping ---- */

/* The first signal is recorded and the work ends at a suitable point; the second ends the program immediately. */
static void remember(int number)
{
    if (stopped) cli_end(128 + number);
    stopped = number;
}

int cli_stopped(void) { return stopped; }
void cli_signals_catch(void) { cli_os_on_end(remember, false); }

static void remember_save(int number)
{
    (void)number;
    save_asked = 1;
}

int cli_save_asked(void) { return atomic_exchange(&save_asked, 0); }
void cli_signals_catch_save(void) { cli_os_on_save(remember_save); }

static void end_cut(void) { cli_end(CLI_IO); }
void cli_signals_init(void) { cli_os_on_cut(end_cut); }

/* Backtraces of captures (cores, logs, dumps) and the binaries as they shipped, as the command `backsight bt` makes them.
 *
 * Texts are UTF-8 and end with NUL. Those that a function returns, messages too, are the caller's, who frees them by
 * backsight_free. All functions may be called by several threads at once, those of one session too, but for
 * backsight_close, which is the last. */
#ifndef BACKSIGHT_H
#define BACKSIGHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What captures share: the binaries that were opened, and what was learned of them. */
typedef uintptr_t backsight_session;

/* The version of the library. */
extern char *backsight_version(void);

/* Opens a session. options is an object in JSON, called as the command's flags are: "exe", "image" (a list of
 * FILE[@ADDR]), "sysroot", "debug-dir", "symbols" (lists of paths), "ram" (a list of FILE[@ADDR]), "regs",
 * "max-frames", "no-index", "no-symbols", "no-cache", "locals". NULL is the command without flags. 0 is an error, of which
 * *message tells; message may be NULL. */
extern backsight_session backsight_open(const char *options, char **message);

/* The reports of a capture as JSON, byte for byte what `backsight bt -f json CAPTURE` writes; its form is what
 * `backsight schema` prints. NULL is the memory of "ram". *message is NULL, or why there are no backtraces: the JSON says
 * so, too. */
extern char *backsight_json(backsight_session session, const char *capture, char **message);

/* The same in a format: "json", "jsonl", "text", "html". NULL is an error, as of a session that is
 * not open. */
extern char *backsight_report(backsight_session session, const char *format, const char *capture, char **message);

/* Closes a session; one that is not open is none. */
extern void backsight_close(backsight_session session);

/* Frees a text. */
extern void backsight_free(char *text);

#ifdef __cplusplus
}
#endif

#endif

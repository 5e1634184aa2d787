/* The tables of a whole root file system, in one file (tables/device/bundle.go). */
#ifndef BACKSIGHT_TABLES_H
#define BACKSIGHT_TABLES_H

#include "modules.h"

/* bs_linux_table returns the table of a module by its build ID or, where it has none, by what the size bytes of its code
 * are, and how many bytes the table has; 0 for none. The file, which is mapped once, is that of the environment variable
 * BACKSIGHT_TABLES, else BS_TABLES, /usr/lib/backsight.tables if not defined. */
const uint8_t *bs_linux_table(const struct bs_linux_module *m, bs_word size, size_t *table_size);

#endif

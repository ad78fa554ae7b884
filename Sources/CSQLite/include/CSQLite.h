#ifndef PAGEKIT_CSQLITE_H
#define PAGEKIT_CSQLITE_H

#include <sqlite3.h>

// Lets reads of SQLite's files fail instead of waiting for the disk, on threads that ask for that.
//
// SQLite's VFS calls `pread` through a table, whose entry is replaced here for the whole process; on threads that do not
// ask, the new function is `pread`. Returns 0 if the system or SQLite does not support it.
int pk_sqlite_prepare_prompt_reads(void);

// From now on, until it is set to 0 again, reads of this thread fail where they would have to wait for the disk.
void pk_sqlite_read_promptly(int is_prompt);

// The value of SQLITE_TRANSIENT, which Swift cannot read: SQLite copies what it is given.
static inline sqlite3_destructor_type pk_sqlite_transient(void) { return SQLITE_TRANSIENT; }

#endif

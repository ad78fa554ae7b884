#define _GNU_SOURCE

#include "CSQLite.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local int reads_promptly = 0;

static ssize_t read_at(int file, void *bytes, size_t count, off_t position) {
#if defined(__linux__) && defined(RWF_NOWAIT)
  if (reads_promptly) {
    struct iovec piece = {bytes, count};
    return preadv2(file, &piece, 1, position, RWF_NOWAIT);
  }
#endif
  return pread(file, bytes, count, position);
}

void pk_sqlite_read_promptly(int is_prompt) { reads_promptly = is_prompt; }

int pk_sqlite_prepare_prompt_reads(void) {
#if defined(__linux__) && defined(RWF_NOWAIT)
  static atomic_int state = 0;  // 1 if it is supported, 2 if it is not
  int known = atomic_load(&state);
  if (known) return known == 1;
  if (sqlite3_initialize() != SQLITE_OK) return 0;
  sqlite3_vfs *files = sqlite3_vfs_find(NULL);
  int supported = 0;
  if (files && files->iVersion >= 3 && files->xGetSystemCall && files->xSetSystemCall) {
    // Which of the two it calls depends on how it was built. The functions have the same type where `off_t` is wide.
    const char *names[] = {"pread", "pread64"};
    for (int i = 0; i < 2 && sizeof(off_t) == 8; i++) {
      if (files->xGetSystemCall(files, names[i])
          && files->xSetSystemCall(files, names[i], (sqlite3_syscall_ptr)read_at) == SQLITE_OK) {
        supported = 1;
      }
    }
  }
  atomic_store(&state, supported ? 1 : 2);
  return supported;
#else
  return 0;
#endif
}

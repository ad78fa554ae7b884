#ifndef PAGEKIT_CLINUX_H
#define PAGEKIT_CLINUX_H

// syncfs is declared only under _GNU_SOURCE, which Swift's Glibc module does not set.
#if defined(__linux__)
int syncfs(int descriptor);
#endif

#endif

#ifndef PAGEKIT_CLINUX_H
#define PAGEKIT_CLINUX_H

// Declared only under _GNU_SOURCE, which Swift's Glibc module does not set.
#if defined(__linux__)
#include <wchar.h>
int syncfs(int descriptor);
int wcwidth(wchar_t character);
#endif

#endif

#ifndef PAGEKIT_CZSTD_H
#define PAGEKIT_CZSTD_H

#include <zstd.h>

#endif

#ifndef PAGEKIT_CBROTLI_H
#define PAGEKIT_CBROTLI_H

#include <brotli/decode.h>

#endif

#ifndef PAGEKIT_CBROTLI_ENCODING_H
#define PAGEKIT_CBROTLI_ENCODING_H

#include <brotli/encode.h>

#endif

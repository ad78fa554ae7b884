#ifndef PAGEKIT_CNGHTTP2_H
#define PAGEKIT_CNGHTTP2_H

#include <nghttp2/nghttp2.h>

#endif

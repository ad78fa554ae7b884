#ifndef PAGEKIT_CZLIB_H
#define PAGEKIT_CZLIB_H

#include <zlib.h>

// inflateInit2 is a macro that passes the header's version and structure size.
static inline int pk_inflate_init(z_stream *stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

#endif

#ifndef PAGEKIT_CZLIB_H
#define PAGEKIT_CZLIB_H

#include <zlib.h>

// inflateInit2 is a macro that passes the header's version and structure size.
static inline int pk_inflate_init(z_stream *stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

// The same holds for deflateInit2.
static inline int pk_deflate_init(z_stream *stream, int window_bits) {
  return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

static inline int pk_deflate_init_level(z_stream *stream, int window_bits, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

// For an image whose rows have PNG's filter.
static inline int pk_deflate_init_png(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 15, 8, Z_FILTERED);
}

#endif

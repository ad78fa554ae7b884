#ifndef PAGEKIT_CCAIRO_H
#define PAGEKIT_CCAIRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The part of cairo, Pango and fontconfig that PagePictures draws with, and of the libraries that decode pictures. They
// are loaded by `pk_load_cairo` and `pk_load_decoder`, and not linked: a process that draws nothing does not have them,
// and building needs neither their headers nor the libraries. Before they are loaded none of their functions may be
// called.

// MARK: Types

typedef struct _cairo cairo_t;
typedef struct _cairo_surface cairo_surface_t;
typedef struct _cairo_pattern cairo_pattern_t;
typedef struct _cairo_font_options cairo_font_options_t;

typedef struct {
  double xx, yx, xy, yy, x0, y0;
} cairo_matrix_t;

typedef int (*cairo_write_func_t)(void *closure, const unsigned char *bytes, unsigned count);
typedef int (*cairo_read_func_t)(void *closure, unsigned char *bytes, unsigned count);

enum { CAIRO_STATUS_SUCCESS = 0, CAIRO_STATUS_READ_ERROR = 10, CAIRO_STATUS_WRITE_ERROR = 11 };
enum { CAIRO_FORMAT_ARGB32 = 0, CAIRO_FORMAT_RGB24 = 1, CAIRO_FORMAT_A8 = 2 };
enum { CAIRO_OPERATOR_OVER = 2, CAIRO_OPERATOR_DEST_OUT = 9 };
enum { CAIRO_FILTER_FAST = 0, CAIRO_FILTER_GOOD = 1, CAIRO_FILTER_NEAREST = 3, CAIRO_FILTER_BILINEAR = 4 };
enum { CAIRO_EXTEND_NONE = 0, CAIRO_EXTEND_PAD = 3 };
enum { CAIRO_FILL_RULE_WINDING = 0, CAIRO_FILL_RULE_EVEN_ODD = 1 };
enum { CAIRO_LINE_CAP_BUTT = 0, CAIRO_LINE_CAP_ROUND = 1 };
enum { CAIRO_ANTIALIAS_GRAY = 2, CAIRO_HINT_STYLE_NONE = 1, CAIRO_HINT_METRICS_OFF = 1 };
enum { CAIRO_FONT_TYPE_FT = 1, CAIRO_SVG_UNIT_USER = 0, CAIRO_SVG_VERSION_1_2 = 1 };

typedef struct _PangoContext PangoContext;
typedef struct _PangoFontMap PangoFontMap;
typedef struct _PangoFontDescription PangoFontDescription;
typedef struct _PangoLayout PangoLayout;
typedef struct _PangoLayoutIter PangoLayoutIter;
typedef struct _PangoAttrList PangoAttrList;
typedef struct _PangoLanguage PangoLanguage;
typedef struct _PangoFontMetrics PangoFontMetrics;

typedef struct {
  int x, y, width, height;
} PangoRectangle;

// Its further members are not used; Pango makes and frees these structures.
typedef struct {
  PangoLayout *layout;
  int start_index;
  int length;
} PangoLayoutLine;

// Pango makes and frees these structures too.
typedef struct {
  const void *klass;
  unsigned start_index;
  unsigned end_index;
} PangoAttribute;

enum { PANGO_SCALE = 1024 };
enum { PANGO_ALIGN_LEFT = 0, PANGO_ALIGN_CENTER = 1, PANGO_ALIGN_RIGHT = 2 };
enum { PANGO_WRAP_WORD_CHAR = 2, PANGO_ELLIPSIZE_NONE = 0, PANGO_ELLIPSIZE_END = 3 };
enum { PANGO_DIRECTION_LTR = 0, PANGO_DIRECTION_RTL = 1 };
enum { PANGO_STYLE_NORMAL = 0, PANGO_STYLE_ITALIC = 2, PANGO_UNDERLINE_SINGLE = 1 };

typedef struct _FcConfig FcConfig;
typedef struct _FcPattern FcPattern;
typedef struct _FcStrList FcStrList;

typedef struct {
  int nfont, sfont;
  FcPattern **fonts;
} FcFontSet;

enum { FcSetSystem = 0, FcSetApplication = 1, FcTrue = 1 };

typedef struct _RsvgHandle RsvgHandle;

typedef struct {
  double x, y, width, height;
} RsvgRectangle;

// The beginning of GLib's error.
typedef struct {
  uint32_t domain;
  int code;
  char *message;
} GError;

enum { TJPF_BGRA = 8, TJFLAG_LIMITSCANS = 32768 };

// MARK: Functions

// Swift knows each function by the library's name. The linker knows it by another one, so that an app that links cairo
// itself has the library's functions and not these.
#define PAGEKIT_FUNCTION(library, result, name, parameters, arguments) \
  result name parameters __asm__("pagekit_" #name) __attribute__((visibility("hidden")));
#include "CairoFunctions.h"
#include "PictureFunctions.h"
#undef PAGEKIT_FUNCTION

// MARK: Loading

// Loads cairo, Pango and fontconfig the first time it is called, from any thread. Returns NULL if every function of
// CairoFunctions.h is there, and otherwise the reason in words, which lives as long as the process.
const char *pk_load_cairo(void);

typedef enum { PK_DECODER_JPEG, PK_DECODER_WEBP, PK_DECODER_GIF, PK_DECODER_SVG } pk_decoder;

// Loads the library of a decoder in the same way.
const char *pk_load_decoder(pk_decoder decoder);

// MARK: Pictures

// The canvas's size in a GIF's head, checked by the library; false if the bytes are not a GIF.
bool pk_gif_get_size(const void *bytes, size_t count, int *width, int *height);
// Draws a GIF's first picture into pixels of the canvas's size, each four bytes: blue, green, red and alpha. They are 0
// before. False if the file is damaged; lines before the damage are drawn.
bool pk_gif_draw(const void *bytes, size_t count, uint8_t *pixels, int width, int height, size_t stride);
// Multiplies the colours of pixels with their alpha, as cairo's surfaces have them.
void pk_premultiply(uint8_t *pixels, int width, int height, size_t stride);

// Blurs an image of one byte for each pixel three times with a box of 2 * radius + 1 pixels, across and down. `scratch`
// has room for the longer side.
void pk_blur(uint8_t *pixels, int width, int height, size_t stride, int radius, uint8_t *scratch);

// Enlarges an image of one byte for each pixel: what is within `edge` of its sides stays as it is, and the pixel behind
// that fills the middle.
void pk_stretch(
    const uint8_t *pixels, int width, int height, size_t stride, int edge, uint8_t *target, int targetWidth,
    int targetHeight, size_t targetStride);

// Writes the rows of an image of four bytes per pixel (blue, green, red, unused or premultiplied alpha) as PNG has them:
// a filter's byte, and the difference to the row above; three bytes for each pixel, or four with alpha. `rows` has room
// for height * (1 + width * (hasAlpha ? 4 : 3)) bytes. `above` is the row above the first, or NULL.
void pk_filter_rows(
    const uint8_t *pixels, int width, int height, size_t stride, bool hasAlpha, const uint8_t *above, uint8_t *rows);

// Compresses into zlib's format with ISA-L, in a fifth of the time that zlib takes at its lowest level. NULL if the
// library is missing, or memory.
typedef struct pk_deflater pk_deflater;
pk_deflater *pk_deflater_new(void);
void pk_deflater_free(pk_deflater *deflater);

// Compresses `count` bytes, which have to stay where they are until less than `room` bytes come out: until then it is called
// again with a count of 0. Returns the number of bytes in `out`, -1 for an error.
long pk_deflater_run(
    pk_deflater *deflater, uint8_t *bytes, uint32_t count, bool isLast, uint8_t *out, uint32_t room);

#endif

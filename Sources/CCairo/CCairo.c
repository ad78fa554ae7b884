#include "CCairo.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The libraries' functions, by name.
static struct {
#define PAGEKIT_FUNCTION(library, result, name, parameters, arguments) result(*name) parameters;
#include "CairoFunctions.h"
#include "PictureFunctions.h"
#undef PAGEKIT_FUNCTION
} functions;

#define PAGEKIT_FUNCTION(library, result, name, parameters, arguments) \
  result name parameters { return functions.name arguments; }
#include "CairoFunctions.h"
#include "PictureFunctions.h"
#undef PAGEKIT_FUNCTION

// MARK: Loading

// A library, the package that has it, and what cannot be without it.
typedef struct {
  const char *name, *file, *package, *purpose;
} Library;

static const Library libraries[] = {
    {"cairo", "libcairo.so.2", "libcairo2", "pictures of pages cannot be drawn"},
    {"gobject", "libgobject-2.0.so.0", "libglib2.0-0", "pictures of pages cannot be drawn"},
    {"fontconfig", "libfontconfig.so.1", "libfontconfig1", "pictures of pages cannot be drawn"},
    {"pango", "libpango-1.0.so.0", "libpango-1.0-0", "pictures of pages cannot be drawn"},
    {"pangoft2", "libpangoft2-1.0.so.0", "libpangoft2-1.0-0", "pictures of pages cannot be drawn"},
    {"pangocairo", "libpangocairo-1.0.so.0", "libpangocairo-1.0-0", "pictures of pages cannot be drawn"},
    {"jpeg", "libturbojpeg.so.0", "libturbojpeg0", "JPEG pictures cannot be drawn"},
    {"webp", "libwebp.so.7", "libwebp7", "WebP pictures cannot be drawn"},
    {"gif", "libgif.so.7", "libgif7", "GIF pictures cannot be drawn"},
    {"svg", "librsvg-2.so.2", "librsvg2-2", "SVG pictures cannot be drawn"},
    {"svgglib", "libglib-2.0.so.0", "libglib2.0-0", "SVG pictures cannot be drawn"},
    {"isal", "libisal.so.2", "libisal2", "PNG files are written by zlib"},
};
enum { libraryCount = sizeof libraries / sizeof *libraries };

typedef struct {
  char text[512];
} Failure;

// The address of a function. The first library or function that is missing is the failure.
static void *find(const char *name, const char *function, Failure *failure) {
  if (failure->text[0]) return NULL;
  // dlopen() counts what is open already; nothing is closed.
  for (int index = 0; index < libraryCount; index++) {
    const Library *library = &libraries[index];
    if (strcmp(library->name, name)) continue;
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *reason = dlerror();
      snprintf(
          failure->text, sizeof failure->text, "%s: install %s (%s)", library->purpose, library->package,
          reason ? reason : "the loader gives no reason");
      return NULL;
    }
    void *address = dlsym(handle, function);
    if (!address) {
      snprintf(
          failure->text, sizeof failure->text, "%s: %s has no function %s: install a newer %s", library->purpose,
          library->file, function, library->package);
    }
    return address;
  }
  return NULL;
}

static pthread_once_t cairoOnce = PTHREAD_ONCE_INIT;
static Failure cairoFailure;

static void loadCairo(void) {
  // Pango brings all others: it is named where none is there.
  find("pangocairo", "pango_cairo_font_map_new_for_font_type", &cairoFailure);
#define PAGEKIT_FUNCTION(library, result, name, parameters, arguments) \
  *(void **)&functions.name = find(#library, #name, &cairoFailure);
#include "CairoFunctions.h"
#undef PAGEKIT_FUNCTION
}

const char *pk_load_cairo(void) {
  pthread_once(&cairoOnce, loadCairo);
  return cairoFailure.text[0] ? cairoFailure.text : NULL;
}

static pthread_once_t jpegOnce = PTHREAD_ONCE_INIT, webpOnce = PTHREAD_ONCE_INIT, gifOnce = PTHREAD_ONCE_INIT,
                      svgOnce = PTHREAD_ONCE_INIT;
static Failure jpegFailure, webpFailure, gifFailure, svgFailure;

static void loadDecoder(const char *first, const char *second, Failure *failure) {
#define PAGEKIT_FUNCTION(library, result, name, parameters, arguments) \
  if (!strcmp(#library, first) || !strcmp(#library, second)) \
    *(void **)&functions.name = find(#library, #name, failure);
#include "PictureFunctions.h"
#undef PAGEKIT_FUNCTION
}

static void loadJPEG(void) { loadDecoder("jpeg", "", &jpegFailure); }
static void loadWebP(void) { loadDecoder("webp", "", &webpFailure); }
static void loadSVG(void) { loadDecoder("svg", "svgglib", &svgFailure); }

// MARK: GIF

// The beginning of what giflib 5 keeps of a file.
typedef struct {
  int count, bits;
  bool isSorted;
  const struct {
    uint8_t red, green, blue;
  } *colours;
} Palette;

typedef struct {
  int width, height, resolution, background;
  uint8_t aspect;
  const Palette *palette;
  int count;
  struct {
    int left, top, width, height;
    bool isInterlaced;
    const Palette *palette;
  } image;
  void *saved;
  int blockCount;
  void *blocks;
  int error;
  void *context;
  void *internals;
} GIF;

typedef int (*GIFReader)(GIF *gif, uint8_t *bytes, int count);

static struct {
  GIF *(*open)(void *context, GIFReader reader, int *error);
  int (*close)(GIF *gif, int *error);
  int (*nextRecord)(GIF *gif, int *type);
  int (*nextImage)(GIF *gif);
  int (*nextLine)(GIF *gif, uint8_t *line, int width);
  int (*extension)(GIF *gif, int *code, uint8_t **bytes);
  int (*nextExtension)(GIF *gif, uint8_t **bytes);
} giflib;

static void loadGIF(void) {
  *(void **)&giflib.open = find("gif", "DGifOpen", &gifFailure);
  *(void **)&giflib.close = find("gif", "DGifCloseFile", &gifFailure);
  *(void **)&giflib.nextRecord = find("gif", "DGifGetRecordType", &gifFailure);
  *(void **)&giflib.nextImage = find("gif", "DGifGetImageDesc", &gifFailure);
  *(void **)&giflib.nextLine = find("gif", "DGifGetLine", &gifFailure);
  *(void **)&giflib.extension = find("gif", "DGifGetExtension", &gifFailure);
  *(void **)&giflib.nextExtension = find("gif", "DGifGetExtensionNext", &gifFailure);
}

const char *pk_load_decoder(pk_decoder decoder) {
  static const struct {
    pthread_once_t *once;
    void (*load)(void);
    Failure *failure;
  } decoders[] = {
      [PK_DECODER_JPEG] = {&jpegOnce, loadJPEG, &jpegFailure},
      [PK_DECODER_WEBP] = {&webpOnce, loadWebP, &webpFailure},
      [PK_DECODER_GIF] = {&gifOnce, loadGIF, &gifFailure},
      [PK_DECODER_SVG] = {&svgOnce, loadSVG, &svgFailure},
  };
  pthread_once(decoders[decoder].once, decoders[decoder].load);
  return decoders[decoder].failure->text[0] ? decoders[decoder].failure->text : NULL;
}

typedef struct {
  const uint8_t *bytes;
  size_t count;
} Rest;

static int readRest(GIF *gif, uint8_t *bytes, int count) {
  Rest *rest = gif->context;
  size_t part = count < 0 ? 0 : (size_t)count < rest->count ? (size_t)count : rest->count;
  memcpy(bytes, rest->bytes, part);
  rest->bytes += part;
  rest->count -= part;
  return (int)part;
}

bool pk_gif_get_size(const void *bytes, size_t count, int *width, int *height) {
  Rest rest = {bytes, count};
  int error = 0;
  GIF *gif = giflib.open(&rest, readRest, &error);
  if (!gif) return false;
  *width = gif->width;
  *height = gif->height;
  giflib.close(gif, &error);
  return *width > 0 && *height > 0;
}

// Draws the lines of the picture at hand.
static bool drawGIF(GIF *gif, int transparent, uint8_t *pixels, int width, int height, size_t stride) {
  const Palette *palette = gif->image.palette ? gif->image.palette : gif->palette;
  int lineWidth = gif->image.width, lines = gif->image.height;
  if (!palette || !palette->colours || lineWidth <= 0 || lineWidth > 65535 || lines <= 0 || lines > 65535) return false;
  // All lines are decoded, also those beyond the canvas.
  if ((long)lineWidth * lines > 24000000) return false;
  uint8_t *line = malloc((size_t)lineWidth);
  if (!line) return false;
  static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  int passes = gif->image.isInterlaced ? 4 : 1;
  bool isWhole = true;
  for (int pass = 0; pass < passes && isWhole; pass++) {
    int step = passes == 1 ? 1 : steps[pass];
    for (int row = passes == 1 ? 0 : starts[pass]; row < lines; row += step) {
      if (!giflib.nextLine(gif, line, lineWidth)) {
        isWhole = false;
        break;
      }
      long y = (long)gif->image.top + row;
      if (y < 0 || y >= height) continue;
      for (int column = 0; column < lineWidth; column++) {
        long x = (long)gif->image.left + column;
        int index = line[column];
        if (x < 0 || x >= width || index == transparent || index >= palette->count) continue;
        uint8_t *pixel = pixels + (size_t)y * stride + (size_t)x * 4;
        pixel[0] = palette->colours[index].blue;
        pixel[1] = palette->colours[index].green;
        pixel[2] = palette->colours[index].red;
        pixel[3] = 255;
      }
    }
  }
  free(line);
  return isWhole;
}

bool pk_gif_draw(const void *bytes, size_t count, uint8_t *pixels, int width, int height, size_t stride) {
  enum { image = 2, extension = 3, graphicsControl = 0xF9 };
  Rest rest = {bytes, count};
  int error = 0, type = 0, transparent = -1;
  GIF *gif = giflib.open(&rest, readRest, &error);
  if (!gif) return false;
  bool isDrawn = false;
  while (giflib.nextRecord(gif, &type)) {
    if (type == image) {
      isDrawn = giflib.nextImage(gif) && drawGIF(gif, transparent, pixels, width, height, stride);
      break;
    }
    if (type != extension) break;
    int code = 0;
    uint8_t *block = NULL;
    int isRead = giflib.extension(gif, &code, &block);
    // GIF89a §23: a length, the flags, the delay, the transparent colour.
    if (isRead && block && code == graphicsControl && block[0] >= 4) transparent = block[1] & 1 ? block[4] : -1;
    while (isRead && block) isRead = giflib.nextExtension(gif, &block);
    if (!isRead) break;
  }
  giflib.close(gif, &error);
  return isDrawn;
}

// MARK: Compression

// The beginning of what ISA-L 2 keeps of a stream. All of it takes 82,384 bytes.
typedef struct {
  uint8_t *nextIn;
  uint32_t inCount, inTotal;
  uint8_t *nextOut;
  uint32_t outCount, outTotal;
  void *tables;
  uint32_t level, bufferSize;
  uint8_t *buffer;
  uint16_t isLast, flush, format, history;
} DeflateStream;

enum { streamSize = 128 << 10, deflateBufferSize = 276 << 10 };

struct pk_deflater {
  union {
    DeflateStream head;
    uint8_t bytes[streamSize];
    max_align_t alignment;
  } stream;
  uint8_t buffer[deflateBufferSize];
};

static struct {
  void (*begin)(void *stream);
  int (*deflate)(void *stream);
} isal;

static pthread_once_t isalOnce = PTHREAD_ONCE_INIT;
static Failure isalFailure;

static void loadISAL(void) {
  *(void **)&isal.begin = find("isal", "isal_deflate_init", &isalFailure);
  *(void **)&isal.deflate = find("isal", "isal_deflate", &isalFailure);
}

pk_deflater *pk_deflater_new(void) {
  enum { zlibFormat = 3 };
  pthread_once(&isalOnce, loadISAL);
  pk_deflater *deflater = isalFailure.text[0] ? NULL : calloc(1, sizeof *deflater);
  if (!deflater) return NULL;
  isal.begin(&deflater->stream);
  DeflateStream *head = &deflater->stream.head;
  head->level = 1;
  head->buffer = deflater->buffer;
  head->bufferSize = deflateBufferSize;
  head->format = zlibFormat;
  return deflater;
}

void pk_deflater_free(pk_deflater *deflater) { free(deflater); }

long pk_deflater_run(
    pk_deflater *deflater, uint8_t *bytes, uint32_t count, bool isLast, uint8_t *out, uint32_t room) {
  DeflateStream *head = &deflater->stream.head;
  if (count) {
    head->nextIn = bytes;
    head->inCount = count;
  }
  head->isLast = isLast;
  head->nextOut = out;
  head->outCount = room;
  return isal.deflate(&deflater->stream) ? -1 : (long)(room - head->outCount);
}

// MARK: Pixels

void pk_premultiply(uint8_t *pixels, int width, int height, size_t stride) {
  for (int y = 0; y < height; y++) {
    uint8_t *pixel = pixels + (size_t)y * stride;
    for (int x = 0; x < width; x++, pixel += 4) {
      unsigned alpha = pixel[3];
      if (alpha == 255) continue;
      for (int part = 0; part < 3; part++) pixel[part] = (uint8_t)((pixel[part] * alpha + 127) / 255);
    }
  }
}

// Blurs a line whose pixels are `step` bytes apart. What is beyond its ends counts as 0.
static void blurLine(uint8_t *line, int count, size_t step, int radius, uint8_t *scratch) {
  unsigned size = 2 * (unsigned)radius + 1, sum = 0;
  // Divides by the size: 24 bits are exact enough for a sum of at most 255 * size.
  uint64_t factor = (1u << 24) / size;
  for (int index = 0; index < count; index++) scratch[index] = line[(size_t)index * step];
  for (int index = 0; index < radius && index < count; index++) sum += scratch[index];
  for (int index = 0; index < count; index++) {
    if (index + radius < count) sum += scratch[index + radius];
    line[(size_t)index * step] = (uint8_t)((sum * factor + (1u << 23)) >> 24);
    if (index - radius >= 0) sum -= scratch[index - radius];
  }
}

void pk_blur(uint8_t *pixels, int width, int height, size_t stride, int radius, uint8_t *scratch) {
  if (radius < 1) return;
  for (int round = 0; round < 3; round++) {
    for (int y = 0; y < height; y++) blurLine(pixels + (size_t)y * stride, width, 1, radius, scratch);
    for (int x = 0; x < width; x++) blurLine(pixels + x, height, stride, radius, scratch);
  }
}

void pk_stretch(
    const uint8_t *pixels, int width, int height, size_t stride, int edge, uint8_t *target, int targetWidth,
    int targetHeight, size_t targetStride) {
  int left = edge < width ? edge : width - 1, top = edge < height ? edge : height - 1;
  int right = width - left - 1, bottom = height - top - 1;
  if (left < 0 || top < 0 || targetWidth < left + right || targetHeight < top + bottom) return;
  for (int y = 0; y < targetHeight; y++) {
    int from = y < top ? y : y >= targetHeight - bottom ? y - targetHeight + height : top;
    const uint8_t *row = pixels + (size_t)from * stride;
    uint8_t *out = target + (size_t)y * targetStride;
    memcpy(out, row, (size_t)left);
    memset(out + left, row[left], (size_t)(targetWidth - left - right));
    memcpy(out + targetWidth - right, row + left + 1, (size_t)right);
  }
}

void pk_filter_rows(
    const uint8_t *pixels, int width, int height, size_t stride, bool hasAlpha, const uint8_t *above, uint8_t *rows) {
  uint8_t *out = rows;
  if (!hasAlpha) {
    for (int y = 0; y < height; y++) {
      const uint8_t *row = pixels + (size_t)y * stride;
      // PNG §9.2: 2 is the difference to the row above, 0 none.
      *out++ = above ? 2 : 0;
      if (above && !memcmp(row, above, (size_t)width * 4)) {
        memset(out, 0, (size_t)width * 3);
        out += (size_t)width * 3;
      } else {
        for (int x = 0; x < width; x++, out += 3) {
          uint32_t pixel, other = 0;
          memcpy(&pixel, row + 4 * x, 4);
          if (above) memcpy(&other, above + 4 * x, 4);
          // Four differences at once: borrows do not pass the highest bit of a byte.
          uint32_t difference = ((pixel | 0x80808080) - (other & 0x7F7F7F7F)) ^ ((pixel ^ ~other) & 0x80808080);
          difference = __builtin_bswap32(difference) >> 8;
          // The fourth byte is written over, but for the row's last.
          memcpy(out, &difference, x + 1 < width ? 4 : 3);
        }
      }
      above = row;
    }
    return;
  }
  // PNG's colours are not multiplied with alpha; rows are not compared.
  for (int y = 0; y < height; y++) {
    const uint8_t *pixel = pixels + (size_t)y * stride;
    *out++ = 0;
    for (int x = 0; x < width; x++, pixel += 4, out += 4) {
      unsigned alpha = pixel[3];
      for (int part = 0; part < 3; part++) {
        unsigned value = pixel[2 - part];
        unsigned whole = alpha ? (value * 255 + alpha / 2) / alpha : 0;
        out[part] = (uint8_t)(whole > 255 ? 255 : whole);
      }
      out[3] = (uint8_t)alpha;
    }
  }
}

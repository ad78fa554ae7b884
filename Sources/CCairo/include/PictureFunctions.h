// PAGEKIT_FUNCTION(library, result, name, parameters, arguments) for each function that is called of the libraries that
// decode pictures. Included several times, with another meaning of the macro each time: so it has no guard.

#ifdef PAGEKIT_FUNCTION
#define FUNCTION PAGEKIT_FUNCTION

FUNCTION(jpeg, void *, tjInitDecompress, (void), ())
FUNCTION(jpeg, int, tjDestroy, (void *decoder), (decoder))
FUNCTION(jpeg, int, tjDecompressHeader3,
    (void *decoder, const uint8_t *bytes, unsigned long count, int *width, int *height, int *sampling, int *colours),
    (decoder, bytes, count, width, height, sampling, colours))
FUNCTION(jpeg, int, tjDecompress2,
    (void *decoder, const uint8_t *bytes, unsigned long count, uint8_t *pixels, int width, int pitch, int height,
     int format, int flags),
    (decoder, bytes, count, pixels, width, pitch, height, format, flags))
FUNCTION(jpeg, int, tjGetErrorCode, (void *decoder), (decoder))

FUNCTION(webp, int, WebPGetInfo, (const uint8_t *bytes, size_t count, int *width, int *height), (bytes, count, width, height))
FUNCTION(webp, uint8_t *, WebPDecodeBGRAInto,
    (const uint8_t *bytes, size_t count, uint8_t *pixels, size_t size, int stride), (bytes, count, pixels, size, stride))

FUNCTION(svg, RsvgHandle *, rsvg_handle_new_from_data, (const uint8_t *bytes, size_t count, GError **error), (bytes, count, error))
FUNCTION(svg, int, rsvg_handle_get_intrinsic_size_in_pixels,
    (RsvgHandle *handle, double *width, double *height), (handle, width, height))
FUNCTION(svg, void, rsvg_handle_get_intrinsic_dimensions,
    (RsvgHandle *handle, int *hasWidth, void *width, int *hasHeight, void *height, int *hasBox, RsvgRectangle *box),
    (handle, hasWidth, width, hasHeight, height, hasBox, box))
FUNCTION(svg, int, rsvg_handle_render_document,
    (RsvgHandle *handle, cairo_t *cairo, const RsvgRectangle *box, GError **error), (handle, cairo, box, error))
FUNCTION(svgglib, void, g_error_free, (GError *error), (error))

#undef FUNCTION
#endif

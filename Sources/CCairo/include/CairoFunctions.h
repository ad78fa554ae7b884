// PAGEKIT_FUNCTION(library, result, name, parameters, arguments) for each function that is called of cairo, Pango and
// fontconfig. Included several times, with another meaning of the macro each time: so it has no guard.

#ifdef PAGEKIT_FUNCTION
#define FUNCTION PAGEKIT_FUNCTION

// Surfaces
FUNCTION(cairo, cairo_surface_t *, cairo_image_surface_create, (int format, int width, int height), (format, width, height))
FUNCTION(cairo, uint8_t *, cairo_image_surface_get_data, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, int, cairo_image_surface_get_width, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, int, cairo_image_surface_get_height, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, int, cairo_image_surface_get_stride, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, int, cairo_image_surface_get_format, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, int, cairo_surface_set_mime_data,
    (cairo_surface_t *surface, const char *type, const uint8_t *bytes, unsigned long count, void (*destroy)(void *), void *context),
    (surface, type, bytes, count, destroy, context))
FUNCTION(cairo, cairo_surface_t *, cairo_image_surface_create_from_png_stream,
    (cairo_read_func_t read, void *closure), (read, closure))
FUNCTION(cairo, cairo_surface_t *, cairo_svg_surface_create_for_stream,
    (cairo_write_func_t write, void *closure, double width, double height), (write, closure, width, height))
FUNCTION(cairo, void, cairo_svg_surface_set_document_unit, (cairo_surface_t *surface, int unit), (surface, unit))
FUNCTION(cairo, void, cairo_svg_surface_restrict_to_version, (cairo_surface_t *surface, int version), (surface, version))
FUNCTION(cairo, void, cairo_surface_show_page, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, void, cairo_surface_flush, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, void, cairo_surface_mark_dirty, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, void, cairo_surface_finish, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, int, cairo_surface_status, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, void, cairo_surface_destroy, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, const char *, cairo_status_to_string, (int status), (status))

// Drawing
FUNCTION(cairo, cairo_t *, cairo_create, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, void, cairo_destroy, (cairo_t *cairo), (cairo))
FUNCTION(cairo, int, cairo_status, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_save, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_restore, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_push_group, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_pop_group_to_source, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_set_operator, (cairo_t *cairo, int value), (cairo, value))
FUNCTION(cairo, void, cairo_set_source_rgba,
    (cairo_t *cairo, double red, double green, double blue, double alpha), (cairo, red, green, blue, alpha))
FUNCTION(cairo, void, cairo_set_source, (cairo_t *cairo, cairo_pattern_t *pattern), (cairo, pattern))
FUNCTION(cairo, void, cairo_set_source_surface,
    (cairo_t *cairo, cairo_surface_t *surface, double x, double y), (cairo, surface, x, y))
FUNCTION(cairo, cairo_pattern_t *, cairo_get_source, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_translate, (cairo_t *cairo, double x, double y), (cairo, x, y))
FUNCTION(cairo, void, cairo_scale, (cairo_t *cairo, double x, double y), (cairo, x, y))
FUNCTION(cairo, void, cairo_transform, (cairo_t *cairo, const cairo_matrix_t *matrix), (cairo, matrix))
FUNCTION(cairo, void, cairo_new_path, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_new_sub_path, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_move_to, (cairo_t *cairo, double x, double y), (cairo, x, y))
FUNCTION(cairo, void, cairo_line_to, (cairo_t *cairo, double x, double y), (cairo, x, y))
FUNCTION(cairo, void, cairo_curve_to,
    (cairo_t *cairo, double x1, double y1, double x2, double y2, double x3, double y3),
    (cairo, x1, y1, x2, y2, x3, y3))
FUNCTION(cairo, void, cairo_rectangle,
    (cairo_t *cairo, double x, double y, double width, double height), (cairo, x, y, width, height))
FUNCTION(cairo, void, cairo_close_path, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_set_fill_rule, (cairo_t *cairo, int rule), (cairo, rule))
FUNCTION(cairo, void, cairo_set_line_width, (cairo_t *cairo, double width), (cairo, width))
FUNCTION(cairo, void, cairo_set_line_cap, (cairo_t *cairo, int cap), (cairo, cap))
FUNCTION(cairo, void, cairo_set_dash,
    (cairo_t *cairo, const double *lengths, int count, double offset), (cairo, lengths, count, offset))
FUNCTION(cairo, void, cairo_fill, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_stroke, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_clip, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_paint, (cairo_t *cairo), (cairo))
FUNCTION(cairo, void, cairo_paint_with_alpha, (cairo_t *cairo, double alpha), (cairo, alpha))
FUNCTION(cairo, void, cairo_mask, (cairo_t *cairo, cairo_pattern_t *pattern), (cairo, pattern))

// Patterns
FUNCTION(cairo, cairo_pattern_t *, cairo_pattern_create_linear,
    (double x0, double y0, double x1, double y1), (x0, y0, x1, y1))
FUNCTION(cairo, cairo_pattern_t *, cairo_pattern_create_for_surface, (cairo_surface_t *surface), (surface))
FUNCTION(cairo, void, cairo_pattern_add_color_stop_rgba,
    (cairo_pattern_t *pattern, double offset, double red, double green, double blue, double alpha),
    (pattern, offset, red, green, blue, alpha))
FUNCTION(cairo, void, cairo_pattern_set_filter, (cairo_pattern_t *pattern, int filter), (pattern, filter))
FUNCTION(cairo, void, cairo_pattern_set_extend, (cairo_pattern_t *pattern, int extend), (pattern, extend))
FUNCTION(cairo, void, cairo_pattern_set_matrix, (cairo_pattern_t *pattern, const cairo_matrix_t *matrix), (pattern, matrix))
FUNCTION(cairo, void, cairo_pattern_destroy, (cairo_pattern_t *pattern), (pattern))

// Options of fonts
FUNCTION(cairo, cairo_font_options_t *, cairo_font_options_create, (void), ())
FUNCTION(cairo, void, cairo_font_options_destroy, (cairo_font_options_t *options), (options))
FUNCTION(cairo, void, cairo_font_options_set_antialias, (cairo_font_options_t *options, int value), (options, value))
FUNCTION(cairo, void, cairo_font_options_set_hint_style, (cairo_font_options_t *options, int value), (options, value))
FUNCTION(cairo, void, cairo_font_options_set_hint_metrics, (cairo_font_options_t *options, int value), (options, value))

// Pango's fonts
FUNCTION(pangocairo, PangoFontMap *, pango_cairo_font_map_new_for_font_type, (int type), (type))
FUNCTION(pangocairo, void, pango_cairo_context_set_font_options,
    (PangoContext *context, const cairo_font_options_t *options), (context, options))
FUNCTION(pangoft2, void, pango_fc_font_map_set_config, (PangoFontMap *map, FcConfig *config), (map, config))
FUNCTION(pangoft2, void, pango_fc_font_map_config_changed, (PangoFontMap *map), (map))
FUNCTION(pango, PangoContext *, pango_font_map_create_context, (PangoFontMap *map), (map))
FUNCTION(pango, void, pango_context_set_round_glyph_positions, (PangoContext *context, int value), (context, value))
FUNCTION(pango, void, pango_context_set_language, (PangoContext *context, PangoLanguage *language), (context, language))
FUNCTION(pango, void, pango_context_set_base_dir, (PangoContext *context, int direction), (context, direction))
FUNCTION(pango, PangoFontMetrics *, pango_context_get_metrics,
    (PangoContext *context, const PangoFontDescription *font, PangoLanguage *language), (context, font, language))
FUNCTION(pango, int, pango_font_metrics_get_ascent, (PangoFontMetrics *metrics), (metrics))
FUNCTION(pango, int, pango_font_metrics_get_descent, (PangoFontMetrics *metrics), (metrics))
FUNCTION(pango, void, pango_font_metrics_unref, (PangoFontMetrics *metrics), (metrics))
FUNCTION(pango, PangoLanguage *, pango_language_from_string, (const char *name), (name))
FUNCTION(pango, PangoFontDescription *, pango_font_description_new, (void), ())
FUNCTION(pango, void, pango_font_description_free, (PangoFontDescription *font), (font))
FUNCTION(pango, void, pango_font_description_set_family, (PangoFontDescription *font, const char *names), (font, names))
FUNCTION(pango, void, pango_font_description_set_style, (PangoFontDescription *font, int style), (font, style))
FUNCTION(pango, void, pango_font_description_set_weight, (PangoFontDescription *font, int weight), (font, weight))
FUNCTION(pango, void, pango_font_description_set_absolute_size, (PangoFontDescription *font, double size), (font, size))

// Texts
FUNCTION(pango, PangoLayout *, pango_layout_new, (PangoContext *context), (context))
FUNCTION(pango, void, pango_layout_set_text, (PangoLayout *layout, const char *text, int count), (layout, text, count))
FUNCTION(pango, void, pango_layout_set_font_description,
    (PangoLayout *layout, const PangoFontDescription *font), (layout, font))
FUNCTION(pango, void, pango_layout_set_width, (PangoLayout *layout, int width), (layout, width))
FUNCTION(pango, void, pango_layout_set_wrap, (PangoLayout *layout, int wrap), (layout, wrap))
FUNCTION(pango, void, pango_layout_set_ellipsize, (PangoLayout *layout, int place), (layout, place))
FUNCTION(pango, void, pango_layout_set_single_paragraph_mode, (PangoLayout *layout, int value), (layout, value))
FUNCTION(pango, void, pango_layout_set_attributes, (PangoLayout *layout, PangoAttrList *attributes), (layout, attributes))
FUNCTION(pango, int, pango_layout_get_line_count, (PangoLayout *layout), (layout))
FUNCTION(pango, void, pango_layout_set_justify, (PangoLayout *layout, int value), (layout, value))
FUNCTION(pango, void, pango_layout_set_auto_dir, (PangoLayout *layout, int value), (layout, value))
FUNCTION(pango, void, pango_layout_index_to_pos, (PangoLayout *layout, int index, PangoRectangle *place), (layout, index, place))
FUNCTION(pango, PangoLayoutIter *, pango_layout_get_iter, (PangoLayout *layout), (layout))
FUNCTION(pango, void, pango_layout_iter_free, (PangoLayoutIter *iterator), (iterator))
FUNCTION(pango, int, pango_layout_iter_next_line, (PangoLayoutIter *iterator), (iterator))
FUNCTION(pango, PangoLayoutLine *, pango_layout_iter_get_line_readonly, (PangoLayoutIter *iterator), (iterator))
FUNCTION(pango, PangoLayoutLine *, pango_layout_get_line_readonly, (PangoLayout *layout, int index), (layout, index))
FUNCTION(pango, void, pango_layout_line_get_extents,
    (PangoLayoutLine *line, PangoRectangle *ink, PangoRectangle *logical), (line, ink, logical))
FUNCTION(pango, PangoAttrList *, pango_attr_list_new, (void), ())
FUNCTION(pango, void, pango_attr_list_unref, (PangoAttrList *attributes), (attributes))
FUNCTION(pango, void, pango_attr_list_insert, (PangoAttrList *attributes, PangoAttribute *attribute), (attributes, attribute))
FUNCTION(pango, PangoAttribute *, pango_attr_font_desc_new, (const PangoFontDescription *font), (font))
FUNCTION(pango, PangoAttribute *, pango_attr_foreground_new,
    (uint16_t red, uint16_t green, uint16_t blue), (red, green, blue))
FUNCTION(pango, PangoAttribute *, pango_attr_foreground_alpha_new, (uint16_t alpha), (alpha))
FUNCTION(pango, PangoAttribute *, pango_attr_shape_new,
    (const PangoRectangle *ink, const PangoRectangle *logical), (ink, logical))
FUNCTION(pango, PangoAttribute *, pango_attr_letter_spacing_new, (int spacing), (spacing))
FUNCTION(pango, PangoAttribute *, pango_attr_insert_hyphens_new, (int value), (value))
FUNCTION(pango, PangoAttribute *, pango_attr_underline_new, (int underline), (underline))
FUNCTION(pango, PangoAttribute *, pango_attr_strikethrough_new, (int value), (value))
FUNCTION(pangocairo, void, pango_cairo_show_layout_line, (cairo_t *cairo, PangoLayoutLine *line), (cairo, line))
FUNCTION(pangocairo, void, pango_cairo_layout_line_path, (cairo_t *cairo, PangoLayoutLine *line), (cairo, line))
FUNCTION(gobject, void, g_object_unref, (void *object), (object))

// The system's fonts, and those of pages
FUNCTION(fontconfig, FcConfig *, FcInitLoadConfigAndFonts, (void), ())
FUNCTION(fontconfig, void, FcConfigDestroy, (FcConfig *config), (config))
FUNCTION(fontconfig, FcFontSet *, FcConfigGetFonts, (FcConfig *config, int set), (config, set))
FUNCTION(fontconfig, FcStrList *, FcConfigGetFontDirs, (FcConfig *config), (config))
FUNCTION(fontconfig, unsigned char *, FcStrListNext, (FcStrList *list), (list))
FUNCTION(fontconfig, void, FcStrListDone, (FcStrList *list), (list))
FUNCTION(fontconfig, FcFontSet *, FcFontSetCreate, (void), ())
FUNCTION(fontconfig, void, FcFontSetDestroy, (FcFontSet *set), (set))
FUNCTION(fontconfig, int, FcFontSetAdd, (FcFontSet *set, FcPattern *font), (set, font))
FUNCTION(fontconfig, unsigned, FcFreeTypeQueryAll,
    (const unsigned char *file, unsigned id, void *blanks, int *count, FcFontSet *set), (file, id, blanks, count, set))
FUNCTION(fontconfig, int, FcPatternDel, (FcPattern *font, const char *name), (font, name))
FUNCTION(fontconfig, int, FcPatternAddString,
    (FcPattern *font, const char *name, const unsigned char *value), (font, name, value))
FUNCTION(fontconfig, void, FcPatternReference, (FcPattern *font), (font))
FUNCTION(fontconfig, void, FcPatternDestroy, (FcPattern *font), (font))

#undef FUNCTION
#endif

#ifndef PAGEKIT_CCURL_H
#define PAGEKIT_CCURL_H

// curl.h otherwise replaces its variadic functions by type-checking macros.
#define CURL_DISABLE_TYPECHECK
// curl_multi_socket_all is: nothing else runs a transfer that waits for nothing.
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

// The part of libcurl that CurlTransport uses. The library is loaded by `pk_load_curl`, and not linked: with those that it
// needs it takes a third of a program's start, and many programs and commands send no request. Before it is loaded no
// function may be called.

// MARK: Functions

// Swift knows each function by libcurl's name. The linker knows it by another one, so that an app that links libcurl itself
// has the library's functions and not these.
#define PAGEKIT_CURL_FUNCTION(result, name, parameters, arguments) \
  extern result name parameters __asm__("pagekit_" #name) __attribute__((visibility("hidden")));
#include "CurlFunctions.h"
#undef PAGEKIT_CURL_FUNCTION

// MARK: Loading

// Loads the library the first time it is called, from any thread. Returns NULL if every function above is there, and
// otherwise the reason in words, which lives as long as the process.
const char *pk_load_curl(void);

// MARK: Variadic functions

// Swift cannot call C variadics: one function per argument type.

CURLcode pk_setopt_long(CURL *easy, CURLoption option, long value);
CURLcode pk_setopt_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode pk_setopt_string(CURL *easy, CURLoption option, const char *value);
CURLcode pk_setopt_pointer(CURL *easy, CURLoption option, void *value);

typedef size_t (*pk_data_callback)(char *bytes, size_t size, size_t count, void *context);
CURLcode pk_setopt_data_callback(CURL *easy, CURLoption option, pk_data_callback callback);
CURLcode pk_setopt_prereq(CURL *easy, curl_prereq_callback callback);
CURLcode pk_setopt_trailers(CURL *easy, curl_trailer_callback callback);
CURLcode pk_setopt_opened_socket(CURL *easy, curl_sockopt_callback callback);
CURLcode pk_setopt_close_socket(CURL *easy, curl_closesocket_callback callback);

CURLMcode pk_multi_setopt_long(CURLM *multi, CURLMoption option, long value);
CURLMcode pk_multi_setopt_socket(CURLM *multi, curl_socket_callback callback, void *context);
CURLMcode pk_multi_setopt_timer(CURLM *multi, curl_multi_timer_callback callback, void *context);

// The option's value is an int in libcurl, whatever its type is here.
CURLSHcode pk_share_setopt_data(CURLSH *share, CURLSHoption option, curl_lock_data value);
CURLSHcode pk_share_setopt_pointer(CURLSH *share, CURLSHoption option, void *value);
CURLSHcode pk_share_setopt_lock(CURLSH *share, curl_lock_function lock, curl_unlock_function unlock);

CURLcode pk_getinfo_long(CURL *easy, CURLINFO info, long *value);
CURLcode pk_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value);
CURLcode pk_getinfo_pointer(CURL *easy, CURLINFO info, void **value);
CURLcode pk_getinfo_socket(CURL *easy, CURLINFO info, curl_socket_t *value);
CURLcode pk_getinfo_list(CURL *easy, CURLINFO info, struct curl_slist **value);

// MARK: Values

// Macros with casts, which Swift does not import.
static const size_t pk_writefunc_pause = CURL_WRITEFUNC_PAUSE;
static const size_t pk_readfunc_pause = CURL_READFUNC_PAUSE;
static const size_t pk_readfunc_abort = CURL_READFUNC_ABORT;
static const curl_socket_t pk_socket_timeout = CURL_SOCKET_TIMEOUT;
static const long pk_http_version_2tls = CURL_HTTP_VERSION_2TLS;
static const long pk_http_version_1_1 = CURL_HTTP_VERSION_1_1;
static const long pk_http_version_2_0 = CURL_HTTP_VERSION_2_0;

// CURLMsg holds its result in a union.
static inline CURLcode pk_message_result(const CURLMsg *message) { return message->data.result; }

#endif

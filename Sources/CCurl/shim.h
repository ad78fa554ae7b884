#ifndef PAGEKIT_CCURL_H
#define PAGEKIT_CCURL_H

// curl.h otherwise replaces its variadic functions by type-checking macros.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Swift cannot call C variadics: one function per argument type.

static inline CURLcode pk_setopt_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode pk_setopt_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode pk_setopt_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode pk_setopt_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*pk_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode pk_setopt_data_callback(CURL *easy, CURLoption option, pk_data_callback callback) {
  return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode pk_setopt_prereq(CURL *easy, curl_prereq_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode pk_setopt_trailers(CURL *easy, curl_trailer_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_TRAILERFUNCTION, callback);
}

static inline CURLMcode pk_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// The option's value is an int in libcurl, whatever its type is here.
static inline CURLSHcode pk_share_setopt_data(CURLSH *share, CURLSHoption option, curl_lock_data value) {
  return curl_share_setopt(share, option, value);
}
static inline CURLSHcode pk_share_setopt_pointer(CURLSH *share, CURLSHoption option, void *value) {
  return curl_share_setopt(share, option, value);
}
static inline CURLSHcode pk_share_setopt_lock(CURLSH *share, curl_lock_function lock, curl_unlock_function unlock) {
  CURLSHcode code = curl_share_setopt(share, CURLSHOPT_LOCKFUNC, lock);
  return code == CURLSHE_OK ? curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, unlock) : code;
}

static inline CURLcode pk_getinfo_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode pk_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode pk_getinfo_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode pk_getinfo_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode pk_getinfo_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
  return curl_easy_getinfo(easy, info, value);
}

// Macros with casts, which Swift does not import.
static const size_t pk_writefunc_pause = CURL_WRITEFUNC_PAUSE;
static const size_t pk_readfunc_pause = CURL_READFUNC_PAUSE;
static const size_t pk_readfunc_abort = CURL_READFUNC_ABORT;
static const long pk_http_version_2tls = CURL_HTTP_VERSION_2TLS;
static const long pk_http_version_1_1 = CURL_HTTP_VERSION_1_1;
static const long pk_http_version_2_0 = CURL_HTTP_VERSION_2_0;

// CURLMsg holds its result in a union.
static inline CURLcode pk_message_result(const CURLMsg *message) { return message->data.result; }

#endif

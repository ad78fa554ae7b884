// PAGEKIT_CURL_FUNCTION(result, name, parameters, arguments) for each function of libcurl that is called and has a fixed
// number of arguments. Included several times, with another meaning of the macro each time: so it has no guard.

#ifdef PAGEKIT_CURL_FUNCTION
#define FUNCTION PAGEKIT_CURL_FUNCTION

// The library
FUNCTION(CURLcode, curl_global_init, (long flags), (flags))
FUNCTION(char *, curl_version, (void), ())
FUNCTION(curl_version_info_data *, curl_version_info, (CURLversion age), (age))

// Transfers
FUNCTION(CURL *, curl_easy_init, (void), ())
FUNCTION(void, curl_easy_cleanup, (CURL *easy), (easy))
FUNCTION(void, curl_easy_reset, (CURL *easy), (easy))
FUNCTION(CURLcode, curl_easy_pause, (CURL *easy, int directions), (easy, directions))
FUNCTION(const char *, curl_easy_strerror, (CURLcode code), (code))

// The loop of transfers
FUNCTION(CURLM *, curl_multi_init, (void), ())
FUNCTION(CURLMcode, curl_multi_cleanup, (CURLM *multi), (multi))
FUNCTION(CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *easy), (multi, easy))
FUNCTION(CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *easy), (multi, easy))
FUNCTION(CURLMcode, curl_multi_socket_action,
    (CURLM *multi, curl_socket_t socket, int events, int *running), (multi, socket, events, running))
FUNCTION(CURLMcode, curl_multi_socket_all, (CURLM *multi, int *running), (multi, running))
FUNCTION(CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), (multi, left))
FUNCTION(const char *, curl_multi_strerror, (CURLMcode code), (code))

// Cookies
FUNCTION(CURLSH *, curl_share_init, (void), ())
FUNCTION(CURLSHcode, curl_share_cleanup, (CURLSH *share), (share))
FUNCTION(const char *, curl_share_strerror, (CURLSHcode code), (code))

// Lists
FUNCTION(struct curl_slist *, curl_slist_append, (struct curl_slist *list, const char *text), (list, text))
FUNCTION(void, curl_slist_free_all, (struct curl_slist *list), (list))

#undef FUNCTION
#endif

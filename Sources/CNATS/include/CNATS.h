#ifndef PAGEKIT_CNATS_H
#define PAGEKIT_CNATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A connection to NATS with one stream of JetStream, by libnats. The library is loaded when the first connection is made:
// a program that makes none does not need it, and building needs none of its files.
//
// Functions that wait block their thread. Callbacks come from threads of libnats and must not block for long.

typedef struct pk_nats pk_nats;
typedef struct pk_nats_subscription pk_nats_subscription;

typedef enum {
  PK_NATS_OK = 0,
  // libnats is not there: `error` has the reason.
  PK_NATS_UNAVAILABLE,
  // No server answers.
  PK_NATS_AWAY,
  // The key has another revision.
  PK_NATS_CONFLICT,
  // There is no such stream, message or key.
  PK_NATS_NONE,
  // Anything else: `error` has the reason.
  PK_NATS_FAILED,
} pk_nats_result;

// The servers and how they are used. A null pointer stands for none.
typedef struct {
  // URLs such as nats://127.0.0.1:4222 or tls://…, with commas between.
  const char *servers;
  // The name of the connection, for people.
  const char *name;
  // A file with the user's credentials; or a user and a password; or a token.
  const char *credentials, *user, *password, *token;
  // PEM files for TLS.
  const char *authorities, *certificate, *key;
} pk_nats_settings;

// A stream that is made if it is not there.
typedef struct {
  const char *name;
  // A subject of its messages, which may end with ".>".
  const char *subject;
  int64_t replicas;
  // The limits of what is kept: messages, bytes, and nanoseconds; 0 for none.
  int64_t messages, bytes, age;
} pk_nats_stream;

typedef struct {
  // When the stream was made, in nanoseconds since 1970.
  int64_t made;
  // The sequences of the first and the last message; the first is one above the last if there is none.
  uint64_t first, last;
  // When the stream got the last message, in nanoseconds since 1970.
  int64_t time;
} pk_nats_span;

// Where a message is in its stream. All is 0 for a message that no stream keeps.
typedef struct {
  uint64_t sequence;
  // When the stream got it, in nanoseconds since 1970.
  int64_t time;
  // The deliveries are numbered from 1 on; they begin anew where the server has lost its record of the follower.
  uint64_t delivery;
} pk_nats_place;

typedef void (*pk_nats_message)(void *context, pk_nats_place place, const void *bytes, int count);
// No message comes any more.
typedef void (*pk_nats_end)(void *context);
// The connection is made, lost, or made again.
typedef void (*pk_nats_state)(void *context, bool isConnected);

// Makes a connection. It is made again whenever it is lost, also if no server answers at first.
pk_nats_result pk_nats_open(
    pk_nats **nats, const pk_nats_settings *settings, pk_nats_state state, void *context, char *error, size_t room);
// Returns true if the servers have refused the connection for good, so that it is not made again by itself.
bool pk_nats_is_closed(pk_nats *nats);
// Ends the connection. Its subscriptions are to be ended before.
void pk_nats_close(pk_nats *nats);

// Makes the stream, or leaves it as it is.
pk_nats_result pk_nats_make_stream(pk_nats *nats, const pk_nats_stream *stream, char *error, size_t room);
pk_nats_result pk_nats_get_span(
    pk_nats *nats, const char *stream, int64_t milliseconds, pk_nats_span *span, char *error, size_t room);
// Appends a message, and returns when the stream has it.
//
// `id` lets the server drop a message that it has already.
pk_nats_result pk_nats_append(
    pk_nats *nats, const char *subject, const char *id, int64_t milliseconds, const void *bytes, int count,
    uint64_t *sequence, char *error, size_t room);
// The value of a key in a bucket, and its revision. `bytes` is to be freed.
pk_nats_result pk_nats_get_key(
    pk_nats *nats, const char *bucket, const char *key, uint64_t *revision, void **bytes, int *count, char *error,
    size_t room);
// Replaces the value of a key if it has a revision, 0 for a key that is not there. The bucket is made if it is not there.
pk_nats_result pk_nats_replace_key(
    pk_nats *nats, const char *bucket, int replicas, const char *key, uint64_t *revision, const void *bytes, int count,
    char *error, size_t room);

// Calls for each message of a stream from a sequence on, in their order, and for those that come. Calls `end` once, also
// where it fails; then maybe after this function has returned.
pk_nats_result pk_nats_follow(
    pk_nats *nats, const char *stream, const char *subject, uint64_t first, pk_nats_message message, pk_nats_end end,
    void *context, pk_nats_subscription **subscription, char *error, size_t room);
// Calls for each message of a subject that no stream keeps. Calls `end` once, also where it fails; then maybe after this
// function has returned.
pk_nats_result pk_nats_listen(
    pk_nats *nats, const char *subject, pk_nats_message message, pk_nats_end end, void *context,
    pk_nats_subscription **subscription, char *error, size_t room);
// Ends a subscription, and frees it.
void pk_nats_stop(pk_nats_subscription *subscription);
// Sends a message that no stream keeps to all who listen.
pk_nats_result pk_nats_send(
    pk_nats *nats, const char *subject, const void *bytes, int count, char *error, size_t room);

#endif

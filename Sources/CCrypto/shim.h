#ifndef PAGEKIT_CCRYPTO_H
#define PAGEKIT_CCRYPTO_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Options of TLS whose names are macros with arguments.
static const uint64_t pagekit_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t pagekit_no_compression = SSL_OP_NO_COMPRESSION;

#endif

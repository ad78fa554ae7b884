#ifndef PAGEKIT_CCRYPTO_H
#define PAGEKIT_CCRYPTO_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/provider.h>

#endif

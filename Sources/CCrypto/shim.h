/* libcrypto of OpenSSL for Swift: message digests. */
#ifndef OBJSTORE_CCRYPTO_SHIM_H
#define OBJSTORE_CCRYPTO_SHIM_H

#include <openssl/evp.h>

#endif

/*
 * sha256.h
 *		SHA-256 of texts.
 */
#ifndef DMS_SHA256_H
#define DMS_SHA256_H

#include "postgres.h"

#include "common/sha2.h"

extern void Sha256(const char *input, size_t len, uint8 digest[PG_SHA256_DIGEST_LENGTH]);
extern char *Sha256Hex(const char *input, size_t len);
extern int64 Sha256Int64(const char *input, size_t len);

#endif							/* DMS_SHA256_H */

/*
 * hash.h
 *		SHA-256 of texts.
 */
#ifndef DMS_HASH_H
#define DMS_HASH_H

#include "postgres.h"

extern char *Sha256Hex(const char *text, size_t len);
extern int64 Sha256Int64(const char *text, size_t len);

#endif							/* DMS_HASH_H */

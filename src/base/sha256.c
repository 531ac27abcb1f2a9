/*
 * sha256.c
 *		SHA-256 of texts, as bytes, as hexadecimal digits and as a number.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#define PART_SIZE ((size_t) 1024 * 1024)

/* Hash a text by parts, so that a long one can be canceled. */
static bool
HashParts(pg_cryptohash_ctx *context, const char *input, size_t len)
{
	for (size_t at = 0; at < len; at += PART_SIZE)
	{
		CHECK_FOR_INTERRUPTS();
		if (pg_cryptohash_update(context, (const uint8 *) input + at, Min(len - at, PART_SIZE)) < 0)
			return false;
	}
	return true;
}

/* Compute the digest of a text. */
void
Sha256(const char *input, size_t len, uint8 digest[PG_SHA256_DIGEST_LENGTH])
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);

	if (pg_cryptohash_init(context) < 0 || !HashParts(context, input, len) ||
		pg_cryptohash_final(context, digest, PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute SHA-256");
	pg_cryptohash_free(context);
}

/* Returns the SHA-256 of a text in lower-case hexadecimal digits. */
char *
Sha256Hex(const char *input, size_t len)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	char	   *hex = palloc(PG_SHA256_DIGEST_LENGTH * 2 + 1);

	Sha256(input, len, digest);
	hex[hex_encode((const char *) digest, PG_SHA256_DIGEST_LENGTH, hex)] = '\0';
	return hex;
}

/* Returns the first eight bytes of the SHA-256 of a text, big-endian. */
int64
Sha256Int64(const char *input, size_t len)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	uint64		number = 0;

	Sha256(input, len, digest);
	for (int i = 0; i < 8; i++)
		number = (number << 8) | digest[i];
	return (int64) number;
}

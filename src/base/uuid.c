/*
 * uuid.c
 *		UUIDs made from names (v5) and from time (v7).
 */
#include "postgres.h"

#include <sys/time.h>
#include <uuid/uuid.h>

#include "base/uuid.h"
#include "common/cryptohash.h"
#include "common/sha1.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_uuid_v5);
PG_FUNCTION_INFO_V1(dms_uuid_v7);

/* The length of a UUID as text. */
#define UUID_TEXT_LENGTH 36

/* Names with more bytes than this are hashed in parts of this size. */
#define LONG_NAME ((size_t) 1024 * 1024)

/* Number of UUIDs for which random bytes are fetched at a time. */
#define RANDOM_UUIDS 32

/* The counter of UUIDv7 has 12 bits; it starts with the highest one clear. */
#define COUNTER_MAX 0x0fff
#define COUNTER_START_MASK 0x07ff

/* Returns a text as a name for UuidV5(): UTF-8, whatever the encoding of the database. */
char *
UuidName(Datum value)
{
	char	   *string = TextDatumGetCString(value);

	return pg_server_to_any(string, strlen(string), PG_UTF8);
}

/*
 * As UuidV5(), for a name that takes long enough to be canceled.  A short one is left
 * to libuuid, because the first hash of OpenSSL in a session takes half a millisecond.
 */
static void
UuidOfLongName(const unsigned char ns[UUID_LEN], const char *name, size_t len, pg_uuid_t *out)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA1);
	uint8		digest[SHA1_DIGEST_LENGTH];
	bool		good = pg_cryptohash_init(context) >= 0 && pg_cryptohash_update(context, ns, UUID_LEN) >= 0;

	for (size_t at = 0; good && at < len; at += LONG_NAME)
	{
		CHECK_FOR_INTERRUPTS();
		good = pg_cryptohash_update(context, (const uint8 *) name + at, Min(len - at, LONG_NAME)) >= 0;
	}
	if (!good || pg_cryptohash_final(context, digest, sizeof(digest)) < 0)
		elog(ERROR, "could not compute SHA-1");
	pg_cryptohash_free(context);
	memcpy(out->data, digest, UUID_LEN);
	out->data[6] = 0x50 | (out->data[6] & 0x0f);	/* version 5 */
	out->data[8] = 0x80 | (out->data[8] & 0x3f);	/* variant of RFC 4122 */
}

/* Make the UUIDv5 of a name of any length, given as UTF-8. */
void
UuidV5(const unsigned char ns[UUID_LEN], const char *name, size_t len,
	   pg_uuid_t *out)
{
	if (len > LONG_NAME)
		UuidOfLongName(ns, name, len, out);
	else
		uuid_generate_sha1(out->data, ns, name, len);
}

/* Read the system's clock. */
static uint64
MillisecondsSinceEpoch(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (uint64) now.tv_sec * 1000 + now.tv_usec / 1000;
}

/*
 * Advance the session's clock: milliseconds, and a counter within them.
 *
 * The clock never goes back, even if the system's does; a counter that is
 * used up borrows the next millisecond.
 */
static void
NextTick(uint64 *milliseconds, uint16 *counter, uint16 start)
{
	static uint64 last_milliseconds = 0;
	static uint16 last_counter = 0;
	uint64		now = MillisecondsSinceEpoch();

	if (now <= last_milliseconds && last_counter < COUNTER_MAX)
		last_counter++;
	else
	{
		last_milliseconds = Max(now, last_milliseconds + 1);
		last_counter = start & COUNTER_START_MASK;
	}
	*milliseconds = last_milliseconds;
	*counter = last_counter;
}

/*
 * Fill a UUID with random bytes.  They are fetched for many UUIDs at a time: asking for
 * them costs a few microseconds, whatever their number.  Each is used once.
 */
static void
RandomBytes(pg_uuid_t *out)
{
	static unsigned char bytes[RANDOM_UUIDS * UUID_LEN];
	static int	left = 0;

	if (left == 0)
	{
		if (!pg_strong_random(bytes, sizeof(bytes)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
		left = RANDOM_UUIDS;
	}
	left--;
	memcpy(out->data, bytes + left * UUID_LEN, UUID_LEN);
}

/* Make a UUIDv7 that is greater than all that this session made before. */
void
UuidV7(pg_uuid_t *out)
{
	uint64		milliseconds;
	uint16		counter;

	RandomBytes(out);
	NextTick(&milliseconds, &counter, (out->data[6] << 8) | out->data[7]);

	for (int i = 0; i < 6; i++)
		out->data[i] = (unsigned char) (milliseconds >> (40 - 8 * i));
	out->data[6] = 0x70 | (counter >> 8);	/* version 7 */
	out->data[7] = counter & 0xff;
	out->data[8] = 0x80 | (out->data[8] & 0x3f);	/* variant of RFC 4122 */
}

/* dms.uuid_v5(namespace uuid, name text) */
Datum
dms_uuid_v5(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *ns = PG_GETARG_UUID_P(0);
	char	   *name = UuidName(PG_GETARG_DATUM(1));
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	UuidV5(ns->data, name, strlen(name), uuid);
	PG_RETURN_UUID_P(uuid);
}

/* dms.uuid_v7() */
Datum
dms_uuid_v7(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	UuidV7(uuid);
	PG_RETURN_UUID_P(uuid);
}

/*
 * Returns a UUID as 8-4-4-4-12 hexadecimal digits in lower case.  The output function of
 * the type allocates a kilobyte for it, which matters where millions are written.
 */
char *
UuidText(const pg_uuid_t *uuid)
{
	static const char digits[] = "0123456789abcdef";
	char	   *text = palloc(UUID_TEXT_LENGTH + 1);
	char	   *end = text;

	for (int i = 0; i < UUID_LEN; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*end++ = '-';
		*end++ = digits[uuid->data[i] >> 4];
		*end++ = digits[uuid->data[i] & 0x0f];
	}
	*end = '\0';
	return text;
}

/*
 * Read a UUID in the form in which it is written, in upper or lower case;
 * returns false if the string has another form.  The input function of the type
 * accepts other forms, too, and raises an error.
 */
bool
UuidParse(const char *string, pg_uuid_t *uuid)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(string) != sizeof(form) - 1)
		return false;
	for (int i = 0; form[i] != '\0'; i++)
		if (form[i] == '-' ? string[i] != '-' : !isxdigit((unsigned char) string[i]))
			return false;
	*uuid = *DatumGetUUIDP(DirectFunctionCall1(uuid_in, CStringGetDatum(string)));
	return true;
}

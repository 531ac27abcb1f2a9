/*
 * lowercase.c
 *		Lower case that does not depend on locale, collation or library.
 *
 * Identities are hashed in lower case and kept for years, so their lower case
 * must be the same on every server: it comes from a table of our own.  Each
 * character is mapped by itself (Unicode's simple case mapping), without the
 * rules for words and languages.
 */
#include "postgres.h"

#include "base/lowercase.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_lower_invariant);

/* Bytes between two looks for interrupts. */
#define RUN_LENGTH ((size_t) 0x4000)

/* Every step-th character from first to last has its lower case delta away. */
typedef struct LowercaseRange
{
	uint32		first;
	uint32		last;
	uint32		step;
	int32		delta;
} LowercaseRange;

#include "base/lowercase_table.h"

/* Look up the lower case of a character. */
static pg_wchar
LowerCodepoint(pg_wchar c)
{
	int			low = 0;
	int			high = lengthof(lowercase_ranges) - 1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;
		const LowercaseRange *range = &lowercase_ranges[middle];

		if (c < range->first)
			high = middle - 1;
		else if (c > range->last)
			low = middle + 1;
		else if ((c - range->first) % range->step == 0)
			return c + range->delta;
		else
			return c;
	}
	return c;
}

/* Append the lower case of a character; returns its length in s. */
static int
AppendLower(StringInfo out, const char *s, size_t len)
{
	const unsigned char *bytes = (const unsigned char *) s;
	unsigned char buffer[MAX_MULTIBYTE_CHAR_LEN];
	int			size = pg_utf_mblen(bytes);

	if ((size_t) size > len)
		size = (int) len;		/* cut off: nothing to map */
	else if (size > 1)
	{
		unicode_to_utf8(LowerCodepoint(utf8_to_unicode(bytes)), buffer);
		appendBinaryStringInfo(out, (const char *) buffer, pg_utf_mblen(buffer));
		return size;
	}
	appendBinaryStringInfo(out, s, size);
	return size;
}

/*
 * Write the lower case of the ASCII characters that a string begins with; returns their
 * number.
 */
static size_t
LowerAscii(char *out, const char *s, size_t len)
{
	size_t		n = 0;

	while (n < len && !IS_HIGHBIT_SET(s[n]))
	{
		out[n] = s[n] >= 'A' && s[n] <= 'Z' ? s[n] + ('a' - 'A') : s[n];
		n++;
	}
	return n;
}

/* Returns the lower case of a UTF-8 string, terminated by a NUL. */
char *
LowercaseInvariant(const char *s, size_t len)
{
	StringInfoData out;
	size_t		at = 0;

	initStringInfo(&out);
	while (at < len)
	{
		size_t		n;

		CHECK_FOR_INTERRUPTS();
		enlargeStringInfo(&out, (int) (len - at));
		n = LowerAscii(out.data + out.len, s + at, Min(len - at, RUN_LENGTH));
		out.len += (int) n;
		at += n;
		if (at < len && IS_HIGHBIT_SET(s[at]))
			at += AppendLower(&out, s + at, len - at);
	}
	out.data[out.len] = '\0';
	return out.data;
}

/* dms.lower_invariant(value text) */
Datum
dms_lower_invariant(PG_FUNCTION_ARGS)
{
	char	   *value = TextDatumGetCString(PG_GETARG_DATUM(0));
	char	   *lower;

	value = pg_server_to_any(value, strlen(value), PG_UTF8);
	lower = LowercaseInvariant(value, strlen(value));
	lower = pg_any_to_server(lower, strlen(lower), PG_UTF8);
	PG_RETURN_TEXT_P(cstring_to_text(lower));
}

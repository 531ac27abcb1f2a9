/*
 * uuid.c
 *		UUIDs made from names (v5) and from time (v7), and ReferentialIds.
 *
 * A ReferentialId stands for an identity: it is the UUIDv5 of
 * {ProjectName}{ResourceName}{path}={value}#{path}={value}...  Equal
 * identities have equal ids, so that one indexed lookup finds a document by
 * its natural key, however many parts that has.
 */
#include "postgres.h"

#include <sys/time.h>
#include <uuid/uuid.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/report.h"
#include "base/uuid.h"

PG_FUNCTION_INFO_V1(dms_uuid_v5);
PG_FUNCTION_INFO_V1(dms_uuid_v7);
PG_FUNCTION_INFO_V1(dms_referential_id);

/* Between two elements of an identity; paths begin with "$." */
#define ELEMENT_BOUNDARY "#$."

/* The counter of UUIDv7 has 12 bits; it starts with the highest one clear. */
#define COUNTER_MAX 0x0fff
#define COUNTER_START_MASK 0x07ff

const unsigned char ReferentialNamespace[UUID_LEN] = {
	0xed, 0xf1, 0xed, 0xf1, 0x3d, 0xf1, 0x3d, 0xf1,
	0x3d, 0xf1, 0x3d, 0xf1, 0xed, 0xf1, 0xed, 0xf1
};

/* Make the UUIDv5 of a name of any length, given as UTF-8. */
void
UuidV5(const unsigned char ns[UUID_LEN], const char *name, size_t len,
	   pg_uuid_t *out)
{
	uuid_generate_sha1(out->data, ns, name, len);
}

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

/* Make a UUIDv7 that is greater than all that this session made before. */
void
UuidV7(pg_uuid_t *out)
{
	uint64		milliseconds;
	uint16		counter;

	if (!pg_strong_random(out->data, UUID_LEN))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	NextTick(&milliseconds, &counter, (out->data[6] << 8) | out->data[7]);

	for (int i = 0; i < 6; i++)
		out->data[i] = (unsigned char) (milliseconds >> (40 - 8 * i));
	out->data[6] = 0x70 | (counter >> 8);	/* version 7 */
	out->data[7] = counter & 0xff;
	out->data[8] = 0x80 | (out->data[8] & 0x3f);	/* variant of RFC 4122 */
}

/*
 * Could the value be read as the end of one element and the start of another?
 *
 * Two different identities would then have the same name, so such a value
 * cannot be part of an identity.
 */
bool
ReferentialValueIsAmbiguous(const char *value)
{
	return strstr(value, ELEMENT_BOUNDARY) != NULL;
}

/* Make the ReferentialId of an identity, whose elements are in path order. */
void
ReferentialId(const char *project, const char *resource, int n,
			  const char *const *paths, const char *const *values,
			  pg_uuid_t *out)
{
	StringInfoData name;

	initStringInfo(&name);
	appendStringInfoString(&name, project);
	appendStringInfoString(&name, resource);
	for (int i = 0; i < n; i++)
	{
		if (ReferentialValueIsAmbiguous(values[i]))
			ReportError(PROBLEM_ARGUMENT, NULL,
						"the value of \"%s\" contains \"%s\", which would make the identity ambiguous",
						paths[i], ELEMENT_BOUNDARY);
		if (i > 0)
			appendStringInfoChar(&name, '#');
		appendStringInfoString(&name, paths[i]);
		appendStringInfoChar(&name, '=');
		appendStringInfoString(&name, values[i]);
	}
	UuidV5(ReferentialNamespace, name.data, name.len, out);
	pfree(name.data);
}

static Datum
CopyUuidDatum(const pg_uuid_t *uuid)
{
	pg_uuid_t  *copy = palloc(sizeof(pg_uuid_t));

	*copy = *uuid;
	return UUIDPGetDatum(copy);
}

/* The text as a C string in UTF-8, whatever the encoding of the database. */
static char *
TextToUtf8(Datum value)
{
	char	   *string = TextDatumGetCString(value);

	return pg_server_to_any(string, strlen(string), PG_UTF8);
}

/* Get the text of an argument that must be there and not be empty. */
static char *
GetName(FunctionCallInfo fcinfo, int argument, const char *what)
{
	char	   *name = NULL;

	if (!PG_ARGISNULL(argument))
		name = TextToUtf8(PG_GETARG_DATUM(argument));
	if (name == NULL || name[0] == '\0')
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must be given", what);
	return name;
}

/* Get the strings of a one-dimensional array argument without NULLs. */
static char **
GetStrings(FunctionCallInfo fcinfo, int argument, const char *what, int *n)
{
	ArrayType  *array;
	Datum	   *elements;
	char	  **strings;

	if (PG_ARGISNULL(argument))
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must be given", what);
	array = PG_GETARG_ARRAYTYPE_P(argument);
	if (ARR_NDIM(array) > 1)
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must be an array of one dimension", what);
	if (array_contains_nulls(array))
		ReportError(PROBLEM_ARGUMENT, NULL, "%s must not contain NULL", what);
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, n);
	strings = palloc(sizeof(char *) * (*n + 1));
	for (int i = 0; i < *n; i++)
		strings[i] = TextToUtf8(elements[i]);
	return strings;
}

/* dms.uuid_v5(namespace uuid, name text) */
Datum
dms_uuid_v5(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *ns = PG_GETARG_UUID_P(0);
	char	   *name = TextToUtf8(PG_GETARG_DATUM(1));
	pg_uuid_t	uuid;

	UuidV5(ns->data, name, strlen(name), &uuid);
	return CopyUuidDatum(&uuid);
}

/* dms.uuid_v7() */
Datum
dms_uuid_v7(PG_FUNCTION_ARGS)
{
	pg_uuid_t	uuid;

	UuidV7(&uuid);
	return CopyUuidDatum(&uuid);
}

/* dms.referential_id(project text, resource text, paths text[], vals text[]) */
Datum
dms_referential_id(PG_FUNCTION_ARGS)
{
	char	   *project = GetName(fcinfo, 0, "project");
	char	   *resource = GetName(fcinfo, 1, "resource");
	int			npaths;
	int			nvalues;
	char	  **paths = GetStrings(fcinfo, 2, "paths", &npaths);
	char	  **values = GetStrings(fcinfo, 3, "vals", &nvalues);
	pg_uuid_t	uuid;

	if (npaths != nvalues)
		ReportError(PROBLEM_ARGUMENT, NULL,
					"paths and vals must have the same length, not %d and %d",
					npaths, nvalues);
	if (npaths == 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "an identity has at least one path");
	for (int i = 0; i < npaths; i++)
	{
		if (paths[i][0] == '\0')
			ReportError(PROBLEM_ARGUMENT, NULL, "a path must not be empty");
	}
	ReferentialId(project, resource, npaths, (const char *const *) paths,
				  (const char *const *) values, &uuid);
	return CopyUuidDatum(&uuid);
}

/* A UUID as it is written: 8-4-4-4-12 hexadecimal digits in lower case. */
char *
UuidText(const pg_uuid_t *uuid)
{
	return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid)));
}

/*
 * Read a UUID in the form in which we write it, in any case.  The type's own input
 * function takes other forms, too, and raises an error.
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

/*
 * referentialid.c
 *		ReferentialIds: UUIDs that stand for identities.
 *
 * A ReferentialId is the UUIDv5 of
 * {ProjectName}{ResourceName}{path}={value}#{path}={value}...  Equal identities
 * have equal ids, so that one indexed lookup finds a document by its natural
 * key, however many parts that has.
 */
#include "postgres.h"

#include "base/referentialid.h"
#include "base/report.h"
#include "base/uuid.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"

PG_FUNCTION_INFO_V1(dms_referential_id);

/* Between two elements of an identity; paths begin with "$." */
#define ELEMENT_BOUNDARY "#$."

/* edf1edf1-3df1-3df1-3df1-3df1edf1edf1: the namespace of all ReferentialIds. */
static const unsigned char namespace_of_ids[UUID_LEN] = {
	0xed, 0xf1, 0xed, 0xf1, 0x3d, 0xf1, 0x3d, 0xf1,
	0x3d, 0xf1, 0x3d, 0xf1, 0xed, 0xf1, 0xed, 0xf1
};

/*
 * Returns true if the value could be read as the end of one element and the
 * start of another.  Two different identities would then have the same name, so
 * such a value cannot be part of an identity.
 */
bool
ReferentialIdValueIsAmbiguous(const char *value)
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
		CHECK_FOR_INTERRUPTS();
		if (ReferentialIdValueIsAmbiguous(values[i]))
			ReportError(PROBLEM_ARGUMENT, NULL,
						"the value of \"%s\" contains \"%s\", which would make the identity ambiguous",
						paths[i], ELEMENT_BOUNDARY);
		if (i > 0)
			appendStringInfoChar(&name, '#');
		appendStringInfoString(&name, paths[i]);
		appendStringInfoChar(&name, '=');
		appendStringInfoString(&name, values[i]);
	}
	UuidV5(namespace_of_ids, name.data, name.len, out);
	pfree(name.data);
}

/* Get the text of an argument that must be there and not be empty. */
static char *
GetName(FunctionCallInfo fcinfo, int argument, const char *what)
{
	char	   *name = NULL;

	if (!PG_ARGISNULL(argument))
		name = UuidName(PG_GETARG_DATUM(argument));
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
		strings[i] = UuidName(elements[i]);
	return strings;
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
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	if (npaths != nvalues)
		ReportError(PROBLEM_ARGUMENT, NULL,
					"paths and vals must have the same length, not %d and %d",
					npaths, nvalues);
	if (npaths == 0)
		ReportError(PROBLEM_ARGUMENT, NULL, "an identity has at least one path");
	for (int i = 0; i < npaths; i++)
		if (paths[i][0] == '\0')
			ReportError(PROBLEM_ARGUMENT, NULL, "a path must not be empty");
	ReferentialId(project, resource, npaths, (const char *const *) paths,
				  (const char *const *) values, uuid);
	PG_RETURN_UUID_P(uuid);
}

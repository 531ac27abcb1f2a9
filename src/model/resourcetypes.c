/*
 * resourcetypes.c
 *		The numbers and names of resources: rows of dms.ResourceType.
 *
 * Rows about single documents identify the resource by a number instead of two
 * names.  The number is a hash of the names, so it is the same in every store, and
 * sessions compute it without reading the table.  A deploy refuses resources whose
 * numbers are equal.
 *
 * This module has all statements on the table.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/statement.h"
#include "mb/pg_wchar.h"
#include "model/resourcetypes.h"

/* Returns the number of a resource. */
int32
ResourceTypeId(const char *project, const char *resource)
{
	char	   *name = psprintf("%s:%s", project, resource);
	int32		id = (int32) (Sha256Int64(name, strlen(name)) >> 32);

	pfree(name);
	return id;
}

/* Returns true if a character may be part of the name of a type. */
static bool
IsPlain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/*
 * Returns the name of a resource as one word, which can be a part of a URN.  Each
 * character that a URN must not have becomes a hyphen.
 */
char *
ResourceTypeName(const char *project, const char *resource)
{
	char	   *full = psprintf("%s.%s", project, resource);
	char	   *name = palloc(strlen(full) + 1);
	int			length = 0;

	for (const char *c = full; *c != '\0'; c += pg_mblen(c))
		name[length++] = IsPlain(*c) ? *c : '-';
	name[length] = '\0';
	return name;
}

/* Insert the rows of resources. */
void
ResourceTypesInsert(const char *const *projects, const char *const *resources, int n)
{
	Oid			types[] = {INT4ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID};
	Datum		values[lengthof(types)];
	Datum	   *ids = palloc(sizeof(Datum) * Max(n, 1));
	const char **names = palloc(sizeof(char *) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		ids[i] = Int32GetDatum(ResourceTypeId(projects[i], resources[i]));
		names[i] = ResourceTypeName(projects[i], resources[i]);
	}
	values[0] = DatumArray(n, ids, NULL, INT4OID);
	values[1] = DatumTextArray(n, projects);
	values[2] = DatumTextArray(n, resources);
	values[3] = DatumTextArray(n, names);
	(void) StatementExecuteWithArgs("INSERT INTO dms.ResourceType (ResourceTypeId, ProjectName, ResourceName, ResourceType)"
									" SELECT * FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2),"
									" pg_catalog.unnest($3), pg_catalog.unnest($4))",
									lengthof(types), types, values, false);
}

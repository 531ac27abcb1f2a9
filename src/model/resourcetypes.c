/*
 * resourcetypes.c
 *		The numbers and names of resources: rows of dms.ResourceType.
 *
 * Rows about single documents identify the resource by a number instead of two
 * names.  The number is a hash of the names, so it is the same in every store, and
 * sessions compute it without reading the table.  A deploy refuses resources whose
 * numbers are equal.  The options of a resource are in the same row.
 *
 * This module has all statements on the table.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "catalog/pg_type.h"
#include "engine/coresql.h"
#include "engine/datums.h"
#include "engine/keyscan.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "mb/pg_wchar.h"
#include "model/resourcetypes.h"
#include "utils/builtins.h"

static const char *const type_columns[] = {"resourcetypeid", "options", "resourcetype", "projectname", "resourcename"};
static const Oid type_types[] = {INT4OID, JSONBOID, TEXTOID, TEXTOID, TEXTOID};
static KeyedTable resource_types =
{
	.schema = "dms",.name = "resourcetype", KEYED_COLUMNS(type_columns, type_types),.nkeys = 1
};

static const char *const urn_columns[] = {"resourcetypeid", "resourcetype"};
static const Oid urn_types[] = {INT4OID, TEXTOID};
static KeyedTable types_by_id =
{
	.schema = "dms",.name = "resourcetype", KEYED_COLUMNS(urn_columns, urn_types),.nkeys = 1
};

static const char *const name_columns[] = {"resourcetype", "resourcetypeid"};
static const Oid name_types[] = {TEXTOID, INT4OID};
static KeyedTable ids_by_type =
{
	.schema = "dms",.name = "resourcetype", KEYED_COLUMNS(name_columns, name_types),.nkeys = 1
};

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

/*
 * Returns the type of a resource with this number, as it is part of URNs, in the active
 * snapshot; NULL if none has it.
 */
char *
ResourceTypeRead(int32 id)
{
	Datum		key = Int32GetDatum(id);
	StoredRows	rows;

	KeyScanRead(&types_by_id, &key, &rows);
	if (rows.nrows == 0)
		return NULL;
	if (DatumGetInt32(rows.values[0]) != id)
		ResultRefuse("a row that it was not asked for");
	return TextDatumGetCString(rows.values[1]);
}

/* Look up the number of a type, in the active snapshot; returns false if there is none. */
bool
ResourceTypeFind(const char *type, int32 *id)
{
	Datum		key = CStringGetTextDatum(type);
	StoredRows	rows;

	KeyScanRead(&ids_by_type, &key, &rows);
	if (rows.nrows == 0)
		return false;
	*id = DatumGetInt32(rows.values[1]);
	return true;
}

/* Insert the rows of resources that have none. */
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
									" pg_catalog.unnest($3), pg_catalog.unnest($4))"
									" ON CONFLICT (ProjectName, ResourceName) DO NOTHING",
									lengthof(types), types, values, false);
}

/*
 * Read the options of a resource in the active snapshot, and its name as one word
 * unless that is NULL.  Returns NULL if the resource is not recorded.
 */
Jsonb *
ResourceTypeOptions(int32 id, char **name)
{
	Datum		key = Int32GetDatum(id);
	StoredRows	rows;

	KeyScanRead(&resource_types, &key, &rows);
	if (rows.nrows == 0)
		return NULL;
	if (name != NULL)
		*name = TextDatumGetCString(rows.values[2]);
	return DatumGetJsonbP(rows.values[1]);
}

/* Read the names of a resource in the active snapshot; returns false if it is not recorded. */
bool
ResourceTypeNames(int32 id, char **project, char **resource)
{
	Datum		key = Int32GetDatum(id);
	StoredRows	rows;

	KeyScanRead(&resource_types, &key, &rows);
	if (rows.nrows == 0)
		return false;
	*project = TextDatumGetCString(rows.values[3]);
	*resource = TextDatumGetCString(rows.values[4]);
	return true;
}

/* Replace the options of a resource. */
void
ResourceTypeSetOptions(int32 id, Jsonb *options)
{
	Oid			types[] = {INT4OID, JSONBOID};
	Datum		values[] = {Int32GetDatum(id), JsonbPGetDatum(options)};

	if (StatementExecuteWithArgs("UPDATE dms.ResourceType SET Options = $2, UpdatedAt = pg_catalog.now()"
								 " WHERE ResourceTypeId OPERATOR(pg_catalog.=) $1",
								 lengthof(types), types, values, false) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the resource is not recorded in dms.ResourceType"),
				 errhint("dms.repair() records it.")));
}

/* Give a resource another name in URNs. */
void
ResourceTypeRename(int32 id, const char *name)
{
	Oid			types[] = {INT4OID, TEXTOID};
	Datum		values[] = {Int32GetDatum(id), CStringGetTextDatum(name)};

	(void) StatementExecuteWithArgs("UPDATE dms.ResourceType SET ResourceType = $2, UpdatedAt = pg_catalog.now()"
									" WHERE ResourceTypeId OPERATOR(pg_catalog.=) $1"
									" AND ResourceType OPERATOR(pg_catalog.<>) $2",
									lengthof(types), types, values, false);
}

/* Returns true if a resource other than this one has the name in URNs. */
bool
ResourceTypeIsTaken(const char *name, int32 except)
{
	Oid			types[] = {INT4OID, TEXTOID};
	Datum		values[] = {Int32GetDatum(except), CStringGetTextDatum(name)};

	return StatementExecuteWithArgs("SELECT FROM dms.ResourceType WHERE ResourceTypeId OPERATOR(pg_catalog.<>) $1"
									" AND ResourceType OPERATOR(pg_catalog.=) $2",
									lengthof(types), types, values, false) > 0;
}

/* Returns the numbers of the resources that have unique keys, in the active snapshot. */
int32 *
ResourceTypesWithUniqueKeys(int *n)
{
	uint64		found = StatementExecuteWithArgs("SELECT ResourceTypeId FROM dms.ResourceType"
												 " WHERE Options OPERATOR(pg_catalog.?) 'uniqueKeys' ORDER BY 1",
												 0, NULL, NULL, false);
	int32	   *ids = palloc(sizeof(int32) * Max(found, 1));

	for (uint64 i = 0; i < found; i++)
		ids[i] = ResultInt32(i, 1);
	*n = (int) found;
	return ids;
}

/* Returns true if a resource other than this one has the option "history". */
bool
ResourceTypesHaveHistory(int32 except)
{
	Oid			types[] = {INT4OID};
	Datum		values[] = {Int32GetDatum(except)};

	return StatementExecuteWithArgs("SELECT FROM dms.ResourceType WHERE ResourceTypeId OPERATOR(pg_catalog.<>) $1"
									" AND Options OPERATOR(pg_catalog.@>) '{\"history\": true}' LIMIT 1",
									lengthof(types), types, values, false) > 0;
}

/* Options of resources whose versions need not be retained for ever. */
#define HAS_RETENTION_SQL "Options OPERATOR(pg_catalog.?|) ARRAY['retainVersions', 'retainFor']"

/* Returns true if versions of any resource need not be retained for ever. */
bool
ResourceTypesHaveRetention(void)
{
	return StatementExecuteWithArgs("SELECT FROM dms.ResourceType WHERE " HAS_RETENTION_SQL " LIMIT 1",
									0, NULL, NULL, false) > 0;
}

/*
 * Read what the resources retain of their versions, in ascending order of their numbers.
 * Result: number, how many versions, and since when; NULL where that does not matter.
 */
uint64
ResourceTypesReadRetention(void)
{
	return StatementExecuteWithArgs("SELECT ResourceTypeId,"
									" (Options OPERATOR(pg_catalog.->>) 'retainVersions')::pg_catalog.int8,"
									" pg_catalog.now() OPERATOR(pg_catalog.-)"
									" (Options OPERATOR(pg_catalog.->>) 'retainFor')::pg_catalog.interval"
									" FROM dms.ResourceType WHERE " HAS_RETENTION_SQL " ORDER BY ResourceTypeId",
									0, NULL, NULL, false);
}

#define CHANGED_TYPES_SQL(table) \
	"SELECT t.ResourceTypeId, t.ProjectName::pg_catalog.text, t.ResourceName::pg_catalog.text" \
	" FROM dms.ResourceType AS t" RESOURCE_MODEL_LEFT_JOIN_SQL("m", "t") \
	" WHERE t.ResourceTypeId OPERATOR(pg_catalog.=) $2 OR EXISTS (SELECT FROM " table " AS c" \
	" WHERE c.ResourceTypeId OPERATOR(pg_catalog.=) t.ResourceTypeId AND c.ChangeVersion OPERATOR(pg_catalog.>) $1)" \
	" ORDER BY m.LoadOrder, t.ProjectName COLLATE pg_catalog.\"C\", t.ResourceName COLLATE pg_catalog.\"C\""

static const Oid changed_types[] = {INT8OID, INT4OID};

static Statement find_changed_documents =
{
	.sql = CHANGED_TYPES_SQL("dms.DocumentChange"),.nargs = 2,.argtypes = changed_types
};
static Statement find_tracked =
{
	.sql = CHANGED_TYPES_SQL("dms.TrackedChange"),.nargs = 2,.argtypes = changed_types
};

/*
 * Find the resources that have changes, or deletes and changes of keys, above a number,
 * and one more, each before those that refer to it.  Result: number, project, resource.
 */
uint64
ResourceTypesChanged(bool documents, int64 after, int32 including)
{
	Datum		values[] = {Int64GetDatum(after), Int32GetDatum(including)};

	return StatementRun(documents ? &find_changed_documents : &find_tracked, values, NULL, true, 0);
}

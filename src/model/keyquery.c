/*
 * keyquery.c
 *		Statements that read the keys of documents as JSON.
 *
 * Those who follow the store learn of deleted documents and of changed keys, and know
 * documents by their keys: {"schoolId":5,"sessionName":"S"}.  The names are those of the
 * query fields, so that they are the same as in filters, and the values are written as
 * in documents.
 *
 * The trigger on dms.Document, which must work without the library, uses such a
 * statement.  The library reads keys without one (documentkeys.c), and writes the same
 * texts: the names are made here for both.  So equal keys are equal texts.
 */
#include "postgres.h"

#include "model/equalpaths.h"
#include "model/jsonwrite.h"
#include "model/keyquery.h"
#include "utils/builtins.h"

/* Append "FROM root AS j0 LEFT JOIN ..."; a row that is missing gives NULLs. */
void
KeyQueryAppendFrom(StringInfo sql, const ProjectionModel *projection)
{
	for (int i = 0; i < projection->njoins; i++)
	{
		const JoinModel *join = &projection->joins[i];

		appendStringInfo(sql, "%s%s AS j%d", i == 0 ? " FROM " : " LEFT JOIN ",
						 quote_qualified_identifier(join->schema, join->table), i);
		if (i > 0)
			appendStringInfo(sql, " ON j%d.documentid OPERATOR(pg_catalog.=) j%d.%s",
							 i, join->from, quote_identifier(join->from_column));
	}
}

/* Returns a path without its root, as a name: "$.a.b" becomes "a.b". */
static const char *
PathAsName(const char *path)
{
	return strncmp(path, "$.", 2) == 0 ? path + 2 : path;
}

/*
 * Returns the name of a value of the key; NULL if an earlier value is always the same.
 * Two other values may have one query field; the second is called by its path then.
 */
static const char *
NameOf(const ResourceModel *model, int value)
{
	const ProjectionModel *projection = &model->projections[0];
	const char *path = projection->values[value].path;
	const char *name = EqualPathsFieldName(model, path);
	bool		taken = false;

	for (int i = 0; i < value; i++)
	{
		if (strcmp(EqualPathsFieldName(model, projection->values[i].path), name) != 0)
			continue;
		if (EqualPathsAlways(model, projection->values[i].path, path))
			return NULL;
		taken = true;
	}
	return taken ? PathAsName(path) : name;
}

/* Returns an expression that is the column in the form in which to_json() writes it as documents do. */
static char *
ColumnToWrite(const char *column, ValueType type)
{
	switch (type)
	{
		case VALUE_TEXT:
			return psprintf("%s::pg_catalog.text", column);
		case VALUE_NUMERIC:
			return psprintf("pg_catalog.trim_scale(%s)", column);
		case VALUE_TIMESTAMP:
			return psprintf("(pg_catalog.rtrim(pg_catalog.rtrim(pg_catalog.to_char(pg_catalog.timezone('UTC', %s),"
							" 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), '0'), '.') OPERATOR(pg_catalog.||) 'Z')", column);
		default:
			return pstrdup(column);
	}
}

/* Returns an expression that is the column as text, as documents have it, whatever the settings are. */
char *
KeyQueryText(const char *column, ValueType type)
{
	if (type == VALUE_TEXT)
		return ColumnToWrite(column, type);
	return psprintf("(pg_catalog.to_json(%s) OPERATOR(pg_catalog.#>>) '{}')", ColumnToWrite(column, type));
}

/*
 * Returns what precedes the value of a member in the text of a key, with the brace or comma;
 * NULL if the name is.
 */
static char *
MemberStart(bool first, const char *name)
{
	StringInfoData out;

	if (name == NULL)
		return NULL;
	initStringInfo(&out);
	appendStringInfoChar(&out, first ? '{' : ',');
	JsonWriteString(&out, name, strlen(name));
	appendStringInfoChar(&out, ':');
	return out.data;
}

/*
 * Returns what precedes each value of the identity in the text of a key; NULL for those
 * that are not part of it.  The identity of a descriptor is in two columns, which are
 * called what KEY_NAMESPACE and KEY_CODE_VALUE say.
 */
char **
KeyQueryMembers(const ResourceModel *model)
{
	int			nvalues = model->kind == RESOURCE_DESCRIPTOR ? KEY_DESCRIPTOR_MEMBERS : model->projections[0].nvalues;
	char	  **members = palloc(sizeof(char *) * Max(nvalues, 1));

	if (model->kind == RESOURCE_DESCRIPTOR)
	{
		members[KEY_NAMESPACE] = MemberStart(true, "namespace");
		members[KEY_CODE_VALUE] = MemberStart(false, "codeValue");
		return members;
	}
	for (int i = 0; i < nvalues; i++)
		members[i] = MemberStart(i == 0, NameOf(model, i));
	return members;
}

/* Append a member of the key, with what precedes its value. */
static void
AppendMember(StringInfo sql, const char *start, const char *column, ValueType type)
{
	appendStringInfo(sql, "%s, COALESCE(pg_catalog.to_json(%s)::pg_catalog.text, 'null'), ",
					 quote_literal_cstr(start), ColumnToWrite(column, type));
}

/*
 * Returns the statement that reads the ids and keys of the documents of a resource, to
 * be followed by a condition on the root, j0.
 */
char *
KeyQuerySql(const ResourceModel *model)
{
	const ProjectionModel *projection = &model->projections[0];
	char	  **members = KeyQueryMembers(model);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT j0.documentid, pg_catalog.concat(");
	if (model->kind == RESOURCE_DESCRIPTOR)
	{
		AppendMember(&sql, members[KEY_NAMESPACE], "j0.namespace", VALUE_TEXT);
		AppendMember(&sql, members[KEY_CODE_VALUE], "j0.codevalue", VALUE_TEXT);
		appendStringInfoString(&sql, "'}')::pg_catalog.json FROM dms.descriptor AS j0");
		return sql.data;
	}
	for (int i = 0; i < projection->nvalues; i++)
	{
		const ProjectedModel *value = &projection->values[i];

		if (members[i] != NULL)
			AppendMember(&sql, members[i], psprintf("j%d.%s", value->join, quote_identifier(value->column)), value->type);
	}
	appendStringInfoString(&sql, "'}')::pg_catalog.json");
	KeyQueryAppendFrom(&sql, projection);
	return sql.data;
}

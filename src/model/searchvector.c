/*
 * searchvector.c
 *		What documents are searched by: the option "search" as SQL.
 *
 * The index and the queries must have the same expression, or the planner does not see
 * that one serves the other.  Both take it from here.  It is also the one that a client
 * would write, so that hand-written queries can use the index, too.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "model/searchvector.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#define CATALOG_SCHEMA "pg_catalog"
#define DEFAULT_CONFIGURATION "english"

/*
 * Split the name of a text search configuration, which is one of PostgreSQL's own unless
 * a schema is named: the search_path of a session must not decide.  Returns false if it
 * is no name, or one of a schema that belongs to a session.
 */
static bool
SplitName(const char *text, char **schema, char **name)
{
	List	   *parts = NIL;

	if (!SplitIdentifierString(pstrdup(text), '.', &parts) || parts == NIL || list_length(parts) > 2)
		return false;
	*name = llast(parts);
	*schema = list_length(parts) == 2 ? linitial(parts) : CATALOG_SCHEMA;
	return strncmp(*schema, "pg_", 3) != 0 || strcmp(*schema, CATALOG_SCHEMA) == 0;
}

/* Returns a text search configuration; InvalidOid if there is none of that name. */
static Oid
FindConfiguration(char *schema, char *name)
{
	return get_ts_config_oid(list_make2(makeString(schema), makeString(name)), true);
}

/* Take the name of a text search configuration that exists. */
bool
SearchVectorTakeConfiguration(JsonbValue *value)
{
	char	   *schema;
	char	   *name;
	const char *stored;

	if (value->type != jbvString ||
		!SplitName(pnstrdup(value->val.string.val, value->val.string.len), &schema, &name) ||
		!OidIsValid(FindConfiguration(schema, name)))
		return false;
	stored = strcmp(schema, CATALOG_SCHEMA) == 0 ? quote_identifier(name) : quote_qualified_identifier(schema, name);
	value->val.string.val = pstrdup(stored);
	value->val.string.len = strlen(stored);
	return true;
}

/* Take the name of an index. */
bool
SearchVectorTakeIndex(JsonbValue *value)
{
	return value->type == jbvString && value->val.string.len > 0 && value->val.string.len < NAMEDATALEN;
}

/* Read how documents can be searched from the options of their resource. */
void
SearchVectorRead(Jsonb *options, const ResourceModel *model, SearchVector *vector)
{
	JsonbValue	value;
	const char *text = DEFAULT_CONFIGURATION;
	char	   *schema;
	char	   *name;

	vector->name = NULL;
	vector->configuration = NULL;
	vector->ncolumns = model->kind == RESOURCE_DESCRIPTOR ? 0 :
		OptionPathColumns(options, OPTION_SEARCH, model, vector->columns);
	if (vector->ncolumns == 0)
		return;
	if (OptionPathFind(options, OPTION_SEARCH_CONFIGURATION, &value) && value.type == jbvString)
		text = pnstrdup(value.val.string.val, value.val.string.len);

	if (!SplitName(text, &schema, &name))
	{
		vector->ncolumns = 0;
		return;
	}
	vector->name = quote_qualified_identifier(schema, name);
	vector->configuration = psprintf("%s::pg_catalog.regconfig", quote_literal_cstr(vector->name));
}

/*
 * Returns the text search configuration of a resource.  It need not be the store owner's,
 * so it may be gone, or renamed: then InvalidOid is returned.
 */
Oid
SearchVectorConfiguration(const SearchVector *vector)
{
	char	   *schema;
	char	   *name;

	return SplitName(vector->name, &schema, &name) ? FindConfiguration(schema, name) : InvalidOid;
}

/*
 * The words of a document, of type tsvector, in terms of the columns of its root table.
 * The prefix is that of their names, such as "t.".
 */
char *
SearchVectorSql(const SearchVector *vector, const ResourceModel *model, const char *prefix)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "pg_catalog.to_tsvector(%s, ", vector->configuration);
	for (int i = 0; i < vector->ncolumns; i++)
	{
		const char *name = quote_identifier(model->tables[0].columns[vector->columns[i]].name);

		if (vector->ncolumns == 1)
			appendStringInfo(&sql, "%s%s", prefix, name);
		else
			appendStringInfo(&sql, "%sCOALESCE(%s%s, '')", i > 0 ? " OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) " : "",
							 prefix, name);
	}
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

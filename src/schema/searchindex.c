/*
 * searchindex.c
 *		The index of a resource that can be searched.
 *
 * An index is recognized by what it does, not by its name.  So an owner can build it
 * beside writers, by CREATE INDEX CONCURRENTLY, before setting the option.  Expressions
 * are compared as PostgreSQL stores them: evaluating those of other indexes would run
 * their functions.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "engine/store.h"
#include "model/searchvector.h"
#include "nodes/parsenodes.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "schema/naming.h"
#include "schema/searchindex.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* An index that was found. */
typedef struct FoundIndex
{
	Oid			oid;
	char	   *schema;
	char	   *name;
	bool		valid;
} FoundIndex;

/* Parse an expression over the columns of a table. */
static Node *
ParseExpression(Relation table, const char *sql)
{
	List	   *raw = raw_parser(psprintf("SELECT %s", sql), RAW_PARSE_DEFAULT);
	SelectStmt *select = castNode(SelectStmt, linitial_node(RawStmt, raw)->stmt);
	ParseState *state = make_parsestate(NULL);
	ParseNamespaceItem *item = addRangeTableEntryForRelation(state, table, AccessShareLock, NULL, false, true);
	Node	   *expression;

	addNSItemToQuery(state, item, false, true, true);
	expression = transformExpr(state, linitial_node(ResTarget, select->targetList)->val, EXPR_KIND_INDEX_EXPRESSION);
	assign_expr_collations(state, expression);
	free_parsestate(state);
	return expression;
}

/* Returns true if an index has one key, which is this expression, of all rows, in a GIN index. */
static bool
IsWanted(Relation index, const Node *expression)
{
	HeapTuple	tuple = index->rd_indextuple;
	bool		isnull;
	Datum		stored;
	List	   *expressions;

	if (index->rd_rel->relam != GIN_AM_OID || index->rd_index->indnatts != 1 || index->rd_index->indkey.values[0] != 0 ||
		!heap_attisnull(tuple, Anum_pg_index_indpred, NULL) ||
		index->rd_opfamily[0] != get_opclass_family(GetDefaultOpClass(TSVECTOROID, GIN_AM_OID)))
		return false;
	stored = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indexprs, &isnull);
	if (isnull)
		return false;
	expressions = stringToNode(TextDatumGetCString(stored));
	return list_length(expressions) == 1 && equal(linitial(expressions), expression);
}

/* Find the index of a table that serves searches; a valid one if there is one. */
static bool
FindIndex(Relation table, const ResourceModel *model, const SearchVector *vector, FoundIndex *found)
{
	const Node *expression = ParseExpression(table, SearchVectorSql(vector, model, ""));
	ListCell   *cell;

	found->oid = InvalidOid;
	found->valid = false;
	foreach(cell, RelationGetIndexList(table))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (!found->valid && IsWanted(index, expression))
		{
			found->oid = RelationGetRelid(index);
			found->schema = get_namespace_name(RelationGetNamespace(index));
			found->name = pstrdup(RelationGetRelationName(index));
			found->valid = index->rd_index->indisvalid;
		}
		index_close(index, AccessShareLock);
	}
	return OidIsValid(found->oid);
}

/* Returns the name that the index is to have; *chosen is set if an option says so. */
static char *
WantedName(const ResourceModel *model, Jsonb *options, bool *chosen)
{
	JsonbValue	value;

	*chosen = OptionPathFind(options, OPTION_SEARCH_INDEX, &value) && SearchVectorTakeIndex(&value);
	if (*chosen)
		return pnstrdup(value.val.string.val, value.val.string.len);
	return NamePhysical(psprintf("%s_Search_IX", model->tables[0].title));
}

/* Returns true if two ways of searching need the same index. */
static bool
SameVector(const SearchVector *left, const SearchVector *right)
{
	return left->ncolumns == right->ncolumns &&
		memcmp(left->columns, right->columns, sizeof(int) * left->ncolumns) == 0 &&
		(left->ncolumns == 0 || strcmp(left->configuration, right->configuration) == 0);
}

/* Refuse a name that something else has, unless that is dropped. */
static void
CheckName(const ResourceModel *model, const char *name, const FoundIndex *dropped, Problem *problem)
{
	Oid			taken = get_relname_relid(name, get_namespace_oid(model->tables[0].schema, false));

	if (problem != NULL && OidIsValid(taken) && taken != dropped->oid)
		ProblemNote(problem, "\"" OPTION_SEARCH_INDEX "\": the name \"%s\" in the schema \"%s\" is taken by something else, or by an index that is not valid.",
					name, model->tables[0].schema);
}

/* Returns the statement that makes the index that is there the one that is wanted; NULL if it is. */
static char *
AdoptIndex(const ResourceModel *model, const FoundIndex *found, const char *name, Problem *problem)
{
	FoundIndex	none = {0};

	if (strcmp(found->name, name) == 0)
		return NULL;
	CheckName(model, name, &none, problem);
	return psprintf("ALTER INDEX %s RENAME TO %s", quote_qualified_identifier(found->schema, found->name), quote_identifier(name));
}

/* Returns the statement that creates the index. */
static char *
CreateIndex(const ResourceModel *model, const SearchVector *vector, const char *name)
{
	return psprintf("CREATE INDEX %s ON %s USING gin (%s)", quote_identifier(name),
					quote_qualified_identifier(model->tables[0].schema, model->tables[0].name),
					SearchVectorSql(vector, model, ""));
}

/* Returns true if there is the text search configuration; otherwise no index can be made or recognized. */
static bool
HasConfiguration(const SearchVector *vector, Problem *problem)
{
	if (vector->ncolumns == 0)
		return false;
	if (OidIsValid(SearchVectorConfiguration(vector)))
		return true;
	if (problem != NULL)
		ProblemNote(problem, "\"" OPTION_SEARCH_CONFIGURATION "\": there is no text search configuration %s.", vector->name);
	return false;
}

/*
 * Returns the statements that are to be run if the options of a resource change, or to
 * get what options need that have not changed.  A name that is taken, and a text search
 * configuration that does not exist any more, are added to the problem, unless that is
 * NULL.
 */
List *
SearchIndexDdl(const ResourceModel *model, Jsonb *before, Jsonb *after, Problem *problem)
{
	SearchVector was;
	SearchVector wanted;
	FoundIndex	dropped = {0};
	FoundIndex	found = {0};
	List	   *statements = NIL;
	char	   *name;
	char	   *statement;
	bool		chosen;
	bool		wants;
	Relation	table;

	SearchVectorRead(before, model, &was);
	SearchVectorRead(after, model, &wanted);
	if (was.ncolumns == 0 && wanted.ncolumns == 0)
		return NIL;
	table = table_open(get_relname_relid(model->tables[0].name, get_namespace_oid(model->tables[0].schema, false)), AccessShareLock);
	StoreCheckRelation(RelationGetRelid(table), RELKIND_RELATION, StoreOwner());
	name = WantedName(model, after, &chosen);
	wants = HasConfiguration(&wanted, problem);
	if (HasConfiguration(&was, NULL) && !SameVector(&was, &wanted) && FindIndex(table, model, &was, &dropped))
		statements = list_make1(psprintf("DROP INDEX %s", quote_qualified_identifier(dropped.schema, dropped.name)));
	if (wants && FindIndex(table, model, &wanted, &found) && found.valid)
		statement = chosen ? AdoptIndex(model, &found, name, problem) : NULL;
	else if (wants)
	{
		CheckName(model, name, &dropped, problem);
		statement = CreateIndex(model, &wanted, name);
	}
	else
		statement = NULL;
	table_close(table, NoLock);
	return statement == NULL ? statements : lappend(statements, statement);
}

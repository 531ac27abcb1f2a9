/*
 * ddl.c
 *		Writing the DDL of models: tables, keys, indexes, views, comments.
 *
 * Every object has a name that follows from the model, so that a violated
 * constraint can be traced back to a resource and a place in its document.
 * Models are only read here.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "model/keyquery.h"
#include "schema/ddl.h"
#include "schema/naming.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"

typedef struct NameEntry
{
	char		name[2 * NAMEDATALEN + 1];	/* schema.name; the hash key */
	const char *what;			/* for messages */
	bool		created;		/* a table that foreign keys can point at */
} NameEntry;

typedef struct Writer
{
	const ModelSet *set;
	DdlPlan    *plan;
	HTAB	   *names;
	List	   *late;			/* foreign keys to tables that come later */
	const DdlTable *table;		/* the one that is being written; else NULL */
} Writer;

/* Make a statement of a plan. */
DdlStatement *
DdlStatementNew(const char *sql)
{
	DdlStatement *statement = palloc0(sizeof(DdlStatement));

	statement->sql = sql;
	return statement;
}

/* Add a statement to the plan. */
static DdlStatement *
Emit(Writer *writer, const char *sql)
{
	DdlStatement *statement = DdlStatementNew(sql);

	statement->table = writer->table;
	writer->plan->statements = lappend(writer->plan->statements, statement);
	return statement;
}

/* A qualified name, quoted as necessary. */
static char *
Qualified(const char *schema, const char *name)
{
	return quote_qualified_identifier(schema, name);
}

/* The entry of a name, made if it is not there. */
static NameEntry *
LookUpName(Writer *writer, const char *schema, const char *name, bool *found)
{
	char		key[2 * NAMEDATALEN + 1] = {0};

	snprintf(key, sizeof(key), "%s.%s", schema, name);
	return hash_search(writer->names, key, HASH_ENTER, found);
}

/*
 * Reserve a name.  Tables, views and indexes of a schema share one namespace;
 * a collision is reported with both sides.
 */
static bool
ReserveName(Writer *writer, const char *schema, const char *name,
			const char *what)
{
	bool		found;
	NameEntry  *entry = LookUpName(writer, schema, name, &found);

	if (found)
		ProblemAt(writer->set->problems, psprintf("%s.%s", schema, name),
				  "%s and %s would have the same name.", entry->what, what);
	else
	{
		entry->what = pstrdup(what);
		entry->created = false;
	}
	return !found;
}

/* Returns true if a table is created by this plan so far, or exists before it. */
static bool
IsCreated(Writer *writer, const char *schema, const char *name)
{
	char		key[2 * NAMEDATALEN + 1] = {0};
	const NameEntry *entry;

	snprintf(key, sizeof(key), "%s.%s", schema, name);
	entry = hash_search(writer->names, key, HASH_FIND, NULL);
	return entry != NULL && entry->created;
}

/* Reserve the names of the indexes of keys, and count keys. */
static void
CountKey(Writer *writer, const DdlTable *table, const DdlKey *key)
{
	if (key->kind == KEY_FOREIGN)
	{
		writer->plan->foreign_keys++;
		return;
	}
	ReserveName(writer, table->schema, key->name,
				psprintf(key->kind == KEY_PRIMARY ? "the primary key of %s" : "a unique key of %s", table->title));
	writer->plan->indexes++;
}

/*
 * Write CREATE TABLE with all constraints.  A foreign key to a table that does not
 * exist by then becomes a statement of its own, later.
 */
static void
WriteTable(Writer *writer, const DdlTable *table)
{
	StringInfoData body;
	NameEntry  *name;
	bool		found;

	name = LookUpName(writer, table->schema, table->name, &found);
	name->created = true;		/* so that it can refer to itself */
	initStringInfo(&body);
	appendStringInfo(&body, "CREATE TABLE %s (", DdlTableName(table));
	for (int i = 0; i < table->ncolumns; i++)
		appendStringInfo(&body, "%s\n\t%s", i > 0 ? "," : "", DdlTableColumnSql(&table->columns[i]));
	for (int i = 0; i < table->nkeys; i++)
	{
		const DdlKey *key = &table->keys[i];
		const char *sql = DdlTableKeySql(table, key);

		CountKey(writer, table, key);
		if (key->kind != KEY_FOREIGN || IsCreated(writer, key->target_schema, key->target_table))
			appendStringInfo(&body, ",\n\t%s", sql);
		else
		{
			DdlStatement *late = DdlStatementNew(psprintf("ALTER TABLE %s ADD %s", DdlTableName(table), sql));

			late->table = table;
			late->late = true;
			writer->late = lappend(writer->late, late);
		}
	}
	appendStringInfoString(&body, "\n)");
	Emit(writer, body.data)->creates_table = true;
	writer->plan->tables++;
}

/* Write the indexes of a table that belong to no key. */
static void
WriteIndexes(Writer *writer, const DdlTable *table)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		const DdlIndex *index = &table->indexes[i];
		const DdlColumn *column = &table->columns[index->column];

		ReserveName(writer, table->schema, index->name,
					psprintf("the index of %s for %s", table->title, column->comment));
		Emit(writer, DdlTableIndexSql(DdlTableName(table), column->name, index, index->name, false));
		writer->plan->indexes++;
	}
}

/* Write comments that say which place of which document a table or column holds. */
static void
WriteComments(Writer *writer, const DdlTable *table)
{
	Emit(writer, psprintf("COMMENT ON TABLE %s IS %s", DdlTableName(table), quote_literal_cstr(table->comment)));
	for (int i = 0; i < table->ncolumns; i++)
		Emit(writer, psprintf("COMMENT ON COLUMN %s.%s IS %s", DdlTableName(table),
							  quote_identifier(table->columns[i].name),
							  quote_literal_cstr(table->columns[i].comment)));
}

/* Write a table, unless its name is taken. */
static void
WriteWholeTable(Writer *writer, const DdlTable *table, const char *what)
{
	if (!ReserveName(writer, table->schema, table->name, what))
		return;
	writer->table = table;
	writer->plan->described = lappend(writer->plan->described, unconstify(DdlTable *, table));
	WriteTable(writer, table);
	WriteIndexes(writer, table);
	WriteComments(writer, table);
	writer->table = NULL;
}

/* Write the tables of one resource.  Descriptors share a core table. */
static void
WriteResource(Writer *writer, const ModelEntry *entry)
{
	const ResourceModel *model = entry->model;

	if (model->kind == RESOURCE_DESCRIPTOR || entry->api == NULL || entry->api->broken)
		return;
	for (int i = 0; i < model->ntables; i++)
	{
		CHECK_FOR_INTERRUPTS();
		WriteWholeTable(writer, DdlTableOf(writer->set, entry, i),
						psprintf("the table of %s at %s", entry->place, model->tables[i].scope_path));
	}
}

/* Returns true for an abstract resource that could be bound. */
static bool
HasView(const ModelEntry *entry)
{
	return entry->model->kind == RESOURCE_ABSTRACT && entry->model->ntables > 0;
}

/* Write the view of an abstract resource over its subclasses, unless there were problems. */
static void
WriteView(Writer *writer, const ModelEntry *entry)
{
	const TableModel *view = &entry->model->tables[0];

	ReserveName(writer, view->schema, view->name, psprintf("the view of %s", entry->place));
	if (writer->set->problems->count > 0)
		return;
	writer->plan->views = lappend(writer->plan->views, DdlViewOf(entry));
	Emit(writer, DdlViewSql(llast(writer->plan->views), false));
	Emit(writer, DdlViewCommentSql(llast(writer->plan->views)));
}

/* Returns true if a table refers to the resource that it belongs to. */
static bool
RefersToItself(const ResourceModel *model, const TableModel *table)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ReferenceModel *r = table->columns[i].reference < 0 ? NULL :
		&model->references[table->columns[i].reference];

		if (r && strcmp(r->project, model->project) == 0 && strcmp(r->resource, model->resource) == 0)
			return true;
	}
	return false;
}

/* The type of a document as the delete trigger sees it. */
static char *
TypeName(const ResourceModel *model)
{
	return psprintf("%s:%s", model->project, model->resource);
}

/* Add a line of PL/pgSQL. */
static void
AppendIndented(StringInfo body, int depth, const char *line)
{
	for (int i = 0; i < depth; i++)
		appendStringInfoChar(body, '\t');
	appendStringInfo(body, "%s\n", line);
}

/* Returns a statement that deletes the rows of deleted documents from a table. */
static char *
ClearTable(const char *schema, const char *table, const char *key)
{
	return psprintf("DELETE FROM %s WHERE %s = ANY (gone_ids);", Qualified(schema, table), quote_identifier(key));
}

/*
 * Returns the statements that delete the rows of documents of one type.  Collections
 * are deleted with their document by foreign key, but too late if they refer to
 * another one of the deleted documents.
 */
static List *
ClearModel(const ResourceModel *model)
{
	List	   *statements = NIL;

	for (int i = model->ntables - 1; i > 0; i--)
		if (RefersToItself(model, &model->tables[i]))
			statements = lappend(statements, ClearTable(model->tables[i].schema, model->tables[i].name,
														model->tables[i].columns[0].name));
	statements = lappend(statements, ClearTable(model->tables[0].schema, model->tables[0].name, "documentid"));
	if (model->member_table)
		statements = lappend(statements, ClearTable(model->member_schema, model->member_table, "documentid"));
	return statements;
}

/* Returns the table of a model that the truncate trigger names; NULL if there is none. */
static char *
TruncatedTable(const ResourceModel *model)
{
	if (model->kind == RESOURCE_ABSTRACT)
		return Qualified(model->member_schema, model->member_table);
	if (model->kind != RESOURCE_DESCRIPTOR)
		return Qualified(model->tables[0].schema, model->tables[0].name);
	return NULL;
}

/* Returns the statement that reads the keys of deleted documents. */
static char *
ReadKeys(const ResourceModel *model)
{
	return psprintf("SELECT array_agg(k.documentid), array_agg(k.key) INTO key_ids, keys FROM (%s"
					" WHERE j0.documentid = ANY (gone_ids)) AS k (documentid, key);", KeyQuerySql(model));
}

/* Returns the part of the triggers on dms.Document that is about one model. */
DdlTriggerPart *
DdlTriggerPartOf(const ResourceModel *model)
{
	DdlTriggerPart *part = palloc0(sizeof(DdlTriggerPart));

	part->type = TypeName(model);
	if (model->kind != RESOURCE_ABSTRACT && model->kind != RESOURCE_DESCRIPTOR)
		part->clearing = ClearModel(model);
	part->truncated = TruncatedTable(model);
	if (model->kind != RESOURCE_ABSTRACT)
		part->keys = ReadKeys(model);
	return part;
}

/* Add a line for documents of one type, to be run if it is the type. */
static void
AppendForType(StringInfo body, int depth, const char *type, List *statements, const char *otherwise)
{
	ListCell   *cell;

	AppendIndented(body, depth, psprintf("IF gone_type = %s THEN", quote_literal_cstr(type)));
	foreach(cell, statements)
		AppendIndented(body, depth + 1, lfirst(cell));
	if (otherwise != NULL)
	{
		AppendIndented(body, depth, "ELSE");
		AppendIndented(body, depth + 1, otherwise);
	}
	AppendIndented(body, depth, "END IF;");
}

/* The statements of one type in a tree. */
typedef struct TypeBranch
{
	const char *type;
	List	   *statements;
} TypeBranch;

/*
 * Add a binary search for the type: hundreds of comparisons in a row would
 * slow down every delete.
 */
static void
AppendTypeTree(StringInfo body, int depth, List *branches, int low, int high, const char *otherwise)
{
	int			middle = (low + high) / 2;
	const TypeBranch *branch = list_nth(branches, high - low == 1 ? low : middle);

	if (high - low == 1)
	{
		AppendForType(body, depth, branch->type, branch->statements, otherwise);
		return;
	}
	AppendIndented(body, depth, psprintf("IF gone_type COLLATE \"C\" < %s THEN", quote_literal_cstr(branch->type)));
	AppendTypeTree(body, depth + 1, branches, low, middle, otherwise);
	AppendIndented(body, depth, "ELSE");
	AppendTypeTree(body, depth + 1, branches, middle, high, otherwise);
	AppendIndented(body, depth, "END IF;");
}

/* Returns a branch of a tree. */
static TypeBranch *
BranchOf(const char *type, List *statements)
{
	TypeBranch *branch = palloc(sizeof(TypeBranch));

	branch->type = type;
	branch->statements = statements;
	return branch;
}

/* list_sort() comparator for parts by type, in the order of the "C" collation. */
static int
CompareTypes(const ListCell *a, const ListCell *b)
{
	return strcmp(((DdlTriggerPart *) lfirst(a))->type, ((DdlTriggerPart *) lfirst(b))->type);
}

/*
 * The part of the delete trigger that names the tables of the models.  A type that is
 * no resource is a descriptor.
 */
static char *
WriteClearing(const List *parts)
{
	const char *descriptor = ClearTable("dms", "descriptor", "documentid");
	StringInfoData body;
	List	   *branches = NIL;
	ListCell   *cell;

	initStringInfo(&body);
	foreach(cell, parts)
	{
		const DdlTriggerPart *part = lfirst(cell);

		if (part->clearing != NIL)
			branches = lappend(branches, BranchOf(part->type, part->clearing));
	}
	if (branches == NIL)
		AppendIndented(&body, 1, descriptor);
	else
		AppendTypeTree(&body, 1, branches, 0, list_length(branches), descriptor);
	return body.data;
}

/* The part of the trigger that records deletes which reads keys. */
static char *
WriteKeys(const List *parts)
{
	StringInfoData body;
	List	   *branches = NIL;
	ListCell   *cell;

	initStringInfo(&body);
	foreach(cell, parts)
	{
		const DdlTriggerPart *part = lfirst(cell);

		if (part->keys != NULL)
			branches = lappend(branches, BranchOf(part->type, list_make1(part->keys)));
	}
	if (branches != NIL)
		AppendTypeTree(&body, 2, branches, 0, list_length(branches), NULL);
	return body.data;
}

/* The tables that the truncate trigger adds to those of the core. */
static char *
WriteTruncated(const List *parts)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, parts)
	{
		const DdlTriggerPart *part = lfirst(cell);

		if (part->truncated != NULL)
			appendStringInfo(&list, ",\n\t\t%s", part->truncated);
	}
	return list.data;
}

/* Plan the triggers on dms.Document from the parts of all models, which are sorted here. */
void
DdlPlanTriggers(DdlPlan *plan, List *parts)
{
	list_sort(parts, CompareTypes);
	plan->clearing = WriteClearing(parts);
	plan->truncated = WriteTruncated(parts);
	plan->keys = WriteKeys(parts);
}

/*
 * list_sort() comparator for entries: a table follows those that it refers
 * to, so most foreign keys can be written in the table.
 */
static int
CompareLoadOrder(const ListCell *a, const ListCell *b)
{
	const ModelEntry *left = lfirst(a);
	const ModelEntry *right = lfirst(b);

	if (left->model->load_order != right->model->load_order)
		return left->model->load_order - right->model->load_order;
	if (strcmp(left->model->project, right->model->project) != 0)
		return strcmp(left->model->project, right->model->project);
	return strcmp(left->model->resource, right->model->resource);
}

/* Start a plan.  dms.Descriptor exists already. */
static Writer *
NewWriter(const ModelSet *set)
{
	Writer	   *writer = palloc0(sizeof(Writer));
	HASHCTL		control = {0};
	NameEntry  *descriptor;
	bool		found;

	control.keysize = 2 * NAMEDATALEN + 1;
	control.entrysize = sizeof(NameEntry);
	control.hcxt = CurrentMemoryContext;
	writer->set = set;
	writer->plan = palloc0(sizeof(DdlPlan));
	writer->names = hash_create("dms names", 4096, &control,
								HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	descriptor = LookUpName(writer, "dms", "descriptor", &found);
	descriptor->what = "dms.Descriptor";
	descriptor->created = true;
	return writer;
}

/*
 * Plan the statements that follow those of the core tables, in order.
 * Triggers are written by dms_internal.trigger_ddl(), from the texts that are planned
 * here.
 */
DdlPlan *
DdlPlanModels(const ModelSet *set)
{
	Writer	   *writer = NewWriter(set);
	List	   *ordered = list_copy(set->entries);
	List	   *parts = NIL;
	ListCell   *cell;

	list_sort(ordered, CompareLoadOrder);
	foreach(cell, set->schema->projects)
		Emit(writer, psprintf("CREATE SCHEMA IF NOT EXISTS %s",
							  quote_identifier(((ApiProject *) lfirst(cell))->schema_name)));
	foreach(cell, ordered)
	{
		if (HasView(lfirst(cell)))
			WriteWholeTable(writer, DdlTableOfMembers(lfirst(cell)),
							psprintf("the member table of %s", ((ModelEntry *) lfirst(cell))->place));
	}
	foreach(cell, ordered)
		WriteResource(writer, lfirst(cell));
	writer->plan->statements = list_concat(writer->plan->statements, writer->late);
	foreach(cell, ordered)
	{
		if (HasView(lfirst(cell)))
			WriteView(writer, lfirst(cell));
	}
	if (set->problems->count > 0)
		return writer->plan;
	foreach(cell, set->entries)
		parts = lappend(parts, DdlTriggerPartOf(((ModelEntry *) lfirst(cell))->model));
	DdlPlanTriggers(writer->plan, parts);
	return writer->plan;
}

/* Returns true if there is a relation of this name. */
static bool
Exists(const char *schema, const char *name)
{
	return OidIsValid(get_relname_relid(name, get_namespace_oid(schema, false)));
}

/*
 * Add the statements for an index of a stored model's table, if it is missing.  One
 * that was not partial in older stores, but is now, is created again.
 */
static List *
PlanMissingIndex(List *statements, const TableModel *table, const DdlIndex *index)
{
	char	   *name = Qualified(table->schema, table->name);

	if (Exists(table->schema, index->name))
	{
		if (!index->partial)
			return statements;
		statements = lappend(statements, DdlStatementNew(psprintf("DROP INDEX %s", Qualified(table->schema, index->name))));
	}
	return lappend(statements, DdlStatementNew(DdlTableIndexSql(name, table->columns[index->column].name, index,
																index->name, false)));
}

/* Plan the indexes that the tables of a stored model need by the rules of today, and do not have. */
List *
DdlPlanMissingIndexes(const ResourceModel *model)
{
	List	   *statements = NIL;

	if (model->kind != RESOURCE_PLAIN && model->kind != RESOURCE_SCHOOL_YEAR)
		return NIL;
	for (int i = 0; i < model->ntables; i++)
	{
		int			n;
		DdlIndex   *indexes = DdlTableIndexes(model, i, &n);

		for (int j = 0; j < n; j++)
			statements = PlanMissingIndex(statements, &model->tables[i], &indexes[j]);
	}
	return statements;
}

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
#include "schema/ddl.h"
#include "schema/naming.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"

/* The width up to which a B-tree entry certainly fits into a page. */
#define MAX_BTREE_LENGTH 255

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
	bool		missing_only;	/* pass over whole indexes that exist */
} Writer;

/* Make a statement of a plan. */
DdlStatement *
DdlStatementNew(const char *sql, bool creates_table)
{
	DdlStatement *statement = palloc(sizeof(DdlStatement));

	statement->sql = sql;
	statement->creates_table = creates_table;
	return statement;
}

/* Add a statement to the plan. */
static void
Emit(Writer *writer, const char *sql)
{
	writer->plan->statements = lappend(writer->plan->statements, DdlStatementNew(sql, false));
}

/* Add a statement that creates a table. */
static void
EmitTable(Writer *writer, const char *sql)
{
	writer->plan->statements = lappend(writer->plan->statements, DdlStatementNew(sql, true));
	writer->plan->tables++;
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

/* A column's type as SQL. */
const char *
DdlColumnType(const ColumnModel *column)
{
	const ValueModel *value = &column->value;

	switch ((ValueType) value->type)
	{
		case VALUE_TEXT:
			return value->max_length > 0 ?
				psprintf("varchar(%d)", value->max_length) : "text";
		case VALUE_INT4:
			return "integer";
		case VALUE_INT8:
			return "bigint";
		case VALUE_NUMERIC:
			return value->precision > 0 && value->scale >= 0 ?
				psprintf("numeric(%d,%d)", value->precision, value->scale) : "numeric";
		case VALUE_BOOL:
			return "boolean";
		case VALUE_DATE:
			return "date";
		case VALUE_TIME:
			return "time(0) without time zone";
		case VALUE_TIMESTAMP:
			return "timestamp(0) with time zone";
	}
	return "text";
}

/* "a, b, c": the given columns of a table, or its first ones. */
static char *
ColumnList(const TableModel *table, const int *columns, int ncolumns)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < ncolumns; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(table->columns[columns ? columns[i] : i].name));
	return list.data;
}

/*
 * The table that the foreign key of a reference points at.  *key is its name
 * among the reserved ones.
 */
static char *
TargetTable(Writer *writer, const ReferenceModel *reference, char **key)
{
	const ModelEntry *target;
	const char *schema = "dms";
	const char *name = "descriptor";

	if (!reference->descriptor)
	{
		target = ModelSetFind(writer->set, reference->project, reference->resource);
		schema = reference->abstract ? target->model->member_schema : target->model->tables[0].schema;
		name = reference->abstract ? target->model->member_table : target->model->tables[0].name;
	}
	*key = psprintf("%s.%s", schema, name);
	return Qualified(schema, name);
}

/*
 * Add the foreign key of a reference: to the table if its target exists by
 * then, else as a statement of its own, later.
 */
static void
AppendReferenceKey(Writer *writer, StringInfo body, const TableModel *table,
				   const ColumnModel *column, const ReferenceModel *reference)
{
	char	   *key;
	char	   *target;
	char		padded[2 * NAMEDATALEN + 1] = {0};
	NameEntry  *entry;
	char	   *constraint;

	if (writer->set->problems->count > 0)
		return;					/* the target may not be there */
	target = TargetTable(writer, reference, &key);
	constraint = psprintf("CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (documentid)",
						  quote_identifier(column->foreign_key),
						  quote_identifier(column->name), target);
	strlcpy(padded, key, sizeof(padded));
	entry = hash_search(writer->names, padded, HASH_FIND, NULL);
	if (entry != NULL && entry->created)
		appendStringInfo(body, ",\n\t%s", constraint);
	else
		writer->late = lappend(writer->late,
							   DdlStatementNew(psprintf("ALTER TABLE %s ADD %s",
														Qualified(table->schema, table->name), constraint), false));
	writer->plan->foreign_keys++;
}

/*
 * Add the foreign key of a collection or extension row to its parent row,
 * with which it is deleted.
 */
static void
AppendParentKey(Writer *writer, StringInfo body, const ResourceModel *model,
				const TableModel *table)
{
	const TableModel *parent = &model->tables[table->parent];

	appendStringInfo(body, ",\n\tCONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s) ON DELETE CASCADE",
					 quote_identifier(NamePhysical(psprintf("%s_Parent_FK", table->title))),
					 ColumnList(table, NULL, parent->nkeys),
					 Qualified(parent->schema, parent->name),
					 ColumnList(parent, NULL, parent->nkeys));
	writer->plan->foreign_keys++;
}

/*
 * Add a unique key.  It is deferrable, because elements or documents may swap
 * values within one statement.  A missing value is a value here, so NULLs are
 * not distinct.
 */
static void
AppendUnique(Writer *writer, StringInfo body, const TableModel *table,
			 const UniqueModel *unique)
{
	bool		nullable = false;

	for (int i = 0; i < unique->ncolumns; i++)
		nullable |= !table->columns[unique->columns[i]].required;
	appendStringInfo(body, ",\n\tCONSTRAINT %s UNIQUE %s(%s) DEFERRABLE INITIALLY IMMEDIATE",
					 quote_identifier(unique->name),
					 nullable ? "NULLS NOT DISTINCT " : "",
					 ColumnList(table, unique->columns, unique->ncolumns));
	ReserveName(writer, table->schema, unique->name,
				psprintf("a unique key of %s", table->title));
	writer->plan->indexes++;
}

/* Write CREATE TABLE with all constraints. */
static void
WriteTable(Writer *writer, const ModelEntry *entry, const TableModel *table)
{
	const ResourceModel *model = entry->model;
	StringInfoData body;
	char	   *key_name = NamePhysical(psprintf("%s_PK", table->title));
	NameEntry  *name;
	bool		found;

	initStringInfo(&body);
	appendStringInfo(&body, "CREATE TABLE %s (", Qualified(table->schema, table->name));
	for (int i = 0; i < table->ncolumns; i++)
		appendStringInfo(&body, "%s\n\t%s %s%s", i > 0 ? "," : "",
						 quote_identifier(table->columns[i].name),
						 DdlColumnType(&table->columns[i]),
						 table->columns[i].required ? " NOT NULL" : "");
	appendStringInfo(&body, ",\n\tCONSTRAINT %s PRIMARY KEY (%s)",
					 quote_identifier(key_name), ColumnList(table, NULL, table->nkeys));
	ReserveName(writer, table->schema, key_name, psprintf("the primary key of %s", table->title));
	writer->plan->indexes++;
	for (int i = 0; i < table->nuniques; i++)
		AppendUnique(writer, &body, table, &table->uniques[i]);
	if (table->parent >= 0)
		AppendParentKey(writer, &body, model, table);
	name = LookUpName(writer, table->schema, table->name, &found);
	name->created = true;		/* so that it can refer to itself */
	for (int i = 0; i < table->ncolumns; i++)
		if (table->columns[i].reference >= 0)
			AppendReferenceKey(writer, &body, table, &table->columns[i],
							   &model->references[table->columns[i].reference]);
	appendStringInfoString(&body, "\n)");
	EmitTable(writer, body.data);
}

/* Returns true if the primary key or a unique key begins with this column. */
static bool
KeyLeadsWith(const TableModel *table, int column)
{
	if (column == 0)
		return true;
	for (int i = 0; i < table->nuniques; i++)
		if (table->uniques[i].columns[0] == column)
			return true;
	return false;
}

/* Returns true if a query searches for documents that lack this column of the root table. */
static bool
IsSearchedForNull(const ResourceModel *model, int column)
{
	for (int i = 0; i < model->nqueries; i++)
	{
		const QueryModel *query = &model->queries[i];

		if (query->tied && !query->equals[0].required && query->equals[0].column == column)
			return true;
	}
	return false;
}

/* Returns true if there is a relation of this name. */
static bool
Exists(const char *schema, const char *name)
{
	return OidIsValid(get_relname_relid(name, get_namespace_oid(schema, false)));
}

/*
 * Write the index of a column, unless a key serves as one.  Text that may not
 * fit into a B-tree entry gets a hash index.  A B-tree has no entries for rows
 * without a value, unless queries search for them; hash indexes never have.
 */
static void
WriteIndex	(Writer *writer, const ResourceModel *model, int table, int column)
{
	const TableModel *t = &model->tables[table];
	const ColumnModel *c = &t->columns[column];
	const char *quoted = quote_identifier(c->name);
	char	   *name;
	bool		wide;
	bool		all;

	if (KeyLeadsWith(t, column))
		return;
	name = NamePhysical(psprintf("%s_%s_IX", t->title, c->name));
	wide = c->value.type == VALUE_TEXT &&
		(c->value.max_length <= 0 || c->value.max_length > MAX_BTREE_LENGTH);
	all = wide || c->required || (table == 0 && IsSearchedForNull(model, column));
	if (writer->missing_only && Exists(t->schema, name))
	{
		if (all)
			return;
		Emit(writer, psprintf("DROP INDEX %s", Qualified(t->schema, name)));
	}
	ReserveName(writer, t->schema, name,
				psprintf("the index of %s for %s", t->title, c->path));
	Emit(writer, psprintf("CREATE INDEX %s ON %s%s (%s)%s", quote_identifier(name),
						  Qualified(t->schema, t->name), wide ? " USING hash" : "", quoted,
						  all ? "" : psprintf(" WHERE %s IS NOT NULL", quoted)));
	writer->plan->indexes++;
}

/* Returns true if a query field asks for this column of the root table. */
static bool
IsQueried(const ResourceModel *model, int column)
{
	for (int i = 0; i < model->nqueries; i++)
	{
		const QueryModel *query = &model->queries[i];

		for (int j = 0; j < query->npaths; j++)
			if (query->paths[j].column == column)
				return true;
		for (int j = 0; j < query->nequals; j++)
			if (query->equals[j].column == column)
				return true;
	}
	return false;
}

/*
 * Write the indexes of a table: one per foreign key, which deletes of the
 * target search, and one per query field, except booleans, where an index
 * would not help.
 */
static void
WriteIndexes(Writer *writer, const ResourceModel *model, int table)
{
	const TableModel *t = &model->tables[table];

	for (int i = t->nkeys; i < t->ncolumns; i++)
	{
		bool		scalar = t->columns[i].role == COLUMN_SCALAR;

		if (!scalar || (table == 0 && IsQueried(model, i) &&
						t->columns[i].value.type != VALUE_BOOL))
			WriteIndex	(writer, model, table, i);
	}
}

/* Write comments that say which place of which document a table or column holds. */
static void
WriteComments(Writer *writer, const ModelEntry *entry, const TableModel *table)
{
	char	   *name = Qualified(table->schema, table->name);

	Emit(writer, psprintf("COMMENT ON TABLE %s IS %s", name,
						  quote_literal_cstr(psprintf("%s: %s", entry->place, table->scope_path))));
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ColumnModel *column = &table->columns[i];
		const char *text = column->path;

		if (text == NULL)
			text = column->role == COLUMN_DOCUMENT ? "the document" :
			i == table->nkeys - 1 ? "position in the array, from 0" :
			"position of the element around it";

		Emit(writer, psprintf("COMMENT ON COLUMN %s.%s IS %s", name,
							  quote_identifier(column->name), quote_literal_cstr(text)));
	}
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
		const TableModel *table = &model->tables[i];

		CHECK_FOR_INTERRUPTS();
		if (!ReserveName(writer, table->schema, table->name,
						 psprintf("the table of %s at %s", entry->place, table->scope_path)))
			continue;
		WriteTable(writer, entry, table);
		WriteIndexes(writer, model, i);
		WriteComments(writer, entry, table);
	}
}

/* Returns true for an abstract resource that could be bound. */
static bool
HasView(const ModelEntry *entry)
{
	return entry->model->kind == RESOURCE_ABSTRACT && entry->model->ntables > 0;
}

/*
 * Write the table that references to an abstract resource point at.  A
 * foreign key cannot point at a view, and one to dms.Document would accept
 * documents of any type.
 */
static void
WriteMemberTable(Writer *writer, const ModelEntry *entry)
{
	char	   *key_name = NamePhysical(psprintf("%s_Member_PK", entry->abstract->name));
	char	   *name = Qualified(entry->model->member_schema, entry->model->member_table);
	NameEntry  *reserved;
	bool		found;

	ReserveName(writer, entry->model->member_schema, entry->model->member_table,
				psprintf("the member table of %s", entry->place));
	reserved = LookUpName(writer, entry->model->member_schema, entry->model->member_table, &found);
	reserved->created = true;
	EmitTable(writer, psprintf("CREATE TABLE %s (\n\tdocumentid bigint NOT NULL,\n\tdiscriminator varchar(%d) NOT NULL,\n\tCONSTRAINT %s PRIMARY KEY (documentid)\n)",
							   name, MODEL_MAX_DISCRIMINATOR, quote_identifier(key_name)));
	ReserveName(writer, entry->model->member_schema, key_name,
				psprintf("the key of the member table of %s", entry->place));
	Emit(writer, psprintf("COMMENT ON TABLE %s IS %s", name,
						  quote_literal_cstr(psprintf("%s: the documents of its subclasses", entry->place))));
	Emit(writer, psprintf("COMMENT ON COLUMN %s.documentid IS 'the document'", name));
	Emit(writer, psprintf("COMMENT ON COLUMN %s.discriminator IS 'its resource: {ProjectName}:{ResourceName}'", name));
	writer->plan->indexes++;
}

/* Add one branch to an abstract resource's view. */
static void
AppendBranch(StringInfo body, const ModelEntry *abstract, const ModelEntry *subclass)
{
	const ResourceModel *model = subclass->model;
	const TableModel *view = &abstract->model->tables[0];

	appendStringInfoString(body, "SELECT documentid");
	for (int i = 1; i < view->ncolumns; i++)
	{
		int			column = -1;

		for (int j = 0; j < model->nidentity && column < 0; j++)
			if (abstract->model->identity[j].column == i)
				column = model->identity[j].column;
		appendStringInfo(body, ", %s AS %s",
						 quote_identifier(model->tables[0].columns[column].name),
						 quote_identifier(view->columns[i].name));
	}
	appendStringInfo(body, ", %s::varchar(%d) AS discriminator\n\tFROM %s",
					 quote_literal_cstr(psprintf("%s:%s", model->project, model->resource)), MODEL_MAX_DISCRIMINATOR,
					 Qualified(model->tables[0].schema, model->tables[0].name));
}

/*
 * Write the view of an abstract resource over its subclasses.  It runs with
 * the rights of its caller, as reads of tables do.
 */
static void
WriteView(Writer *writer, const ModelEntry *entry)
{
	const TableModel *view = &entry->model->tables[0];
	char	   *name = Qualified(view->schema, view->name);
	StringInfoData body;
	ListCell   *cell;

	ReserveName(writer, view->schema, view->name, psprintf("the view of %s", entry->place));
	initStringInfo(&body);
	appendStringInfo(&body, "CREATE VIEW %s WITH (security_invoker = true) AS\n\t", name);
	foreach(cell, entry->subclasses)
	{
		if (writer->set->problems->count > 0)
			continue;
		if (foreach_current_index(cell) > 0)
			appendStringInfoString(&body, "\n\tUNION ALL ");
		AppendBranch(&body, entry, lfirst(cell));
	}
	Emit(writer, body.data);
	Emit(writer, psprintf("COMMENT ON VIEW %s IS %s", name,
						  quote_literal_cstr(psprintf("%s: identities of the documents of its subclasses", entry->place))));
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

/* Add a statement that deletes the rows of deleted documents from a table. */
static void
AppendClearTable(StringInfo body, int depth, const char *schema, const char *table,
				 const char *key)
{
	AppendIndented(body, depth, psprintf("DELETE FROM %s WHERE %s = ANY (gone_ids);",
										 Qualified(schema, table), quote_identifier(key)));
}

/*
 * Add the statements that delete the rows of documents of one type.
 * Collections are deleted with their document by foreign key, but too late if
 * they refer to another one of the deleted documents.  A type that is no
 * resource is a descriptor.
 */
static void
AppendClearing(StringInfo body, int depth, const ResourceModel *model)
{
	AppendIndented(body, depth, psprintf("IF gone_type = %s THEN", quote_literal_cstr(TypeName(model))));
	for (int i = model->ntables - 1; i > 0; i--)
		if (RefersToItself(model, &model->tables[i]))
			AppendClearTable(body, depth + 1, model->tables[i].schema, model->tables[i].name,
							 model->tables[i].columns[0].name);
	AppendClearTable(body, depth + 1, model->tables[0].schema, model->tables[0].name, "documentid");
	if (model->member_table)
		AppendClearTable(body, depth + 1, model->member_schema, model->member_table, "documentid");
	AppendIndented(body, depth, "ELSE");
	AppendClearTable(body, depth + 1, "dms", "descriptor", "documentid");
	AppendIndented(body, depth, "END IF;");
}

/*
 * Add a binary search for the type: hundreds of comparisons in a row would
 * slow down every delete.
 */
static void
AppendClearingTree(StringInfo body, int depth, List *models, int low, int high)
{
	int			middle = (low + high) / 2;

	if (high - low == 1)
	{
		AppendClearing(body, depth, list_nth(models, low));
		return;
	}
	AppendIndented(body, depth, psprintf("IF gone_type COLLATE \"C\" < %s THEN",
										 quote_literal_cstr(TypeName(list_nth(models, middle)))));
	AppendClearingTree(body, depth + 1, models, low, middle);
	AppendIndented(body, depth, "ELSE");
	AppendClearingTree(body, depth + 1, models, middle, high);
	AppendIndented(body, depth, "END IF;");
}

/* list_sort() comparator for models by type, in the order of the "C" collation. */
static int
CompareTypes(const ListCell *a, const ListCell *b)
{
	return strcmp(TypeName(lfirst(a)), TypeName(lfirst(b)));
}

/* The part of the delete trigger that names the tables of the models. */
static char *
ClearingOfModels(const ModelSet *set)
{
	StringInfoData body;
	List	   *models = NIL;
	ListCell   *cell;

	initStringInfo(&body);
	foreach(cell, set->entries)
	{
		const ModelEntry *entry = lfirst(cell);

		if (entry->api && entry->model->kind != RESOURCE_DESCRIPTOR)
			models = lappend(models, entry->model);
	}
	list_sort(models, CompareTypes);
	if (models == NIL)
		AppendClearTable(&body, 1, "dms", "descriptor", "documentid");
	else
		AppendClearingTree(&body, 1, models, 0, list_length(models));
	return body.data;
}

/* The tables that the truncate trigger adds to those of the core. */
static char *
TruncatedTables(const ModelSet *set)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, set->entries)
	{
		const ResourceModel *model = ((ModelEntry *) lfirst(cell))->model;

		if (model->kind == RESOURCE_ABSTRACT)
			appendStringInfo(&list, ",\n\t\t%s", Qualified(model->member_schema, model->member_table));
		else if (model->kind != RESOURCE_DESCRIPTOR)
			appendStringInfo(&list, ",\n\t\t%s", Qualified(model->tables[0].schema, model->tables[0].name));
	}
	return list.data;
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
	ListCell   *cell;

	list_sort(ordered, CompareLoadOrder);
	foreach(cell, set->schema->projects)
		Emit(writer, psprintf("CREATE SCHEMA IF NOT EXISTS %s",
							  quote_identifier(((ApiProject *) lfirst(cell))->schema_name)));
	foreach(cell, ordered)
	{
		if (HasView(lfirst(cell)))
			WriteMemberTable(writer, lfirst(cell));
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
	writer->plan->clearing = ClearingOfModels(set);
	writer->plan->truncated = TruncatedTables(set);
	return writer->plan;
}

/*
 * Plan the indexes that the tables of a stored model need by the rules of today,
 * and do not have.  Those that were not partial in older stores, but are now, are
 * created again.
 */
List *
DdlPlanMissingIndexes(const ResourceModel *model)
{
	ModelSet	set = {.problems = ProblemNew(PROBLEM_SCHEMA_REFUSED)};
	Writer	   *writer = NewWriter(&set);

	writer->missing_only = true;
	if (model->kind == RESOURCE_PLAIN || model->kind == RESOURCE_SCHOOL_YEAR)
		for (int i = 0; i < model->ntables; i++)
			WriteIndexes(writer, model, i);
	hash_destroy(writer->names);
	return writer->plan->statements;
}

/*
 * introspect.c
 *		dms.resources(), dms.describe_resource() and dms.resource_options():
 *		describing what is deployed.
 *
 * All of them read the stored models with the rights of the caller.
 */
#include "postgres.h"

#include "admin/auditscope.h"
#include "admin/introspect.h"
#include "catalog/pg_type.h"
#include "engine/datums.h"
#include "engine/result.h"
#include "engine/session.h"
#include "engine/statement.h"
#include "engine/store.h"
#include "fmgr.h"
#include "funcapi.h"
#include "model/modelcache.h"
#include "model/equalpaths.h"
#include "model/modelstore.h"
#include "model/resourcemodels.h"
#include "model/resourcetypes.h"
#include "schema/ddltable.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(dms_resources);
PG_FUNCTION_INFO_V1(dms_describe_resource);
PG_FUNCTION_INFO_V1(dms_resource_options);

#define RESOURCES_COLUMNS 14
#define DESCRIBE_COLUMNS 8
#define OPTIONS_COLUMNS 4

/* What enforces a rule. */
#define BY_DATABASE "database"
#define BY_WRITES "write path"

/* A row of dms.describe_resource(); NULL where there is nothing to say. */
typedef struct DescribeRow
{
	const char *part;
	const TableModel *table;
	const char *name;
	const char *type;
	const bool *nullable;
	const char *path;
	const char *refers_to;
	const char *enforced_by;
} DescribeRow;

/* Look up a resource by names or endpoint names in any case. */
const ResourceModel *
IntrospectFind(const char *project, const char *resource)
{
	(void) StoreTable(STORE_RESOURCE_MODEL);
	return ModelCacheFind(project, resource)->model;
}

/* Visit the models whose JSON contains this text, in load order. */
static void
VisitModelsWith(const char *json_part, ModelVisitor visit, void *arg)
{
	MemoryContext each = AllocSetContextCreate(CurrentMemoryContext, "dms model",
											   ALLOCSET_DEFAULT_SIZES);
	uint64		n;

	(void) StoreTable(STORE_RESOURCE_MODEL);
	n = ResourceModelsWith(json_part);
	for (uint64 i = 0; i < n; i++)
	{
		MemoryContext saved = MemoryContextSwitchTo(each);
		char	   *json = ResultName(i, 1);

		visit(ModelStoreFromJson(json, strlen(json)), arg);
		MemoryContextSwitchTo(saved);
		MemoryContextReset(each);
	}
	MemoryContextDelete(each);
}

/*
 * Visit the models that mention a resource, and perhaps others that mention one
 * of the same name.  Most models mention neither, and are not parsed.
 */
void
IntrospectNeighbours(const ResourceModel *model, ModelVisitor visit, void *arg)
{
	StringInfoData mention;

	initStringInfo(&mention);
	appendStringInfoString(&mention, "resource\":");
	escape_json(&mention, model->resource);
	VisitModelsWith(mention.data, visit, arg);
}

/* Set a column of a row; NULL for NULL. */
static void
SetText(Datum *values, bool *nulls, int column, const char *string)
{
	nulls[column] = string == NULL;
	if (string != NULL)
		values[column] = CStringGetTextDatum(string);
}

/* Returns true if the column holds a value of the document, and is no key. */
static bool
HoldsValue(const ColumnModel *column)
{
	return column->role == COLUMN_SCALAR || column->role == COLUMN_REFERENCE ||
		column->role == COLUMN_DESCRIPTOR;
}

/* Count the columns that hold values of the document. */
static int
CountColumns(const ResourceModel *model)
{
	int			n = 0;

	for (int i = 0; i < model->ntables; i++)
		for (int j = 0; j < model->tables[i].ncolumns; j++)
			n += HoldsValue(&model->tables[i].columns[j]);
	return n;
}

/* Count the tables of collections. */
static int
CountCollections(const ResourceModel *model)
{
	int			n = 0;

	for (int i = 0; i < model->ntables; i++)
		n += model->tables[i].kind == TABLE_COLLECTION;
	return n;
}

/* Count the references to descriptors, or those to other resources. */
static int
CountReferences(const ResourceModel *model, bool descriptors)
{
	int			n = 0;

	for (int i = 0; i < model->nreferences; i++)
		n += model->references[i].descriptor == descriptors;
	return n;
}

/* Returns the paths of the identity as an array of text. */
static Datum
IdentityPaths(const ResourceModel *model)
{
	const char **paths = palloc(sizeof(char *) * Max(model->nidentity, 1));

	for (int i = 0; i < model->nidentity; i++)
		paths[i] = model->identity[i].path;
	return DatumTextArray(model->nidentity, paths);
}

/* Return a row of dms.resources(). */
static void
PutResource(const ResourceModel *model, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	const TableModel *root = &model->tables[0];
	Datum		values[RESOURCES_COLUMNS];
	bool		nulls[RESOURCES_COLUMNS] = {false};

	SetText(values, nulls, 0, model->project);
	SetText(values, nulls, 1, model->resource);
	SetText(values, nulls, 2, model->project_endpoint);
	SetText(values, nulls, 3, model->endpoint);
	SetText(values, nulls, 4, ModelStoreKindName(model->kind));
	SetText(values, nulls, 5, quote_qualified_identifier(root->schema, root->name));
	values[6] = Int32GetDatum(CountColumns(model));
	values[7] = Int32GetDatum(CountCollections(model));
	values[8] = Int32GetDatum(CountReferences(model, false));
	values[9] = Int32GetDatum(CountReferences(model, true));
	values[10] = IdentityPaths(model);
	values[11] = Int32GetDatum(model->load_order);
	SetText(values, nulls, 12, model->superclass_resource == NULL ? NULL :
			psprintf("%s.%s", model->superclass_project, model->superclass_resource));
	values[13] = BoolGetDatum(model->can_change);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Returns all resources of the deployed schema, in load order. */
Datum
dms_resources(PG_FUNCTION_ARGS)
{
	Session		session;

	InitMaterializedSRF(fcinfo, 0);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	VisitModelsWith("", PutResource, fcinfo->resultinfo);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Return a row of dms.describe_resource(). */
static void
PutRow(ReturnSetInfo *rsinfo, const DescribeRow *row)
{
	Datum		values[DESCRIBE_COLUMNS];
	bool		nulls[DESCRIBE_COLUMNS];

	SetText(values, nulls, 0, row->part);
	SetText(values, nulls, 1, row->table == NULL ? NULL :
			quote_qualified_identifier(row->table->schema, row->table->name));
	SetText(values, nulls, 2, row->name);
	SetText(values, nulls, 3, row->type);
	nulls[4] = row->nullable == NULL;
	values[4] = BoolGetDatum(row->nullable != NULL && *row->nullable);
	SetText(values, nulls, 5, row->path);
	SetText(values, nulls, 6, row->refers_to);
	SetText(values, nulls, 7, row->enforced_by);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Return a column.  If it is a reference it has a foreign key, except in views. */
static void
DescribeColumn(ReturnSetInfo *rsinfo, const ResourceModel *model,
			   const TableModel *table, const ColumnModel *column)
{
	bool		nullable = !column->required;
	DescribeRow row = {.part = HoldsValue(column) ? "column" : "key",
		.table = table,.name = column->name,.type = DdlTableColumnType(column),
	.nullable = &nullable,.path = column->path};

	if (column->reference >= 0)
	{
		const ReferenceModel *r = &model->references[column->reference];

		row.refers_to = psprintf("%s.%s", r->project, r->resource);
		row.enforced_by = column->foreign_key ? BY_DATABASE : NULL;
	}
	PutRow(rsinfo, &row);
}

/* Append a path to a list that is separated by commas. */
static void
AppendPath(StringInfo list, const char *path, const char *rest)
{
	appendStringInfo(list, "%s%s%s", list->len > 0 ? ", " : "", path, rest);
}

/* Returns the paths of the values that a unique constraint is about. */
static const char *
UniquePaths(const ResourceModel *model, const TableModel *table,
			const UniqueModel *unique)
{
	StringInfoData list;

	initStringInfo(&list);
	if (unique->natural_key)
		for (int i = 0; i < model->nidentity; i++)
			AppendPath(&list, model->identity[i].path, "");
	else
		for (int i = 0; i < unique->ncolumns; i++)
			if (unique->columns[i] >= table->nkeys)
				AppendPath(&list, table->columns[unique->columns[i]].path, "");
	return list.data;
}

/* Return the columns of a table and its unique constraints. */
static void
DescribeTable(ReturnSetInfo *rsinfo, const ResourceModel *model,
			  const TableModel *table)
{
	for (int i = 0; i < table->ncolumns; i++)
		DescribeColumn(rsinfo, model, table, &table->columns[i]);
	for (int i = 0; i < table->nuniques; i++)
	{
		const UniqueModel *unique = &table->uniques[i];
		DescribeRow row = {.part = unique->natural_key ? "natural key" : "unique",
			.table = table,.name = unique->name,
			.path = UniquePaths(model, table, unique),
		.enforced_by = BY_DATABASE};

		PutRow(rsinfo, &row);
	}
}

/*
 * Return a natural key that is not among the constraints of the model.  All
 * descriptors share a core table that has one; keys that are too wide for an
 * index have none.
 */
static void
DescribeOtherKey(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	bool		descriptor = model->kind == RESOURCE_DESCRIPTOR;
	UniqueModel key = {.natural_key = true};
	DescribeRow row = {.part = "natural key",.table = &model->tables[0],
		.name = descriptor ? "descriptor_nk" : NULL,
		.path = UniquePaths(model, &model->tables[0], &key),
	.enforced_by = descriptor ? BY_DATABASE : BY_WRITES};

	for (int i = 0; i < model->tables[0].nuniques; i++)
		if (model->tables[0].uniques[i].natural_key)
			return;
	if (model->kind != RESOURCE_ABSTRACT)
		PutRow(rsinfo, &row);
}

/* Look up the table that holds the elements of an array. */
static const TableModel *
TableOfArray(const ResourceModel *model, const char *array_path)
{
	for (int i = 0; i < model->ntables; i++)
		if (strcmp(model->tables[i].scope_path, array_path) == 0)
			return &model->tables[i];
	return NULL;
}

/* Return rules of uniqueness that no constraint can express. */
static void
DescribeUncheckedUniqueness(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	for (int i = 0; i < model->nuniqueness; i++)
	{
		const UniquenessModel *uniqueness = &model->uniqueness[i];
		StringInfoData paths;
		DescribeRow row = {.part = "unique",.enforced_by = BY_WRITES};

		if (uniqueness->constraint != NULL)
			continue;
		initStringInfo(&paths);
		for (int j = 0; j < uniqueness->nmembers; j++)
			AppendPath(&paths, uniqueness->array_path, uniqueness->members[j]);
		row.table = TableOfArray(model, uniqueness->array_path);
		row.path = paths.data;
		PutRow(rsinfo, &row);
	}
}

/* Returns true if a rule says in what the elements of an array differ. */
static bool
HasUniqueness(const ResourceModel *model, const TableModel *table)
{
	if (table->nuniques > 0)
		return true;
	for (int i = 0; i < model->nuniqueness; i++)
		if (strcmp(model->uniqueness[i].array_path, table->scope_path) == 0)
			return true;
	return false;
}

/* Return arrays whose elements must differ, if no rule says in what. */
static void
DescribeUniqueItems(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	for (int i = 0; i < model->nscopes; i++)
		for (int j = 0; j < model->scopes[i].nproperties; j++)
		{
			const PropertyModel *property = &model->scopes[i].properties[j];
			DescribeRow row = {.part = "unique",.enforced_by = BY_WRITES};

			if (property->kind != PROPERTY_ARRAY || !property->unique_items)
				continue;
			row.path = psprintf("%s.%s[*]", model->scopes[i].path, property->name);
			row.table = TableOfArray(model, row.path);
			if (row.table != NULL && !HasUniqueness(model, row.table))
				PutRow(rsinfo, &row);
		}
}

/* Return the pairs of paths whose values must be equal. */
static void
DescribeEqualities(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	for (int i = 0; i < model->nequalities; i++)
	{
		const EqualityModel *equality = &model->equalities[i];
		DescribeRow row = {.part = "equality",
			.path = psprintf("%s = %s", equality->source, equality->target),
		.enforced_by = BY_WRITES};

		PutRow(rsinfo, &row);
	}
}

/* Returns the type of the values that a query field is compared with. */
static const char *
QueryType(const QueryPathModel *path)
{
	ColumnModel value = {.value = {.type = path->type,.max_length = -1,.precision = -1}};

	return path->column < 0 ? "uuid" : DdlTableColumnType(&value);
}

/* Return a path of a query field. */
static void
DescribeQueryPath(ReturnSetInfo *rsinfo, const QueryModel *query, const QueryPathModel *path)
{
	DescribeRow row = {.part = "query field",.name = query->name,
	.type = QueryType(path),.path = path->path};

	PutRow(rsinfo, &row);
}

/* Return the fields of queries, with all paths at which they match. */
static void
DescribeQueries(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	for (int i = 0; i < model->nqueries; i++)
	{
		const QueryModel *query = &model->queries[i];

		for (int j = 0; j < query->npaths; j++)
			DescribeQueryPath(rsinfo, query, &query->paths[j]);
		for (int j = 0; j < query->nequals; j++)
			DescribeQueryPath(rsinfo, query, &query->equals[j]);
	}
}

/*
 * Return the values of the identity, by the names that clients know them by.  A
 * descriptor's identity is its URI, which is no value of the document.
 */
static void
DescribeIdentity(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	if (model->kind == RESOURCE_DESCRIPTOR)
		return;
	for (int i = 0; i < model->nidentity; i++)
	{
		const IdentityModel *identity = &model->identity[i];
		DescribeRow row = {.part = "identity",.name = EqualPathsFieldName(model, identity->path),
		.path = identity->path};

		PutRow(rsinfo, &row);
	}
}

/* Return the options of a resource that are set; the type of each is its value. */
static void
DescribeOptions(ReturnSetInfo *rsinfo, const ResourceModel *model)
{
	Jsonb	   *options = ResourceTypeOptions(ResourceTypeId(model->project, model->resource), NULL);
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	key;
	JsonbValue	value;

	if (options == NULL || !JB_ROOT_IS_OBJECT(options))
		return;
	iterator = JsonbIteratorInit(&options->root);
	(void) JsonbIteratorNext(&iterator, &key, true);
	while ((token = JsonbIteratorNext(&iterator, &key, true)) == WJB_KEY)
	{
		DescribeRow row = {.part = "option",.name = pnstrdup(key.val.string.val, key.val.string.len)};

		(void) JsonbIteratorNext(&iterator, &value, true);
		row.type = JsonbToCString(NULL, &JsonbValueToJsonb(&value)->root, 0);
		PutRow(rsinfo, &row);
	}
}

/* Returns the tables and columns of a resource, and the rules that hold for it. */
Datum
dms_describe_resource(PG_FUNCTION_ARGS)
{
	char	   *project = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *resource = text_to_cstring(PG_GETARG_TEXT_PP(1));
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const ResourceModel *model;
	Session		session;

	InitMaterializedSRF(fcinfo, 0);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	model = IntrospectFind(project, resource);
	for (int i = 0; i < model->ntables; i++)
		DescribeTable(rsinfo, model, &model->tables[i]);
	DescribeOtherKey(rsinfo, model);
	DescribeUncheckedUniqueness(rsinfo, model);
	DescribeUniqueItems(rsinfo, model);
	DescribeEqualities(rsinfo, model);
	DescribeIdentity(rsinfo, model);
	DescribeQueries(rsinfo, model);
	DescribeOptions(rsinfo, model);
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/* Returns the options of resources, in load order. */
Datum
dms_resource_options(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Session		session;
	AuditScope	scope;

	InitMaterializedSRF(fcinfo, 0);
	(void) StoreTable(STORE_RESOURCE_TYPE);
	SessionBegin(&session, RIGHTS_OF_CALLER);
	scope = AuditScopeOfArguments(fcinfo);
	for (int i = 0; i < scope.n; i++)
	{
		Datum		values[OPTIONS_COLUMNS];
		bool		nulls[OPTIONS_COLUMNS];
		char	   *type = NULL;
		Jsonb	   *options = ResourceTypeOptions(ResourceTypeId(scope.projects[i], scope.resources[i]), &type);

		SetText(values, nulls, 0, scope.projects[i]);
		SetText(values, nulls, 1, scope.resources[i]);
		SetText(values, nulls, 2, type);
		nulls[3] = options == NULL;
		values[3] = JsonbPGetDatum(options);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SessionEnd(&session);
	PG_RETURN_NULL();
}

/*
 * modelsound.c
 *		Is a model that was read one that we can work with?
 *
 * The store's owner can write to dms.ResourceModel.  What stands there must not
 * make us read memory that is not the model's: every index is within its array,
 * every enumeration has a value that we know, and what lies below something
 * else comes behind it.  A model that is sound may still be wrong; then
 * statements fail.
 */
#include "postgres.h"

#include "model.h"

static void
Require(const ResourceModel *model, bool sound)
{
	if (!sound)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored model of \"%s.%s\" is damaged", model->project, model->resource),
				 errhint("Somebody has written to dms.ResourceModel.")));
}

/* An index; -1 is none. */
static void
RequireLink(const ResourceModel *model, int link, int n)
{
	Require(model, link >= -1 && link < n);
}

static void
RequireIndex(const ResourceModel *model, int index, int n)
{
	Require(model, index >= 0 && index < n);
}

static void
RequireType(const ResourceModel *model, int type)
{
	RequireIndex(model, type, VALUE_TIMESTAMP + 1);
}

static void
RequireTable(const ResourceModel *model, int number)
{
	const TableModel *table = &model->tables[number];

	RequireIndex(model, table->kind, TABLE_EXTENSION + 1);
	RequireLink(model, table->parent, number);
	Require(model, (number == 0) == (table->parent < 0));
	Require(model, table->nkeys >= 1 && table->nkeys <= table->ncolumns);
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ColumnModel *column = &table->columns[i];

		RequireIndex(model, column->role, COLUMN_DISCRIMINATOR + 1);
		RequireType(model, column->value.type);
		RequireLink(model, column->reference, model->nreferences);
		Require(model, column->reference >= 0 ||
				(column->role != COLUMN_REFERENCE && column->role != COLUMN_DESCRIPTOR));
	}
	for (int i = 0; i < table->nuniques; i++)
		for (int j = 0; j < table->uniques[i].ncolumns; j++)
			RequireIndex(model, table->uniques[i].columns[j], table->ncolumns);
}

static void
RequireProperty(const ResourceModel *model, int scope, const PropertyModel *property)
{
	int			ncolumns = model->tables[model->scopes[scope].table].ncolumns;
	bool		has_reference = property->kind == PROPERTY_REFERENCE || property->kind == PROPERTY_DESCRIPTOR;
	bool		has_column = property->kind == PROPERTY_SCALAR || has_reference;
	bool		has_scope = property->kind != PROPERTY_SCALAR && property->kind != PROPERTY_DESCRIPTOR &&
	property->kind != PROPERTY_MEMBER;

	RequireIndex(model, property->kind, PROPERTY_EXTENSION + 1);
	RequireType(model, property->value.type);
	RequireLink(model, property->column, ncolumns);
	RequireLink(model, property->reference, model->nreferences);
	RequireLink(model, property->scope, model->nscopes);
	Require(model, !has_column || property->column >= 0);
	Require(model, !has_reference || property->reference >= 0);
	Require(model, !has_scope || property->scope > scope);
}

static void
RequireScope(const ResourceModel *model, int number)
{
	const ScopeModel *scope = &model->scopes[number];

	RequireIndex(model, scope->table, model->ntables);
	for (int i = 0; i < scope->nproperties; i++)
		RequireProperty(model, number, &scope->properties[i]);
}

/* Where a value comes from a reference, it is one of its members. */
static void
RequireMember(const ResourceModel *model, int reference, int member)
{
	RequireLink(model, reference, model->nreferences);
	if (reference >= 0)
		RequireLink(model, member, model->references[reference].nmembers);
}

static void
RequireReference(const ResourceModel *model, const ReferenceModel *reference)
{
	RequireIndex(model, reference->table, model->ntables);
	RequireIndex(model, reference->column, model->tables[reference->table].ncolumns);
	RequireLink(model, reference->projection, model->nprojections);
	if (!reference->descriptor)
	{
		RequireIndex(model, reference->projection, model->nprojections);
		Require(model, model->projections[reference->projection].nvalues == reference->nmembers);
	}
	for (int i = 0; i < reference->nmembers; i++)
	{
		RequireType(model, reference->members[i].type);
		Require(model, (reference->members[i].descriptor_project == NULL) ==
				(reference->members[i].descriptor_resource == NULL));
	}
}

static void
RequireIdentity(const ResourceModel *model, const IdentityModel *identity)
{
	RequireType(model, identity->type);
	RequireIndex(model, identity->column, model->tables[0].ncolumns);
	RequireMember(model, identity->reference, identity->member);
	Require(model, identity->reference < 0 || identity->member >= 0);
}

static void
RequireProjection(const ResourceModel *model, const ProjectionModel *projection)
{
	for (int i = 0; i < projection->njoins; i++)
	{
		RequireLink(model, projection->joins[i].from, i);
		Require(model, (i == 0) == (projection->joins[i].from < 0));
		Require(model, i == 0 || projection->joins[i].from_column != NULL);
	}
	for (int i = 0; i < projection->nvalues; i++)
	{
		RequireIndex(model, projection->values[i].join, projection->njoins);
		RequireType(model, projection->values[i].type);
	}
}

static void
RequireQuery(const ResourceModel *model, const QueryModel *query)
{
	for (int i = 0; i < query->npaths; i++)
	{
		RequireType(model, query->paths[i].type);
		RequireLink(model, query->paths[i].column, model->tables[0].ncolumns);
		RequireMember(model, query->paths[i].reference, query->paths[i].member);
	}
}

/* Refuse a model that is not sound. */
void
ModelRequireSound(const ResourceModel *model)
{
	RequireIndex(model, model->kind, RESOURCE_ABSTRACT + 1);
	Require(model, model->ntables > 0 && model->nprojections > 0);
	Require(model, model->nscopes > 0 || model->kind == RESOURCE_ABSTRACT);
	Require(model, model->projections[0].nvalues == model->nidentity);
	Require(model, (model->superclass_project == NULL) == (model->superclass_resource == NULL));
	Require(model, (model->member_schema == NULL) == (model->member_table == NULL));
	for (int i = 0; i < model->ntables; i++)
		RequireTable(model, i);
	for (int i = 0; i < model->nscopes; i++)
		RequireScope(model, i);
	for (int i = 0; i < model->nreferences; i++)
		RequireReference(model, &model->references[i]);
	for (int i = 0; i < model->nidentity; i++)
		RequireIdentity(model, &model->identity[i]);
	for (int i = 0; i < model->nprojections; i++)
		RequireProjection(model, &model->projections[i]);
	for (int i = 0; i < model->nqueries; i++)
		RequireQuery(model, &model->queries[i]);
}

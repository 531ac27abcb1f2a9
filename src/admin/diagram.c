/*
 * diagram.c
 *		dms.schema_diagram(): a resource and its neighbours as a Mermaid entity
 *		relationship diagram.
 *
 * The tables of the resource are drawn with their columns, and named as tables
 * ("edfi.Section"); the resources around it are drawn without, and named as
 * resources ("Ed-Fi.Course").  A solid line is part of an identity, a dashed
 * one is not.  Descriptors are columns only: as boxes they would cover
 * everything else.
 */
#include "postgres.h"

#include <ctype.h>

#include "admin/introspect.h"
#include "engine/session.h"
#include "fmgr.h"
#include "schema/ddltable.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_schema_diagram);

typedef struct Diagram
{
	StringInfoData out;
	const ResourceModel *model;
} Diagram;

/* Returns true if this is the name of the resource. */
static bool
IsNamed(const ResourceModel *model, const char *project, const char *resource)
{
	return resource != NULL && strcmp(model->resource, resource) == 0 &&
		strcmp(model->project, project) == 0;
}

/*
 * Returns a string between quotes.  Characters that could end the quotes, or
 * would be read as markup, are left out.
 */
static char *
Quoted(const char *string)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, '"');
	for (const char *c = string; *c; c++)
		if (strchr("\"%\\`", *c) == NULL && (unsigned char) *c >= ' ')
			appendStringInfoChar(&out, *c);
	appendStringInfoChar(&out, '"');
	return out.data;
}

/* Returns a table's readable name, if it is its name in SQL, too, else that. */
static char *
TableEntity(const TableModel *table)
{
	bool		readable = pg_strcasecmp(table->title, table->name) == 0;

	return Quoted(psprintf("%s.%s", table->schema, readable ? table->title : table->name));
}

/* Returns the name of a resource as an entity. */
static char *
ResourceEntity(const char *project, const char *resource)
{
	return Quoted(psprintf("%s.%s", project, resource));
}

/* Returns the name of a table of ours.  All descriptors share one: use the resource's. */
static char *
OwnEntity(const ResourceModel *model, const TableModel *table)
{
	return model->kind == RESOURCE_DESCRIPTOR ?
		ResourceEntity(model->project, model->resource) : TableEntity(table);
}

/* Returns a path relative to a scope as a label, without "$." and "[*]". */
static char *
PathLabel(const char *path, const char *scope)
{
	size_t		length = strlen(scope);
	StringInfoData out;

	if (strncmp(path, scope, length) == 0 && path[length] == '.')
		path += length + 1;
	initStringInfo(&out);
	for (; *path; path++)
	{
		if (strncmp(path, "[*]", 3) == 0)
			path += 2;
		else
			appendStringInfoChar(&out, *path);
	}
	return out.data;
}

/* Returns the type of a column as one word, without commas. */
static const char *
TypeWord(const ColumnModel *column)
{
	switch (column->value.type)
	{
		case VALUE_NUMERIC:
			return "numeric";
		case VALUE_TIME:
			return "time";
		case VALUE_TIMESTAMP:
			return "timestamptz";
		default:
			return DdlTableColumnType(column);
	}
}

/* Returns a column's name as Mermaid accepts it: one word, and no kind of key. */
static char *
NameWord(const char *name)
{
	bool		key = pg_strcasecmp(name, "pk") == 0 ||
	pg_strcasecmp(name, "fk") == 0 || pg_strcasecmp(name, "uk") == 0;
	bool		digit = name[0] >= '0' && name[0] <= '9';
	char	   *word = psprintf("%s%s%s", digit ? "_" : "", name, key ? "_" : "");

	for (char *c = word; *c; c++)
		if (!IS_HIGHBIT_SET(*c) && !isalnum((unsigned char) *c))
			*c = '_';
	return word;
}

/* Returns " PK", " FK", " UK", several of them, or nothing. */
static const char *
KeyWords(const TableModel *table, int column)
{
	bool		primary = column < table->nkeys;
	bool		foreign = table->columns[column].reference >= 0 ||
	(table->parent >= 0 && column == 0);

	if (primary)
		return foreign ? " PK, FK" : " PK";
	if (foreign)
		return table->columns[column].identity ? " FK, UK" : " FK";
	return table->columns[column].identity ? " UK" : "";
}

/* Append a column of a table: type, name, kind of key and place in the document. */
static void
DrawColumn(StringInfo out, const TableModel *table, int column)
{
	const ColumnModel *c = &table->columns[column];

	appendStringInfo(out, "        %s %s%s", TypeWord(c), NameWord(c->name),
					 KeyWords(table, column));
	if (c->path != NULL)
		appendStringInfo(out, " %s", Quoted(psprintf("%s%s", PathLabel(c->path, table->scope_path),
													 c->required ? "" : " (optional)")));
	appendStringInfoChar(out, '\n');
}

/* Append a table with all its columns. */
static void
DrawTable(StringInfo out, const ResourceModel *model, const TableModel *table)
{
	appendStringInfo(out, "    %s {\n", OwnEntity(model, table));
	for (int i = 0; i < table->ncolumns; i++)
		DrawColumn(out, table, i);
	appendStringInfoString(out, "    }\n");
}

/* Append a relationship between two entities. */
static void
DrawLine(StringInfo out, const char *from, const char *line, const char *to,
		 const char *label)
{
	appendStringInfo(out, "    %s %s %s : %s\n", from, line, to, Quoted(label));
}

/* Append the line between a collection or extension and its parent. */
static void
DrawParent(StringInfo out, const ResourceModel *model, const TableModel *table)
{
	const TableModel *parent = &model->tables[table->parent];

	DrawLine(out, TableEntity(parent),
			 table->kind == TABLE_EXTENSION ? "||--o|" : "||--o{",
			 TableEntity(table), PathLabel(table->scope_path, parent->scope_path));
}

/* Returns the line of a reference: any number of rows refer to one document or none. */
static const char *
ReferenceLine(const ReferenceModel *reference, bool required)
{
	if (reference->identity)
		return required ? "||--o{" : "|o--o{";
	return required ? "||..o{" : "|o..o{";
}

/* Append the line of a reference from the resource, unless it is to a descriptor. */
static void
DrawReference(StringInfo out, const ResourceModel *model,
			  const ReferenceModel *reference)
{
	const TableModel *table = &model->tables[reference->table];
	bool		itself = IsNamed(model, reference->project, reference->resource);

	if (reference->descriptor)
		return;
	DrawLine(out, itself ? TableEntity(&model->tables[0]) :
			 ResourceEntity(reference->project, reference->resource),
			 ReferenceLine(reference, table->columns[reference->column].required),
			 TableEntity(table), PathLabel(reference->path, table->scope_path));
}

/* Append a line for each reference of another resource to ours. */
static void
DrawReferencesToUs(Diagram *diagram, const ResourceModel *other)
{
	const ResourceModel *model = diagram->model;

	for (int i = 0; i < other->nreferences; i++)
	{
		const ReferenceModel *r = &other->references[i];
		const TableModel *table = &other->tables[r->table];

		if (!IsNamed(model, r->project, r->resource))
			continue;
		/* From within a collection, one document refers to any number. */
		DrawLine(&diagram->out, OwnEntity(model, &model->tables[0]),
				 table->nkeys > 1 ? "}o..o{" :
				 ReferenceLine(r, table->columns[r->column].required),
				 ResourceEntity(other->project, other->resource),
				 PathLabel(r->path, "$"));
	}
}

/* Append the line to another resource that is a subclass of ours. */
static void
DrawSubclass(Diagram *diagram, const ResourceModel *other)
{
	const ResourceModel *model = diagram->model;

	if (IsNamed(model, other->superclass_project, other->superclass_resource))
		DrawLine(&diagram->out, OwnEntity(model, &model->tables[0]), "||--o|",
				 ResourceEntity(other->project, other->resource), "subclass");
}

/* Append all lines between another resource and ours. */
static void
DrawNeighbour(const ResourceModel *other, void *arg)
{
	Diagram    *diagram = arg;

	if (IsNamed(diagram->model, other->project, other->resource))
		return;
	DrawSubclass(diagram, other);
	/* References of an abstract resource are those of its subclasses. */
	if (other->kind != RESOURCE_ABSTRACT)
		DrawReferencesToUs(diagram, other);
}

/* Append the tables of the resource, and all lines that it has by itself. */
static void
DrawResource(StringInfo out, const ResourceModel *model)
{
	for (int i = 0; i < model->ntables; i++)
		DrawTable(out, model, &model->tables[i]);
	for (int i = 0; i < model->ntables; i++)
		if (model->tables[i].parent >= 0)
			DrawParent(out, model, &model->tables[i]);
	if (model->superclass_resource != NULL)
		DrawLine(out, ResourceEntity(model->superclass_project, model->superclass_resource),
				 "||--o|", TableEntity(&model->tables[0]), "subclass");
	for (int i = 0; i < model->nreferences; i++)
		DrawReference(out, model, &model->references[i]);
}

/* Returns the diagram in the language of Mermaid. */
Datum
dms_schema_diagram(PG_FUNCTION_ARGS)
{
	char	   *project = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *resource = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Session		session;
	Diagram		diagram;

	initStringInfo(&diagram.out);
	appendStringInfoString(&diagram.out, "erDiagram\n");
	SessionBegin(&session, RIGHTS_OF_CALLER);
	diagram.model = IntrospectFind(project, resource);
	DrawResource(&diagram.out, diagram.model);
	IntrospectNeighbours(diagram.model, DrawNeighbour, &diagram);
	SessionEnd(&session);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(diagram.out.data, diagram.out.len - 1));
}

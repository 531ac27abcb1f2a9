/*
 * flatten.c
 *		Turning a canonical body into rows of the resource's tables.
 *
 * The walk relies on a body that was checked: every node knows its property,
 * and references are complete.
 */
#include "postgres.h"

#include "base/grow.h"
#include "document/flatten.h"
#include "document/identity.h"
#include "miscadmin.h"
#include "model/value.h"
#include "utils/builtins.h"

/* A position of the walk: the row that values go to, and the ordinals of its key. */
typedef struct FlatPlace
{
	int			table;
	int			row;
	int			ordinals[MODEL_MAX_DEPTH];
	int			depth;
} FlatPlace;

static void FlattenObject(FlatDocument *flat, const JNode *object,
						  const FlatPlace *place);

/* Add a row; all its columns are null except the ordinals of its key. */
static int
AddRow(FlatDocument *flat, int table, const FlatPlace *place)
{
	RowSet	   *set = &flat->tables[table];
	const TableModel *model = &flat->model->tables[table];
	Row		   *row;

	GROW(set->rows, set->nrows);
	row = &set->rows[set->nrows];
	row->values = palloc0(sizeof(Datum) * model->ncolumns);
	row->nulls = palloc(sizeof(bool) * model->ncolumns);
	memset(row->nulls, true, sizeof(bool) * model->ncolumns);
	for (int i = 0; i + 1 < model->nkeys; i++)
	{
		row->values[i + 1] = Int32GetDatum(place->ordinals[i]);
		row->nulls[i + 1] = false;
	}
	return set->nrows++;
}

/* Add a reference; its column is filled when it has been resolved. */
static void
AddUse(FlatDocument *flat, const PropertyModel *property, JNode *node,
	   const FlatPlace *place)
{
	ReferenceUse *use;

	GROW(flat->uses, flat->nuses);
	use = &flat->uses[flat->nuses++];
	memset(use, 0, sizeof(ReferenceUse));
	use->reference = &flat->model->references[property->reference];
	use->node = node;
	use->row = place->row;
	IdentityOfReference(use);
}

/* Set the column of a scalar value. */
static void
SetValue(FlatDocument *flat, const PropertyModel *property, const JNode *node,
		 const FlatPlace *place)
{
	Row		   *row = &flat->tables[place->table].rows[place->row];

	row->values[property->column] = ValueToDatum(node->text, node->length, property->value.type);
	row->nulls[property->column] = false;
}

/*
 * Flatten the elements of an array; each is a row of the collection's table.
 */
static void
FlattenArray(FlatDocument *flat, const PropertyModel *property,
			 const JNode *array, const FlatPlace *place)
{
	FlatPlace	element = *place;
	int			ordinal = 0;

	element.table = flat->model->scopes[property->scope].table;
	if (place->depth == MODEL_MAX_DEPTH)
		elog(ERROR, "arrays are nested too deeply");
	element.depth = place->depth + 1;
	foreach_child(child, array)
	{
		CHECK_FOR_INTERRUPTS();
		element.ordinals[place->depth] = ordinal++;
		element.row = AddRow(flat, element.table, &element);
		FlattenObject(flat, child, &element);
	}
}

/* Flatten an extension; it is a row beside the row that it extends. */
static void
FlattenExtension(FlatDocument *flat, const PropertyModel *property,
				 const JNode *node, const FlatPlace *place)
{
	FlatPlace	extension = *place;

	extension.table = flat->model->scopes[property->scope].table;
	extension.row = AddRow(flat, extension.table, &extension);
	FlattenObject(flat, node, &extension);
}

/* Flatten the members of an object. */
static void
FlattenObject(FlatDocument *flat, const JNode *object, const FlatPlace *place)
{
	foreach_child(child, object)
	{
		const PropertyModel *property = child->meaning;

		switch ((PropertyKind) property->kind)
		{
			case PROPERTY_SCALAR:
				SetValue(flat, property, child, place);
				break;
			case PROPERTY_DESCRIPTOR:
			case PROPERTY_REFERENCE:
				AddUse(flat, property, child, place);
				break;
			case PROPERTY_OBJECT:
				FlattenObject(flat, child, place);
				break;
			case PROPERTY_EXTENSION:
				FlattenExtension(flat, property, child, place);
				break;
			case PROPERTY_ARRAY:
				FlattenArray(flat, property, child, place);
				break;
			case PROPERTY_MEMBER:
				break;
		}
	}
}

/* Set the URI and the discriminator in the row of a descriptor. */
static void
CompleteDescriptor(FlatDocument *flat, JNode *body)
{
	const TableModel *table = &flat->model->tables[0];
	Row		   *row = &flat->tables[0].rows[0];

	for (int i = 0; i < table->ncolumns; i++)
	{
		char	   *text;

		if (table->columns[i].role == COLUMN_DISCRIMINATOR)
			text = psprintf("%s:%s", flat->model->project, flat->model->resource);

		else if (table->columns[i].role == COLUMN_URI)
			text = psprintf("%s#%s", JsonTreeAt(body, "$.namespace")->text,
							JsonTreeAt(body, "$.codeValue")->text);

		else
			continue;
		row->values[i] = CStringGetTextDatum(text);
		row->nulls[i] = false;
	}
}

/* Make the rows, references and identity of a body. */
FlatDocument *
Flatten(const ResourceModel *model, JNode *body)
{
	FlatDocument *flat = palloc0(sizeof(FlatDocument));
	FlatPlace	root = {0};

	flat->model = model;
	flat->tables = palloc0(sizeof(RowSet) * model->ntables);
	root.row = AddRow(flat, 0, &root);
	FlattenObject(flat, body, &root);
	if (model->kind == RESOURCE_DESCRIPTOR)
		CompleteDescriptor(flat, body);
	IdentityCompute(flat, body);
	return flat;
}

/*
 * Put the id of the document into all rows and into its references to itself.
 */
static void
SetOwnId(FlatDocument *flat, int64 document_id)
{
	for (int i = 0; i < flat->model->ntables; i++)
		for (int j = 0; j < flat->tables[i].nrows; j++)
		{
			flat->tables[i].rows[j].values[0] = Int64GetDatum(document_id);
			flat->tables[i].rows[j].nulls[0] = false;
		}
	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].own)
			flat->uses[i].document_id = document_id;
}

/*
 * Put the ids of the document and of the documents that it refers to into the
 * columns of its rows.
 */
void
FlattenSetIds(FlatDocument *flat, int64 document_id)
{
	SetOwnId(flat, document_id);
	for (int i = 0; i < flat->nuses; i++)
	{
		const ReferenceUse *use = &flat->uses[i];
		Row		   *row = &flat->tables[use->reference->table].rows[use->row];

		row->values[use->reference->column] = Int64GetDatum(use->document_id);
		row->nulls[use->reference->column] = false;
	}
}

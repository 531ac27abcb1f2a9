/*
 * reconstitute.c
 *		Writing the JSON of documents from their rows.
 *
 * The walk follows the scopes of the model, as the flattening of a body does.
 * The rows of all tables are in order of their keys, and documents are written
 * in order, so every table is read once from start to end.
 *
 * Properties are in byte order of their names, followed by "_ext".  An object
 * without members is not written, except as an element of an array.
 */
#include "postgres.h"

#include "document/reconstitute.h"
#include "miscadmin.h"
#include "model/jsonwrite.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* The property that follows all others. */
#define EXTENSIONS "_ext"

static void WriteMembers(StoredPage *page, int scope, int row, StringInfo out);

/* Compare the first columns of two keys: the document, then ordinals. */
static int
CompareKeys(const Datum *a, const Datum *b, int n)
{
	if (DatumGetInt64(a[0]) != DatumGetInt64(b[0]))
		return DatumGetInt64(a[0]) < DatumGetInt64(b[0]) ? -1 : 1;
	for (int i = 1; i < n; i++)
		if (DatumGetInt32(a[i]) != DatumGetInt32(b[i]))
			return DatumGetInt32(a[i]) < DatumGetInt32(b[i]) ? -1 : 1;
	return 0;
}

/*
 * Take the next row of a table if it belongs to this row of the parent table.
 * Rows that belong to earlier rows are skipped.
 */
static bool
TakeRowBelow(StoredPage *page, int table, int parent, int parent_row, int *row)
{
	StoredRows *rows = &page->tables[table];
	const Datum *key = StoredRowValues(&page->tables[parent], parent_row);
	int			nkeys = page->resource->model->tables[parent].nkeys;

	while (rows->next < rows->nrows)
	{
		int			order = CompareKeys(StoredRowValues(rows, rows->next), key, nkeys);

		if (order > 0)
			break;
		*row = rows->next++;
		if (order == 0)
			return true;
	}
	return false;
}

/* Write a descriptor's URI, if the descriptor is visible. */
static void
WriteDescriptor(const StoredPage *page, const char *name, int64 document_id, StringInfo out)
{
	const bool *nulls;
	const Datum *values = StoredPageTarget(&page->descriptors, document_id, &nulls);

	if (values == NULL)
		return;
	JsonWriteName(out, name);
	JsonWriteValue(out, values[1], VALUE_TEXT);
}

/* Returns the number of the member of a reference with a name, or -1. */
static int
FindMember(const ReferenceModel *reference, const char *name)
{
	for (int i = 0; i < reference->nmembers; i++)
		if (strcmp(reference->members[i].name, name) == 0)
			return i;
	return -1;
}

/* Write a reference object, with the current identity of its target. */
static void
WriteReference(const StoredPage *page, const PropertyModel *property,
			   int64 document_id, StringInfo out)
{
	const ResourceModel *model = page->resource->model;
	const ReferenceModel *reference = &model->references[property->reference];
	const ProjectionModel *projection = &model->projections[reference->projection];
	const ScopeModel *scope = &model->scopes[property->scope];
	const bool *nulls;
	const Datum *values = StoredPageTarget(&page->targets[reference->projection],
										   document_id, &nulls);

	if (values == NULL)
		return;
	JsonWriteName(out, property->name);
	appendStringInfoChar(out, '{');
	for (int i = 0; i < scope->nproperties; i++)
	{
		int			member = FindMember(reference, scope->properties[i].name);

		if (member < 0 || nulls[member + 1])
			continue;
		JsonWriteName(out, scope->properties[i].name);
		JsonWriteValue(out, values[member + 1], projection->values[member].type);
	}
	appendStringInfoChar(out, '}');
}

/*
 * Write an array; its elements are the rows that belong to the parent's row.
 */
static void
WriteArray(StoredPage *page, const PropertyModel *property, int parent, int parent_row,
		   StringInfo out)
{
	int			table = page->resource->model->scopes[property->scope].table;
	bool		first = true;
	int			row;

	while (TakeRowBelow(page, table, parent, parent_row, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (first)
		{
			JsonWriteName(out, property->name);
			appendStringInfoChar(out, '[');
		}
		else
			appendStringInfoChar(out, ',');
		first = false;
		appendStringInfoChar(out, '{');
		WriteMembers(page, property->scope, row, out);
		appendStringInfoChar(out, '}');
	}
	if (!first)
		appendStringInfoChar(out, ']');
}

/* Write an object from the columns of a row, unless it has no members. */
static void
WriteObject(StoredPage *page, const PropertyModel *property, int row, StringInfo out)
{
	int			start = out->len;
	int			inside;

	JsonWriteName(out, property->name);
	appendStringInfoChar(out, '{');
	inside = out->len;
	WriteMembers(page, property->scope, row, out);
	if (out->len > inside)
		appendStringInfoChar(out, '}');
	else
	{
		out->len = start;
		out->data[start] = '\0';
	}
}

/* Write one property of a scope, if the row has a value for it. */
static void
WriteProperty(StoredPage *page, const ScopeModel *scope, const PropertyModel *property,
			  int row, StringInfo out)
{
	const StoredRows *rows = &page->tables[scope->table];
	Datum		value = (Datum) 0;
	int			extension;

	if (property->column >= 0)
	{
		if (StoredRowNulls(rows, row)[property->column])
			return;
		value = StoredRowValues(rows, row)[property->column];
	}
	switch ((PropertyKind) property->kind)
	{
		case PROPERTY_SCALAR:
			JsonWriteName(out, property->name);
			JsonWriteValue(out, value, property->value.type);
			break;
		case PROPERTY_DESCRIPTOR:
			WriteDescriptor(page, property->name, DatumGetInt64(value), out);
			break;
		case PROPERTY_REFERENCE:
			WriteReference(page, property, DatumGetInt64(value), out);
			break;
		case PROPERTY_OBJECT:
			WriteObject(page, property, row, out);
			break;
		case PROPERTY_ARRAY:
			WriteArray(page, property, scope->table, row, out);
			break;
		case PROPERTY_EXTENSION:
			if (TakeRowBelow(page, page->resource->model->scopes[property->scope].table,
							 scope->table, row, &extension))
				WriteObject(page, property, extension, out);
			break;
		case PROPERTY_MEMBER:
			break;
	}
}

/* Write all properties of a scope, extensions last. */
static void
WriteMembers(StoredPage *page, int scope_index, int row, StringInfo out)
{
	const ScopeModel *scope = &page->resource->model->scopes[scope_index];
	const PropertyModel *extensions = NULL;

	for (int i = 0; i < scope->nproperties; i++)
	{
		const PropertyModel *property = &scope->properties[i];

		if (property->name[0] == '_' && strcmp(property->name, EXTENSIONS) == 0)
			extensions = property;
		else
			WriteProperty(page, scope, property, row, out);
	}
	if (extensions != NULL)
		WriteProperty(page, scope, extensions, row, out);
}

/* Write a uuid as a string. */
static void
WriteUuid(StringInfo out, const pg_uuid_t *uuid)
{
	static const char hex[] = "0123456789abcdef";

	appendStringInfoCharMacro(out, '"');
	enlargeStringInfo(out, 2 * UUID_LEN + 4);
	for (int i = 0; i < UUID_LEN; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out->data[out->len++] = '-';
		out->data[out->len++] = hex[uuid->data[i] >> 4];
		out->data[out->len++] = hex[uuid->data[i] & 0x0f];
	}
	out->data[out->len] = '\0';
	appendStringInfoCharMacro(out, '"');
}

/*
 * Append the JSON of a document of the page.  Documents must be written in the
 * order that they have in the page.
 */
void
Reconstitute(StoredPage *page, int document, StringInfo out)
{
	DocumentHeader header;

	StoredPageHeader(page, document, &header);
	appendStringInfoString(out, "{\"id\":");
	WriteUuid(out, &header.uuid);
	WriteMembers(page, 0, document, out);
	appendStringInfoString(out, ",\"_etag\":\"");
	JsonWriteInteger(out, header.etag);
	appendStringInfoString(out, "\",\"_lastModifiedDate\":");
	JsonWriteValue(out, TimestampTzGetDatum(header.last_modified), VALUE_TIMESTAMP);
	appendStringInfoChar(out, '}');
}

/*
 * Write the JSON of a document of the page as a value of type json, in the place of
 * what is in the buffer, which holds the value then.
 */
text *
ReconstituteValue(StoredPage *page, int document, StringInfo out)
{
	resetStringInfo(out);
	appendStringInfoSpaces(out, VARHDRSZ);
	Reconstitute(page, document, out);
	SET_VARSIZE(out->data, out->len);
	return (text *) out->data;
}

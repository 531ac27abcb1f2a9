/*
 * latest.c
 *		dms.latest_version(): what a cache keeps of a document.
 *
 * The value says which version it is.  So a cache that compares versions never goes
 * back to an earlier one, whoever sets it.
 */
#include "postgres.h"

#include "base/datetime.h"
#include "base/uuid.h"
#include "document/reconstitute.h"
#include "document/storedpage.h"
#include "fmgr.h"
#include "model/jsonwrite.h"
#include "model/resourceoptions.h"
#include "utils/builtins.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_latest_version);

/* Write the text in a column of the root table of the only document of a page, or null. */
static void
WriteText(const StoredPage *page, int column, StringInfo out)
{
	if (column < 0 || StoredRowNulls(&page->tables[0], 0)[column])
		appendStringInfoString(out, "null");
	else
		JsonWriteValue(out, StoredRowValues(&page->tables[0], 0)[column], VALUE_TEXT);
}

/* Write the only document of a page as a cache keeps it. */
static void
WriteLatest(StoredPage *page, const DocumentHeader *header, StringInfo out)
{
	const ResourceOptions *options = ReadOptionsOf(page->resource);

	appendStringInfo(out, "{\"documentId\":\"%s\",\"title\":", UuidText(&header->uuid));
	WriteText(page, options->title, out);
	appendStringInfo(out, ",\"version\":" INT64_FORMAT ",\"content\":", header->etag);
	if (options->content >= 0)
		WriteText(page, options->content, out);
	else
		Reconstitute(page, 0, out);
	appendStringInfo(out, ",\"updatedAt\":\"%s\"}", DateTimeMillisText(header->last_modified));
}

/* Return the latest version of a document as a cache keeps it; NULL if there is none. */
Datum
dms_latest_version(PG_FUNCTION_ARGS)
{
	StringInfoData out;
	Session		session;
	DocumentHeader header;
	Resource   *resource;
	StoredPage *page = NULL;

	initStringInfo(&out);
	appendStringInfoSpaces(&out, VARHDRSZ);
	ReadBegin(&session);
	if (DocumentRead(PG_GETARG_UUID_P(0), &header, &resource))
		page = StoredPageReadOne(resource, &header);
	if (page != NULL && page->tables[0].nrows > 0)
		WriteLatest(page, &header, &out);
	SessionEnd(&session);
	if (out.len == VARHDRSZ)
		PG_RETURN_NULL();
	SET_VARSIZE(out.data, out.len);
	PG_RETURN_TEXT_P((text *) out.data);
}

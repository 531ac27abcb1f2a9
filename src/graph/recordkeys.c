/*
 * recordkeys.c
 *		The keys of records: strings that name documents and relations.
 *
 * A key is a kind, "#", and a URN: Child#urn:{domain}:{type}::{id}.  The order of
 * such strings, byte by byte, is that of far ends: by type, and by id within a type.
 * So a prefix of a key is a range of them.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "engine/storerow.h"
#include "graph/recordkeys.h"

/* The length of a uuid as text. */
#define UUID_TEXT 36

/* Returns what follows the kind and "#" in a key; NULL if it is of another kind. */
const char *
RecordKeyRest(const char *key, const char *kind)
{
	size_t		length = strlen(kind);

	return strncmp(key, kind, length) == 0 && key[length] == '#' ? key + length + 1 : NULL;
}

/*
 * Set the bounds of uuids that begin with a text; returns false if none does.  The
 * text is filled up to a whole uuid, with the lowest and the highest digits.
 */
static bool
SetBounds(const char *text, FarEndQuery *query)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	char		low[UUID_TEXT + 1] = "00000000-0000-0000-0000-000000000000";
	char		high[UUID_TEXT + 1] = "ffffffff-ffff-ffff-ffff-ffffffffffff";
	size_t		length = strlen(text);

	if (length > UUID_TEXT)
		return false;
	for (size_t i = 0; i < length; i++)
	{
		if (form[i] == '-' ? text[i] != '-' : strchr("0123456789abcdef", text[i]) == NULL)
			return false;
		low[i] = high[i] = text[i];
	}
	return UuidParse(low, &query->lowest) && UuidParse(high, &query->highest);
}

/*
 * Restrict a query to the far ends whose keys begin with a prefix.  Returns false if
 * there can be none.
 */
bool
RecordKeyRange(const char *prefix, const char *kind, FarEndQuery *query)
{
	char	   *head = psprintf("%s#" URN_SCHEME "%s:", kind, StoreRowLimits()->urn_domain);
	size_t		length = strlen(head);
	const char *end;
	const char *type;

	if (kind[0] == '\0')
	{
		head++;
		length--;
	}
	if (strlen(prefix) <= length)
		return strncmp(prefix, head, strlen(prefix)) == 0;
	if (strncmp(prefix, head, length) != 0)
		return false;
	type = prefix + length;
	end = strchr(type, ':');
	query->type_is_prefix = end == NULL;
	query->type = end == NULL ? type : pnstrdup(type, end - type);
	if (end == NULL || end[1] == '\0')
		return true;
	return end[1] == ':' && SetBounds(end + 2, query);
}

/* Let a query continue after the far end of a key. */
void
RecordKeyAfter(const char *after, const char *kind, FarEndQuery *query)
{
	const char *rest = kind[0] == '\0' ? after : RecordKeyRest(after, kind);
	Urn			urn;

	if (rest == NULL || !UrnParse(rest, &urn) || !UuidParse(urn.id, &query->after))
		ReportError(PROBLEM_ARGUMENT, NULL, "not a sort key to continue after: \"%s\"", after);
	query->after_type = urn.type;
}

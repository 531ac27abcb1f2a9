/*
 * urn.c
 *		URNs of documents: taking them apart and writing them.
 *
 * A URN names a document by the domain of its store, the type of its resource, and
 * its id: urn:{domain}:{type}::{id}.  It is computed, so there is no table of URNs.
 * Ids of this store are uuids, but the parts of other URNs can be read as well.
 */
#include "postgres.h"

#include "base/report.h"
#include "base/urn.h"
#include "base/uuid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(dms_parse_urn);

/* The longest domain, type and id. */
#define MAX_DOMAIN 32
#define MAX_TYPE 513
#define MAX_ID 256

/* The separator of type and id. */
#define ID_SEPARATOR "::"

/* Returns true if a string has 1 to max ASCII letters, digits, and other characters. */
static bool
IsWord(const char *string, int length, int max, const char *others)
{
	if (length < 1 || length > max)
		return false;
	for (int i = 0; i < length; i++)
	{
		char		c = string[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
			(c == '\0' || strchr(others, c) == NULL))
			return false;
	}
	return true;
}

/* Returns true if a string begins like a URN. */
bool
UrnIsMeant(const char *string)
{
	return pg_strncasecmp(string, URN_SCHEME, strlen(URN_SCHEME)) == 0;
}

/* Returns true if a string can be the domain of URNs. */
bool
UrnIsDomain(const char *string, int length)
{
	return IsWord(string, length, MAX_DOMAIN, "-");
}

/* Returns true if a string can be the type in a URN. */
bool
UrnIsType(const char *string, int length)
{
	return IsWord(string, length, MAX_TYPE, ".-");
}

/* Take a URN apart; returns false if it is not one. */
bool
UrnParse(const char *string, Urn *urn)
{
	const char *domain = string + strlen(URN_SCHEME);
	const char *type;
	const char *id;

	if (!UrnIsMeant(string))
		return false;
	type = strchr(domain, ':');
	if (type == NULL || !UrnIsDomain(domain, (int) (type - domain)))
		return false;
	type++;
	id = strstr(type, ID_SEPARATOR);
	if (id == NULL || !UrnIsType(type, (int) (id - type)) ||
		!IsWord(id + strlen(ID_SEPARATOR), (int) strnlen(id + strlen(ID_SEPARATOR), MAX_ID + 1), MAX_ID, "-._~"))
		return false;
	urn->domain = pnstrdup(domain, type - 1 - domain);
	urn->type = pnstrdup(type, id - type);
	urn->id = pstrdup(id + strlen(ID_SEPARATOR));
	return true;
}

/*
 * Compare types as URNs that contain them are compared, byte by byte: what follows a
 * type there is a colon, which is greater than a dot, a hyphen and all digits.
 */
int
UrnCompareTypes(const char *left, const char *right)
{
	while (*left != '\0' && *left == *right)
	{
		left++;
		right++;
	}
	if (*left == *right)
		return 0;
	return (unsigned char) (*left != '\0' ? *left : ':') < (unsigned char) (*right != '\0' ? *right : ':') ? -1 : 1;
}

/* Returns the URN of a document. */
char *
UrnWrite(const char *domain, const char *type, const pg_uuid_t *id)
{
	char	   *text = UuidText(id);
	char	   *urn = psprintf(URN_SCHEME "%s:%s" ID_SEPARATOR "%s", domain, type, text);

	pfree(text);
	return urn;
}

/* Return the parts of a URN. */
Datum
dms_parse_urn(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Urn			urn;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	if (!UrnParse(string, &urn))
		ReportError(PROBLEM_ARGUMENT, "A URN has the form urn:{domain}:{type}::{id}.", "not a URN: \"%s\"", string);
	InitMaterializedSRF(fcinfo, 0);
	values[0] = CStringGetTextDatum(urn.domain);
	values[1] = CStringGetTextDatum(urn.type);
	values[2] = CStringGetTextDatum(urn.id);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	PG_RETURN_NULL();
}

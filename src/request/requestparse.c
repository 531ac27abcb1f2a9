/*
 * requestparse.c
 *		Taking a request apart: method, path, query, headers.
 *
 * Nothing here raises an error about what a client sent.  Parts that cannot be
 * read are marked, and the caller decides about the answer.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/uuid.h"
#include "base/words.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "request/requestparse.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

/* No schema nests this deep, and no stack is too small for it. */
#define MAX_NESTING 1000

/* Bytes of a method that are shown. */
#define MAX_METHOD 32

#define BLANKS " \t\r\n"

static const char *const method_names[] = {
	[METHOD_GET] = "GET",
	[METHOD_POST] = "POST",
	[METHOD_PUT] = "PUT",
	[METHOD_DELETE] = "DELETE",
};

/* Returns the value of a hexadecimal digit, or -1. */
static int
HexDigit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Decode a part of a URL; returns NULL if the result is not valid text.  In
 * queries, a plus sign means a blank.
 */
static char *
Decode(const char *encoded, int len, bool plus)
{
	char	   *decoded = palloc(len + 1);
	int			n = 0;

	for (int i = 0; i < len; i++)
	{
		char		c = encoded[i];

		if (c == '%')
		{
			int			high = i + 2 < len ? HexDigit(encoded[i + 1]) : -1;
			int			low = i + 2 < len ? HexDigit(encoded[i + 2]) : -1;

			if (high < 0 || low < 0 || (high == 0 && low == 0))
				return NULL;
			c = (char) (high * 16 + low);
			i += 2;
		}
		else if (c == '+' && plus)
			c = ' ';
		decoded[n++] = c;
	}
	decoded[n] = '\0';
	return pg_verify_mbstr(PG_UTF8, decoded, n, true) ? decoded : NULL;
}

/* Read a path such as "/project/endpoint/id"; one slash at the end does no harm. */
static void
ParsePath(Request *request, const char *path, int len)
{
	const char *end = path + len;
	StringInfoData route;

	request->nsegments = -1;
	initStringInfo(&route);
	if (len == 0 || *path != '/')
	{
		request->path_fault = "The path must start with \"/\".";
		return;
	}
	if (len > 1 && end[-1] == '/')
		end--;
	request->nsegments = 0;
	for (const char *start = path + 1; start <= end;)
	{
		const char *slash = memchr(start, '/', end - start);
		const char *stop = slash ? slash : end;
		char	   *segment = Decode(start, stop - start, false);

		if (segment == NULL)
		{
			request->path_fault = "The path must be UTF-8 in which percent signs stand before two hexadecimal digits.";
			request->nsegments = -1;
			return;
		}
		appendStringInfo(&route, "/%s", segment);
		if (request->nsegments >= 0 && request->nsegments < REQUEST_SEGMENTS)
			request->segments[request->nsegments++] = segment;
		else
		{
			request->path_fault = "The path has more parts than any that is served.";
			request->nsegments = -1;
		}
		start = stop + 1;
	}
	request->route = route.data;
}

/* Read "name=value&name=value..."; what cannot be decoded is marked. */
static void
ParseQuery(Request *request, const char *query)
{
	while (query != NULL && *query != '\0')
	{
		const char *next = strchr(query, '&');
		int			len = next ? next - query : (int) strlen(query);
		const char *equals = memchr(query, '=', len);
		int			name_len = equals ? equals - query : len;
		QueryParameter *parameter = palloc0(sizeof(QueryParameter));

		if (len > 0)
		{
			parameter->name = Decode(query, name_len, true);
			parameter->value = equals ? Decode(equals + 1, len - name_len - 1, true) : "";
			if (parameter->name == NULL || parameter->value == NULL)
				request->query_malformed = true;
			else
				request->parameters = lappend(request->parameters, parameter);
		}
		query = next ? next + 1 : NULL;
	}
}

/* Look up the method, in any case.  No method is long; of another text, the start is enough. */
static void
ParseMethod(Request *request, const char *method)
{
	char	   *upper = pnstrdup(method, pg_mbcliplen(method, (int) strlen(method), MAX_METHOD));
	int			found;

	for (char *c = upper; *c; c++)
		*c = pg_ascii_toupper((unsigned char) *c);
	request->method_name = upper;
	found = WordFind(method_names, lengthof(method_names), upper);
	request->method = found >= 0 ? (RequestMethod) found : METHOD_OTHER;
}

/* Returns the name of a method that is served. */
const char *
RequestMethodName(RequestMethod method)
{
	return method_names[method];
}

/* Returns the text of a header's value; NULL if it is of another type. */
static char *
HeaderText(const JsonbValue *value)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	element;
	StringInfoData all;

	switch (value->type)
	{
		case jbvString:
			return pnstrdup(value->val.string.val, value->val.string.len);
		case jbvNumeric:
			return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
		case jbvBinary:
			break;
		default:
			return NULL;
	}

	/* A header that occurs several times may be passed as an array. */
	initStringInfo(&all);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while (all.len <= REQUEST_MAX_HEADER &&
		   (token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_ELEM && element.type == jbvString)
			appendStringInfo(&all, "%s%.*s", all.len > 0 ? ", " : "",
							 element.val.string.len, element.val.string.val);
	}
	return all.data;
}

/* Returns the member for the value of a header; NULL if it is not used. */
static char **
HeaderField(Request *request, const char *name, int len)
{
	const struct
	{
		const char *name;
		char	  **field;
	}			fields[] = {
		{"content-type", &request->content_type},
		{"if-match", &request->if_match},
		{"if-none-match", &request->if_none_match},
		{"idempotency-key", &request->idempotency_key},
		{"dms-parent", &request->parent},
		{"dms-account", &request->account},
		{"correlationid", &request->correlation_id},
		{"x-correlation-id", &request->other_correlation_id},
	};

	for (int i = 0; i < (int) lengthof(fields); i++)
		if ((int) strlen(fields[i].name) == len && pg_strncasecmp(fields[i].name, name, len) == 0)
			return fields[i].field;
	return NULL;
}

/*
 * Keep a header.  Several of one name are one list, and an empty one is ignored,
 * except for Idempotency-Key: its sender relies on the request running once.
 */
static void
TakeHeader(Request *request, const char *name, char **field, const JsonbValue *value)
{
	char	   *given = HeaderText(value);
	bool		empty = given == NULL || given[strspn(given, BLANKS)] == '\0';

	if (given == NULL || (empty && field != &request->idempotency_key))
		return;
	if (strlen(given) + (*field ? strlen(*field) : 0) > REQUEST_MAX_HEADER)
		request->long_header = name;
	else
		*field = *field ? psprintf("%s, %s", *field, given) : given;
}

/* Read the headers that matter here. */
static void
ParseHeaders(Request *request, Jsonb *headers)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	char	  **field = NULL;
	char	   *name = NULL;

	if (!JB_ROOT_IS_OBJECT(headers))
	{
		request->headers_malformed = true;
		return;
	}
	iterator = JsonbIteratorInit(&headers->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_KEY)
		{
			field = HeaderField(request, value.val.string.val, value.val.string.len);
			name = field ? pnstrdup(value.val.string.val, value.val.string.len) : NULL;
		}
		else if (token == WJB_VALUE && field != NULL)
			TakeHeader(request, name, field, &value);
	}
}

/* Read the headers, and make a correlation id if they have none. */
void
RequestCorrelate(Request *request, Jsonb *headers)
{
	pg_uuid_t	uuid;

	if (headers != NULL)
		ParseHeaders(request, headers);
	if (request->correlation_id == NULL)
		request->correlation_id = request->other_correlation_id;
	if (request->correlation_id != NULL)
		return;
	UuidV7(&uuid);
	request->correlation_id = UuidText(&uuid);
}

/* Take a request apart. */
void
RequestParse(Request *request, const char *method, const char *path,
			 Jsonb *headers, text *body)
{
	const char *query = strchr(path, '?');

	size_t		path_len = query ? (size_t) (query - path) : strlen(path);

	memset(request, 0, sizeof(Request));
	ParseMethod(request, method);
	request->nsegments = -1;
	if (path_len > REQUEST_MAX_PATH || (query != NULL && strlen(query) > REQUEST_MAX_QUERY))
		request->path_too_long = true;
	else
	{
		ParsePath(request, path, (int) path_len);
		ParseQuery(request, query ? query + 1 : NULL);
	}
	RequestCorrelate(request, headers);
	request->body = body;
}

/* Returns true if the content type is JSON, or not given. */
bool
RequestIsJson(const Request *request)
{
	const char *type = request->content_type;
	int			len;

	if (type == NULL)
		return true;
	type += strspn(type, BLANKS);
	len = strcspn(type, ";" BLANKS);
	if (type[len + strspn(type + len, BLANKS)] != '\0' &&
		type[len + strspn(type + len, BLANKS)] != ';')
		return false;
	if (len == 16 && pg_strncasecmp(type, "application/json", len) == 0)
		return true;
	return len > 17 && pg_strncasecmp(type, "application/", 12) == 0 &&
		pg_strncasecmp(type + len - 5, "+json", 5) == 0;
}

/* Returns true if there is no body, or nothing but white space in it. */
bool
RequestBodyIsBlank(const Request *request)
{
	const char *body;
	int			len;

	if (request->body == NULL)
		return true;
	body = VARDATA_ANY(request->body);
	len = VARSIZE_ANY_EXHDR(request->body);
	for (int i = 0; i < len; i++)
	{
		if ((i & 0xFFFF) == 0)
			CHECK_FOR_INTERRUPTS();
		if (strchr(BLANKS, body[i]) == NULL)
			return false;
	}
	return true;
}

/* Count the characters that could open an object or array. */
static int
CountOpening(const char *json, int len)
{
	int			n = 0;

	for (int i = 0; i < len; i++)
		n += json[i] == '{' || json[i] == '[';
	return n;
}

/*
 * Returns true if the body nests deeper than the parser should follow.
 * PostgreSQL would refuse it with an error about the stack, which is no answer
 * for a client.
 */
bool
RequestBodyIsTooDeep(const Request *request)
{
	char	   *json = VARDATA_ANY(request->body);
	int			len = VARSIZE_ANY_EXHDR(request->body);
	JsonLexContext *lexer;
	int			depth = 0;

	if (CountOpening(json, len) <= MAX_NESTING)
		return false;
	lexer = CompatMakeJsonLexer(json, len, GetDatabaseEncoding());
	while (depth <= MAX_NESTING && json_lex(lexer) == JSON_SUCCESS &&
		   lexer->token_type != JSON_TOKEN_END)
	{
		CHECK_FOR_INTERRUPTS();
		if (lexer->token_type == JSON_TOKEN_OBJECT_START ||
			lexer->token_type == JSON_TOKEN_ARRAY_START)
			depth++;
		else if (lexer->token_type == JSON_TOKEN_OBJECT_END ||
				 lexer->token_type == JSON_TOKEN_ARRAY_END)
			depth--;
	}
	return depth > MAX_NESTING;
}

/* Read an etag without blanks around it; returns false if it can match nothing. */
static bool
ParseEtag(const char *tag, int len, bool weak, int64 *etag)
{
	char	   *digits;

	if (len > 2 && tag[0] == 'W' && tag[1] == '/')
	{
		if (!weak)
			return false;
		tag += 2;
		len -= 2;
	}
	if (len >= 2 && tag[0] == '"' && tag[len - 1] == '"')
	{
		tag++;
		len -= 2;
	}
	if (len < 1 || len > 18)
		return false;
	digits = pnstrdup(tag, len);
	if (strspn(digits, "0123456789") != (size_t) len || (len > 1 && digits[0] == '0'))
		return false;
	*etag = strtoi64(digits, NULL, 10);
	return true;
}

/*
 * Read the etags of If-Match or If-None-Match: quoted or bare, separated by
 * commas, or "*" for any.  Other values match nothing.  Weak etags count only if
 * the caller says so.
 */
void
RequestParseEtags(const char *header, bool weak, EtagList *list)
{
	memset(list, 0, sizeof(EtagList));
	if (header == NULL)
		return;
	list->given = true;
	list->etags = palloc(sizeof(int64) * (strlen(header) + 1));
	while (*header != '\0')
	{
		int			len = strcspn(header, ",");
		const char *tag = header + strspn(header, BLANKS);
		int			tag_len = header + len - tag;

		while (tag_len > 0 && strchr(BLANKS, tag[tag_len - 1]) != NULL)
			tag_len--;
		if (tag_len == 1 && *tag == '*')
			list->any = true;
		else if (tag_len > 0 && ParseEtag(tag, tag_len, weak, &list->etags[list->n]))
			list->n++;
		header += len;
		if (*header == ',')
			header++;
	}
}

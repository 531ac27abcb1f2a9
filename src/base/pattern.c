/*
 * pattern.c
 *		ECMAScript patterns, matched by PostgreSQL's regular expressions.
 *
 * The two dialects differ in small ways that matter: in the meaning of "." and
 * "\s", and in escapes.  A pattern is rewritten so that it means in PostgreSQL
 * what it means in ECMAScript, whatever the locale.  Patterns that cannot be
 * rewritten are refused when the schema is deployed.
 */
#include "postgres.h"

#include "base/pattern.h"
#include "catalog/pg_collation.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "regex/regex.h"
#include "utils/builtins.h"

#define BLANKS "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
#define LINE_ENDS "\\n\\r\\u2028\\u2029"

/* Returns the members of a class escape, to be put into brackets; NULL if it is none. */
static const char *
ClassMembers(char letter)
{
	switch (letter)
	{
		case 'd':
		case 'D':
			return "0-9";
		case 'w':
		case 'W':
			return "A-Za-z0-9_";
		case 's':
		case 'S':
			return BLANKS;
		default:
			return NULL;
	}
}

/* Returns true if the next n characters are hexadecimal digits. */
static bool
IsHex(const char *at, int n)
{
	for (int i = 0; i < n; i++)
		if (strchr("0123456789abcdefABCDEF", at[i]) == NULL || at[i] == '\0')
			return false;
	return true;
}

/*
 * Rewrite the escape that starts at *at and move past it.  Returns the reason
 * if it is not supported, else NULL.
 */
static const char *
RewriteEscape(StringInfo out, const char **at, bool bracket)
{
	char		letter = (*at)[1];
	const char *members = ClassMembers(letter);

	*at += 2;
	if (members != NULL)
	{
		bool		negated = letter >= 'A' && letter <= 'Z';

		if (bracket && negated)
			return "a negated class inside brackets is not supported";
		if (bracket)
			appendStringInfoString(out, members);
		else
			appendStringInfo(out, negated ? "[^%s]" : "[%s]", members);
	}
	else if (letter == 'x' && IsHex(*at, 2))
	{
		appendStringInfo(out, "\\u00%.2s", *at);
		*at += 2;
	}
	else if (letter == 'u' && IsHex(*at, 4))
	{
		appendStringInfo(out, "\\u%.4s", *at);
		*at += 4;
	}
	else if ((letter == 'b' || letter == 'B') && !bracket)
		appendStringInfoString(out, letter == 'b' ? "\\y" : "\\Y");
	else if (letter != '\0' && strchr("nrtfv", letter) != NULL)
		appendStringInfo(out, "\\%c", letter);
	else if (letter >= '1' && letter <= '9' && !bracket)
		appendStringInfo(out, "\\%c", letter);
	else if (letter == '\0')
		return "it ends in a backslash";
	else if ((letter >= 'a' && letter <= 'z') ||
			 (letter >= 'A' && letter <= 'Z') ||
			 (letter >= '0' && letter <= '9'))
		return psprintf("the escape \\%c is not supported", letter);
	else
		appendStringInfo(out, "\\%c", letter);
	return NULL;
}

/* Likewise, for a bracket expression from "[" to "]". */
static const char *
RewriteBrackets(StringInfo out, const char **at)
{
	const char *p = *at + 1;

	appendStringInfoChar(out, '[');
	if (*p == '^')
		appendStringInfoChar(out, *p++);
	if (*p == ']')
		return "empty brackets are not supported";
	while (*p && *p != ']')
	{
		if (*p == '\\')
		{
			const char *wrong = RewriteEscape(out, &p, true);

			if (wrong)
				return wrong;
			continue;
		}
		if (*p == '[')
			appendStringInfoChar(out, '\\');
		appendStringInfoChar(out, *p++);
	}
	if (*p == '\0')
		return "a bracket is not closed";
	appendStringInfoChar(out, ']');
	*at = p + 1;
	return NULL;
}

/* Refuse groups that do not mean the same in both dialects. */
static const char *
CheckGroup(const char *at)
{
	if (at[1] != '?')
		return NULL;
	if (at[2] == ':' || at[2] == '=' || at[2] == '!')
		return NULL;
	if (at[2] == '<' && (at[3] == '=' || at[3] == '!'))
		return NULL;
	return "a group of this kind is not supported";
}

/* Rewrite a whole pattern into *out; returns the reason if that fails, else NULL. */
static const char *
Rewrite(StringInfo out, const char *pattern)
{
	const char *wrong = NULL;

	while (*pattern && wrong == NULL)
	{
		switch (*pattern)
		{
			case '\\':
				wrong = RewriteEscape(out, &pattern, false);
				break;
			case '[':
				wrong = RewriteBrackets(out, &pattern);
				break;
			case '.':
				appendStringInfoString(out, "[^" LINE_ENDS "]");
				pattern++;
				break;
			case '(':
				wrong = CheckGroup(pattern);
				/* FALLTHROUGH */
			default:
				appendStringInfoChar(out, *pattern++);
				break;
		}
	}
	/* PostgreSQL would take these for a directive. */
	if (wrong == NULL && strncmp(out->data, "***", 3) == 0)
		wrong = "a quantifier has nothing to repeat";
	return wrong;
}

/* Returns NULL if a pattern can be used, else the reason why not. */
const char *
PatternCheck(const char *pattern)
{
	StringInfoData out;
	const char *wrong;
	pg_wchar   *wide;
	regex_t		compiled;
	int			length;
	int			result;
	char		message[100];

	initStringInfo(&out);
	wrong = Rewrite(&out, pattern);
	if (wrong)
		return wrong;
	wide = palloc(sizeof(pg_wchar) * (out.len + 1));
	length = pg_mb2wchar_with_len(out.data, wide, out.len);
	result = pg_regcomp(&compiled, wide, length, REG_ADVANCED, C_COLLATION_OID);
	if (result != REG_OKAY)
	{
		CHECK_FOR_INTERRUPTS();
		pg_regerror(result, &compiled, message, sizeof(message));
		return pstrdup(message);
	}
	pg_regfree(&compiled);
	return NULL;
}

/* The pattern in PostgreSQL's dialect; NULL if it cannot be rewritten. */
text *
PatternRewrite(const char *pattern)
{
	StringInfoData out;
	text	   *rewritten = NULL;

	initStringInfo(&out);
	if (Rewrite(&out, pattern) == NULL)
		rewritten = cstring_to_text_with_len(out.data, out.len);
	pfree(out.data);
	return rewritten;
}

/*
 * Returns true if a pattern, which PatternRewrite() has rewritten, matches
 * somewhere in the value.
 */
bool
PatternMatches(const char *pattern, text *rewritten, const char *value, int len)
{
	regex_t    *compiled = RE_compile_and_cache(rewritten, REG_ADVANCED, C_COLLATION_OID);
	pg_wchar   *wide = palloc(sizeof(pg_wchar) * (len + 1));
	int			length = pg_mb2wchar_with_len(value, wide, len);
	int			result = pg_regexec(compiled, wide, length, 0, NULL, 0, NULL, 0);
	char		message[100];

	pfree(wide);
	if (result == REG_OKAY || result == REG_NOMATCH)
		return result == REG_OKAY;
	/* Cancelled by the user, which is no fault of the pattern's. */
	CHECK_FOR_INTERRUPTS();
	pg_regerror(result, compiled, message, sizeof(message));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
			 errmsg("could not match pattern \"%s\": %s", pattern, message)));
}

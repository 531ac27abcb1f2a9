/*
 * naming.c
 *		Deriving the names of database objects.
 *
 * A name follows from the resource alone, never from what else is deployed: a
 * resource has the same names in every store, so statements, reports and
 * backups of one store fit another, and a new extension renames nothing.
 *
 * Names are composed in PascalCase and folded to lower case at the end, as
 * PostgreSQL folds identifiers that are not quoted.
 */
#include "postgres.h"

#include "base/sha256.h"
#include "mb/pg_wchar.h"
#include "schema/naming.h"

/* Returns true for an ASCII letter or digit, whatever the locale. */
static bool
IsLetterOrDigit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9');
}

/*
 * Returns true if a name is not empty and has only ASCII letters, digits and
 * characters of *also*.
 */
bool
NameIsPlain(const char *name, const char *also)
{
	if (*name == '\0')
		return false;
	for (; *name; name++)
		if (!IsLetterOrDigit(*name) && strchr(also, *name) == NULL)
			return false;
	return true;
}

/* schoolCategories -> SchoolCategories */
char *
NamePascal(const char *property)
{
	char	   *name = pstrdup(property);

	name[0] = pg_ascii_toupper((unsigned char) name[0]);
	return name;
}

/* Returns true if a name has this ending. */
static bool
EndsWith(const char *name, const char *ending)
{
	size_t		n = strlen(name);
	size_t		m = strlen(ending);

	return n >= m && strcmp(name + n - m, ending) == 0;
}

/* The name without a suffix, unless nothing would be left. */
char *
NameWithoutSuffix(const char *name, const char *suffix)
{
	size_t		length = strlen(name);

	if (EndsWith(name, suffix) && length > strlen(suffix))
		length -= strlen(suffix);
	return pnstrdup(name, length);
}

/*
 * The singular of a lower-case English word.  The rules cover the words of
 * the Ed-Fi standard; a wrong guess is harmless, because it is always the
 * same.
 */
static char *
SingularWord(const char *word)
{
	static const char *const irregular[][2] = {
		{"uses", "use"}, {"diagnoses", "diagnosis"},
		{"analyses", "analysis"}, {"media", "medium"},
	};
	static const char *const drop_es[] = {
		"sses", "uses", "ches", "shes", "xes", "zes",
	};

	for (size_t i = 0; i < lengthof(irregular); i++)
		if (strcmp(word, irregular[i][0]) == 0)
			return pstrdup(irregular[i][1]);
	if (EndsWith(word, "ies"))
		return psprintf("%.*sy", (int) strlen(word) - 3, word);
	for (size_t i = 0; i < lengthof(drop_es); i++)
		if (EndsWith(word, drop_es[i]))
			return pnstrdup(word, strlen(word) - 2);
	if (EndsWith(word, "s") && !EndsWith(word, "ss") && !EndsWith(word, "us"))
		return pnstrdup(word, strlen(word) - 1);
	return pstrdup(word);
}

/* SchoolCategories -> SchoolCategory: only the last word changes. */
char *
NameSingular(const char *pascal)
{
	size_t		start = strlen(pascal);
	char	   *word;

	while (start > 0 && !(pascal[start - 1] >= 'A' && pascal[start - 1] <= 'Z'))
		start--;
	if (start > 0)
		start--;
	word = pstrdup(pascal + start);
	word[0] = pg_ascii_tolower((unsigned char) word[0]);
	word = SingularWord(word);
	if (start > 0 || (pascal[0] >= 'A' && pascal[0] <= 'Z'))
		word[0] = pg_ascii_toupper((unsigned char) word[0]);
	return psprintf("%.*s%s", (int) start, pascal, word);
}

/*
 * Drop from the start of a segment the words that its parent's name ends
 * with.
 *
 * The author of an override names a collection as a whole (ElementRatingLevel
 * in EvaluationElement), but table names are composed of the parent's name
 * and the segment.  The longest ending in whole words wins.
 */
char *
NameWithoutParentWords(const char *segment, const char *parent)
{
	for (const char *ending = parent; *ending; ending++)
	{
		size_t		length = strlen(ending);
		bool		word = *ending >= 'A' && *ending <= 'Z';
		bool		goes_on;

		if (!word || strncmp(segment, ending, length) != 0)
			continue;
		goes_on = segment[length] >= 'A' && segment[length] <= 'Z';
		if (goes_on)
			return pstrdup(segment + length);
	}
	return pstrdup(segment);
}

/*
 * The name of an object: folded to lower case, and where PostgreSQL would
 * truncate it, shortened and made unique by a hash of the full name.
 */
char *
NamePhysical(const char *pascal)
{
	size_t		length = strlen(pascal);
	char	   *name;

	if (length < NAMEDATALEN)
		name = pstrdup(pascal);
	else
	{
		int			kept = pg_mbcliplen(pascal, length, NAMEDATALEN - 1 - 11);

		name = psprintf("%.*s_%.10s", kept, pascal, Sha256Hex(pascal, length));
	}
	for (char *c = name; *c; c++)
		*c = pg_ascii_tolower((unsigned char) *c);
	return name;
}

/* ed-fi -> edfi */
char *
NameOfSchema(const char *endpoint)
{
	char	   *name = palloc(strlen(endpoint) + 1);
	char	   *end = name;

	for (const char *c = endpoint; *c; c++)
		if (IsLetterOrDigit(*c))
			*end++ = pg_ascii_tolower((unsigned char) *c);
	*end = '\0';
	return name;
}

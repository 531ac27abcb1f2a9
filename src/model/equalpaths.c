/*
 * equalpaths.c
 *		Paths whose values equality constraints make equal.
 *
 * Two references of a document may repeat the same value, for example the id of
 * a school.  A constraint says that the values are equal wherever both exist.
 * Constraints connect paths directly, or through other paths.  A schema gives a
 * query field to one of the connected paths, not always to that which every
 * document has.
 */
#include "postgres.h"

#include "base/grow.h"
#include "miscadmin.h"
#include "model/equalpaths.h"

/* Returns the other end of a constraint; NULL if neither end is the path. */
static const char *
OtherEnd(const EqualityModel *equality, const char *path)
{
	if (strcmp(equality->source, path) == 0)
		return equality->target;
	if (strcmp(equality->target, path) == 0)
		return equality->source;
	return NULL;
}

/* Returns true if the path is among the first n paths. */
static bool
IsListed(const char **paths, int n, const char *path)
{
	for (int i = 0; i < n; i++)
		if (strcmp(paths[i], path) == 0)
			return true;
	return false;
}

/* Returns the paths that are connected with a path, the nearest ones first. */
const char **
EqualPaths(const ResourceModel *model, const char *path, int *n)
{
	const char **paths = NULL;
	int			npaths = 0;

	APPEND(paths, npaths, path);
	for (int at = 0; at < npaths; at++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < model->nequalities; i++)
		{
			const char *other = OtherEnd(&model->equalities[i], paths[at]);

			if (other != NULL && !IsListed(paths, npaths, other))
				APPEND(paths, npaths, other);
		}
	}
	*n = npaths - 1;
	return paths + 1;
}

/* Returns true if constraints connect two paths, directly or through others. */
bool
EqualPathsConnected(const ResourceModel *model, const char *left, const char *right)
{
	int			n;
	const char **paths = EqualPaths(model, left, &n);

	return IsListed(paths, n, right);
}

/* Returns true if one constraint connects two paths: no document has different values there. */
bool
EqualPathsAlways(const ResourceModel *model, const char *left, const char *right)
{
	for (int i = 0; i < model->nequalities; i++)
	{
		const char *other = OtherEnd(&model->equalities[i], left);

		if (other != NULL && strcmp(other, right) == 0)
			return true;
	}
	return false;
}

/*
 * Returns true if a query field has one path and one equal path, and no document
 * has different values there.  Where constraints connect them through a path that
 * a document lacks, the values may differ.
 */
bool
EqualPathsAreTied(const ResourceModel *model, const QueryModel *query)
{
	return query->npaths == 1 && query->nequals == 1 &&
		EqualPathsAlways(model, query->paths[0].path, query->equals[0].path);
}

/* Returns the query field that names a path; NULL if there is none. */
const QueryModel *
EqualPathsFieldOf(const ResourceModel *model, const char *path)
{
	for (int i = 0; i < model->nqueries; i++)
		for (int j = 0; j < model->queries[i].npaths; j++)
			if (strcmp(model->queries[i].paths[j].path, path) == 0)
				return &model->queries[i];
	return NULL;
}

/*
 * Returns the name by which clients know the value of an identity: that of the
 * query field of the path, or else of the nearest equal path that has a field, or
 * else the last name of the path.
 */
const char *
EqualPathsFieldName(const ResourceModel *model, const char *path)
{
	const QueryModel *field = EqualPathsFieldOf(model, path);
	const char *dot = strrchr(path, '.');
	int			n;
	const char **paths = EqualPaths(model, path, &n);

	for (int i = 0; i < n && field == NULL; i++)
		field = EqualPathsFieldOf(model, paths[i]);
	if (field != NULL)
		return field->name;
	return dot != NULL ? dot + 1 : path;
}

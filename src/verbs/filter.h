/*
 * filter.h
 *		Filters of a query, read and checked.
 */
#ifndef DMS_FILTER_H
#define DMS_FILTER_H

#include "postgres.h"

#include "base/jsontree.h"
#include "model/model.h"

/* Any of these values, as canonical texts, at one path. */
typedef struct FilterPath
{
	const QueryPathModel *path;
	char	  **values;
	int			nvalues;
} FilterPath;

/* Any of the values, at any of the paths of a field. */
typedef struct Filter
{
	const QueryModel *field;
	FilterPath *paths;			/* as field->paths */
	FilterPath *equals;			/* as field->equals */
} Filter;

/* How to treat an id that is no UUID. */
typedef enum FilterIds
{
	FILTER_IDS_STRICT,			/* an error */
	FILTER_IDS_LENIENT			/* no document has it */
} FilterIds;

extern Filter *FiltersRead(const ResourceModel *model, JNode *filters,
						   FilterIds ids, int *n);

#endif							/* DMS_FILTER_H */

/*
 * searchvector.h
 *		What documents are searched by: the option "search" as SQL.
 */
#ifndef DMS_SEARCHVECTOR_H
#define DMS_SEARCHVECTOR_H

#include "postgres.h"

#include "model/optionpaths.h"

#define OPTION_SEARCH_CONFIGURATION "searchConfiguration"
#define OPTION_SEARCH_INDEX "searchIndex"

/* How the documents of a resource can be searched. */
typedef struct SearchVector
{
	int			ncolumns;		/* 0: they cannot */
	int			columns[OPTION_MAX_PATHS];	/* of the root table */
	char	   *name;			/* of the configuration, with its schema */
	char	   *configuration;	/* as SQL, a value of type regconfig */
} SearchVector;

extern bool SearchVectorTakeConfiguration(JsonbValue *value);
extern bool SearchVectorTakeIndex(JsonbValue *value);
extern void SearchVectorRead(Jsonb *options, const ResourceModel *model, SearchVector *vector);
extern Oid	SearchVectorConfiguration(const SearchVector *vector);
extern char *SearchVectorSql(const SearchVector *vector, const ResourceModel *model, const char *prefix);

#endif							/* DMS_SEARCHVECTOR_H */

/*
 * search.h
 *		Searching documents for words.
 */
#ifndef DMS_SEARCH_H
#define DMS_SEARCH_H

#include "postgres.h"

#include "verbs/read.h"

/* What is searched for. */
typedef struct Search
{
	Resource   *resource;
	const char *query;
	bool		web;			/* the query has quotes, "or" and "-" as on
								 * web pages */
	bool		newest;			/* those that were created last come first,
								 * not those that match best */
} Search;

extern bool SearchIsConfigured(Resource *resource);
extern bool SearchTakeSyntax(Search *search, const char *syntax);
extern bool SearchTakeSort(Search *search, const char *sort);
extern void SearchPage(const Search *search, int64 limit, int64 offset, ReadSink sink, void *state);
extern int64 SearchCount(const Search *search);

#endif							/* DMS_SEARCH_H */

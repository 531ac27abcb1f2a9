/*
 * edgesources.h
 *		The resource type of each edge source, and its rank.
 */
#ifndef DMS_EDGESOURCES_H
#define DMS_EDGESOURCES_H

#include "postgres.h"

/* A resource type and its rank in the graph of identities. */
typedef struct KnownType
{
	char		project[257];
	char		resource[257];
	int			rank;
} KnownType;

extern void EdgeSourcesLoad(void);
extern int	EdgeSourceType(int64 source);
extern int	EdgeSourceTypeByName(const char *project, const char *resource);
extern const KnownType *EdgeSourceTypeByNumber(int type);

#endif							/* DMS_EDGESOURCES_H */

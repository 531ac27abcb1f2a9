/*
 * resolve.h
 *		From ReferentialIds to documents.
 */
#ifndef DMS_RESOLVE_H
#define DMS_RESOLVE_H

#include "postgres.h"

#include "document/flatten.h"

/* A ReferentialId and the document that has it; 0: none. */
typedef struct IdEntry
{
	pg_uuid_t	id;
	int64		document_id;
} IdEntry;

/* Sorted, each id once. */
typedef struct IdSet
{
	IdEntry    *entries;
	int			n;
} IdSet;

extern IdSet *IdSetMake(const pg_uuid_t *ids, int n);
extern void IdSetSort(IdSet *set);
extern void IdSetLookUp(IdSet *set);
extern int64 IdSetFind(const IdSet *set, const pg_uuid_t *id);

extern int64 ResolveDocument(FlatDocument *flat);
extern int64 ResolveOwn(const FlatDocument *flat);
extern bool ResolveComplete(const FlatDocument *flat);
extern void ResolveForgetOld(FlatDocument *flat, int64 document_id);
extern void ResolveRefuseDescriptors(const FlatDocument *flat);
extern void ResolveRefuseReferences(const FlatDocument *flat);

#endif							/* DMS_RESOLVE_H */

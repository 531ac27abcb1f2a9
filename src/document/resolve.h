/*
 * resolve.h
 *		From ReferentialIds to documents.
 */
#ifndef DMS_RESOLVE_H
#define DMS_RESOLVE_H

#include "postgres.h"

#include "document/flatten.h"
#include "document/referentialids.h"

extern int64 ResolveDocument(FlatDocument *flat);
extern int64 ResolveOwn(const FlatDocument *flat);
extern bool ResolveComplete(const FlatDocument *flat);
extern void ResolveForgetOld(FlatDocument *flat, int64 document_id);
extern void ResolveRefuseDescriptors(const FlatDocument *flat);
extern void ResolveRefuseReferences(const FlatDocument *flat);

#endif							/* DMS_RESOLVE_H */

/*
 * references.h
 *		From ReferentialIds to documents.
 */
#ifndef DMS_REFERENCES_H
#define DMS_REFERENCES_H

#include "postgres.h"

#include "document/flatten.h"
#include "document/referentialids.h"

extern int64 ReferencesResolve(FlatDocument *flat);
extern int64 ReferencesGuess(FlatDocument *flat);
extern bool ReferencesResolveGuessed(FlatDocument *flat);
extern int64 ReferencesResolveOwn(const FlatDocument *flat);
extern bool ReferencesComplete(const FlatDocument *flat);
extern void ReferencesForgetOld(FlatDocument *flat, int64 document_id);
extern void ReferencesRefuseDescriptors(const FlatDocument *flat);
extern void ReferencesRefuse(const FlatDocument *flat);

#endif							/* DMS_REFERENCES_H */

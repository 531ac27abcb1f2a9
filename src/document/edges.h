/*
 * edges.h
 *		The reference edges of a document.
 */
#ifndef DMS_EDGES_H
#define DMS_EDGES_H

#include "postgres.h"

#include "document/flatten.h"

extern void EdgesInsert(int64 document_id, const FlatDocument *flat);
extern bool EdgesDiff(int64 document_id, const FlatDocument *flat);

#endif							/* DMS_EDGES_H */

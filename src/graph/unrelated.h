/*
 * unrelated.h
 *		Telling the delete trigger that a document has no relations.
 */
#ifndef DMS_UNRELATED_H
#define DMS_UNRELATED_H

#include "postgres.h"

#include "graph/subtree.h"

extern void UnrelatedInit(void);
extern bool UnrelatedLook(int64 document_id);
extern void UnrelatedLookAtTree(Subtree *tree);
extern void UnrelatedSet(int64 document_id);

#endif							/* DMS_UNRELATED_H */

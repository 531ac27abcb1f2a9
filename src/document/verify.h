/*
 * verify.h
 *		Comparing the edges of a document with its reference columns.
 */
#ifndef DMS_VERIFY_H
#define DMS_VERIFY_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "model/modelcache.h"

extern void VerifyInit(void);
extern void VerifyEdges(Resource *resource, int64 document_id);
extern void VerifyAppendReferences(StringInfo sql, const ResourceModel *model,
								   const char *condition);

#endif							/* DMS_VERIFY_H */

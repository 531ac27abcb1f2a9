/*
 * introspect.h
 *		Stored models, for functions that describe them.
 */
#ifndef DMS_INTROSPECT_H
#define DMS_INTROSPECT_H

#include "postgres.h"

#include "model/model.h"

/* Called with each model in turn; it is gone after the call. */
typedef void (*ModelVisitor) (const ResourceModel *model, void *arg);

extern const ResourceModel *IntrospectFind(const char *project,
										   const char *resource);
extern void IntrospectNeighbours(const ResourceModel *model,
								 ModelVisitor visit, void *arg);

#endif							/* DMS_INTROSPECT_H */

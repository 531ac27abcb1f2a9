/*
 * cascade.h
 *		The consequences of a change of identity.
 */
#ifndef DMS_CASCADE_H
#define DMS_CASCADE_H

#include "postgres.h"

#include "base/report.h"
#include "cascade/closure.h"
#include "cascade/keychanges.h"
#include "document/flatten.h"

extern void CascadeRun(const Closure *closure, KeyChanges *keys, const int64 *done, int ndone,
					   const int64 *written, int nwritten);

extern int64 CascadeRecompute(const int64 *ids, int n);
extern void CascadeNote(const int64 *ids, int n);
extern void CascadeBumpType(const ClosureType *type);
extern void CascadeBump(const int64 *ids, int n);

/* cascadeequality.c */
extern void CascadeEqualityCheck(const char *project, const char *resource,
								 const int64 *ids, int n, Problem *problem);

#endif							/* DMS_CASCADE_H */

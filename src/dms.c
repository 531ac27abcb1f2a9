/*
 * dms.c
 *		Loading the library.
 */
#include "postgres.h"

#include "body.h"
#include "closure.h"
#include "compat.h"
#include "faults.h"
#include "fmgr.h"
#include "idempotency.h"
#include "locks.h"
#include "modelcache.h"
#include "ownercode.h"
#include "report.h"
#include "restrict.h"
#include "safefunction.h"
#include "store.h"
#include "verify.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	StoreInit();
	SafeFunctionInit();
	OwnerCodeInit();
	RestrictInit();
	ReportInit();
	ModelCacheInit();
	BodyInit();
	LocksInit();
	ClosureInit();
	VerifyInit();
	IdempotencyInit();
#ifdef DMS_FAULTS
	FaultsInit();
#endif
	MarkGUCPrefixReserved("dms");
}

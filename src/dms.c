/*
 * dms.c
 *		Loading the library.
 *
 * Each module defines its own settings and registers its own callbacks and hooks.
 */
#include "postgres.h"

#include "admin/changetracking.h"
#include "admin/projector.h"
#include "base/compat.h"
#include "base/faults.h"
#include "base/report.h"
#include "cascade/closure.h"
#include "cascade/locks.h"
#include "cascade/turnstile.h"
#include "document/body.h"
#include "document/descriptoruris.h"
#include "document/changes.h"
#include "document/documentcache.h"
#include "document/history.h"
#include "document/jobs.h"
#include "document/notices.h"
#include "document/redissettings.h"
#include "document/verify.h"
#include "engine/keyaccess.h"
#include "engine/keyscan.h"
#include "engine/ownercode.h"
#include "engine/plansizes.h"
#include "engine/restrict.h"
#include "engine/safefunction.h"
#include "engine/session.h"
#include "engine/store.h"
#include "engine/workershare.h"
#include "fmgr.h"
#include "graph/unrelated.h"
#include "model/modelcache.h"
#include "request/idempotency.h"
#include "verbs/attach.h"
#include "verbs/delete.h"
#include "worker/launcher.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

/* Called by PostgreSQL when a session loads the library. */
void
_PG_init(void)
{
	StoreInit();
	KeyAccessInit();
	SessionInit();
	KeyScanInit();
	PlanSizesInit();
	SafeFunctionInit();
	OwnerCodeInit();
	RestrictInit();
	ReportInit();
	ModelCacheInit();
	BodyInit();
	DescriptorUrisInit();
	ChangesInit();
	HistoryInit();
	DocumentCacheInit();
	ProjectorInit();
	ChangeTrackingInit();
	JobsInit();
	NoticesInit();
	RedisSettingsInit();
	LocksInit();
	TurnstileInit();
	ClosureInit();
	VerifyInit();
	UnrelatedInit();
	AttachInit();
	DeleteInit();
	IdempotencyInit();
	WorkerShareInit();
	LauncherInit();
#ifdef DMS_FAULTS
	FaultsInit();
#endif
	MarkGUCPrefixReserved("dms");
}

/*
 * dms.c
 *		Loading the library.
 */
#include "postgres.h"

#include "compat.h"
#include "faults.h"
#include "fmgr.h"
#include "store.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	StoreInit();
#ifdef DMS_FAULTS
	FaultsInit();
#endif
	MarkGUCPrefixReserved("dms");
}

/*
 * dms.c
 *		Loading the library.
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

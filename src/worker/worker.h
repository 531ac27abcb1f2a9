/*
 * worker.h
 *		A background worker, which looks after one database for a while.
 */
#ifndef DMS_WORKER_H
#define DMS_WORKER_H

#include "postgres.h"

extern PGDLLEXPORT void dms_worker_main(Datum arg);

#endif							/* DMS_WORKER_H */

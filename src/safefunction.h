/*
 * safefunction.h
 *		May a function run with rights that are lent to a caller?
 */
#ifndef DMS_SAFEFUNCTION_H
#define DMS_SAFEFUNCTION_H

#include "postgres.h"

extern bool SafeFunctionCheck(Oid function, Oid runs_as, Oid table);

#endif							/* DMS_SAFEFUNCTION_H */

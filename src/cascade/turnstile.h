/*
 * turnstile.h
 *		Makes transactions that are about to lock identities wait.
 */
#ifndef DMS_TURNSTILE_H
#define DMS_TURNSTILE_H

#include "postgres.h"

extern void TurnstileInit(void);
extern void TurnstilePass(void);
extern void TurnstileHavePassed(void);
extern bool TurnstileClose(void);
extern void TurnstileOpen(void);
extern int	TurnstileTimeout(void);

#endif							/* DMS_TURNSTILE_H */

/*
 * writeguard.h
 *		Running the part of a write that constraints of the store decide on.
 */
#ifndef DMS_WRITEGUARD_H
#define DMS_WRITEGUARD_H

#include "postgres.h"

#include "document/flatten.h"

typedef void (*GuardedStep) (void *arg);

/* Returns the document that the step is at; NULL if it is at no single one. */
typedef const FlatDocument *(*GuardedDocument) (void *arg);

extern void WriteGuarded(GuardedStep step, GuardedDocument document, void *arg);

#endif							/* DMS_WRITEGUARD_H */

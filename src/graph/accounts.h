/*
 * accounts.h
 *		Rows of dms.DocumentAccount: which account a document belongs to.
 */
#ifndef DMS_ACCOUNTS_H
#define DMS_ACCOUNTS_H

#include "postgres.h"

#include "graph/farends.h"

extern int64 AccountsRead(int64 document_id);
extern int64 AccountsCount(const int64 *ids, int n);
extern bool AccountsHaveDocuments(int64 account);
extern int64 *AccountsDocumentsOf(const int64 *accounts, int n, int *nfound);
extern uint64 AccountsSet(const int64 *ids, int n, int64 account);
extern const FarEndTable *AccountsDocuments(void);

#endif							/* DMS_ACCOUNTS_H */
